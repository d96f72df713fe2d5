"""kvplan: where an LLM's memory goes, before the GPU is rented."""

__version__ = "0.1.0"
