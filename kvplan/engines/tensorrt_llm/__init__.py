"""TensorRT-LLM: a pool of blocks that gets a share of what a trial pass leaves of the GPU."""

NAMES = ("tensorrt-llm", "trtllm")
MENTIONS = ("trtllm", "tensorrt-llm", "tensorrtllm")
"""What a command says of it where it stands behind docker run or variables."""
