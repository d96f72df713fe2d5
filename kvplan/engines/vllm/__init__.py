"""vLLM: a pool of cache blocks sized by what weights, activations and CUDA graphs leave of the GPU."""

NAMES = ("vllm",)
MENTIONS = ("vllm", "LLM(")
"""What a command says of it where it stands behind docker run, python -m, uv run or variables."""
