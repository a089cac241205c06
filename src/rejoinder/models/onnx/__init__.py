"""ONNX graphs: int8 weights, and a torch interpreter for GPUs."""
