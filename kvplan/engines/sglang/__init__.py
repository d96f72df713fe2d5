"""SGLang: a pool of tokens in what a share of the GPU leaves beside the weights."""

NAMES = ("sglang",)
MENTIONS = ("sglang",)
"""What a command says of it where it stands behind docker run, python -m, uv run or variables."""
