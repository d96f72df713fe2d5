"""llama.cpp: buffers that are reserved at start, by layer and device, and Ollama in front of it."""

NAMES = ("llama.cpp", "llamacpp", "llama-server", "llama-cli", "llama-completion", "llama-bench", "llama-perplexity", "llama", "ollama")
MENTIONS = ("llama-server", "llama-cli", "llama-completion", "llama-bench", "llama-perplexity", "llama.cpp", "ollama")
"""What a command says of it where it stands behind docker run, python -m, uv run or variables."""
FRONTS = {"ollama": "ollama"}
"""Names of programs around it that have an engine of their own here, and the module that holds it."""
