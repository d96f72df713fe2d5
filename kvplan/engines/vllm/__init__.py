"""vLLM: a pool of cache blocks sized by what weights, activations and CUDA graphs leave of the GPU."""

NAMES = ("vllm",)
