"""GGUF files: their headers, and the models they hold."""
