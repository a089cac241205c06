"""Causal language models: likelihood, generation, prompts, LoRA."""
