"""Hugging Face Transformers: weights, a cache that grows as it goes, and the transients of eager PyTorch."""

NAMES = ("transformers",)
