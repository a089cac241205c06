"""ONNX graphs: int8 weights, and their computation with torch on GPUs."""
