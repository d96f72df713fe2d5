"""The process that runs a model with quantized caches: torch and Transformers, nothing that answers users."""
