"""Hugging Face's text-generation-inference: a pool of blocks in what the largest prefill leaves of the GPU."""

NAMES = ("tgi", "text-generation-inference")
MENTIONS = ("text-generation-launcher", "text-generation-inference", "pytorch-tgi")
"""What a command says of it where it stands behind docker run or variables."""
