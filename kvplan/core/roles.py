"""What a weight is for, and the kinds of roles that formats and quantizations treat alike."""

from typing import Literal

Role = Literal[
    "embedding",
    "lm_head",
    "norm",
    "attention",
    "indexer",
    "mixer",
    "mlp",
    "router",
    "expert",
    "shared_expert",
    "encoder",
    "vision",
    "audio",
    "projector",
    "next_token",
    "scale",
    "other",
]
"""``scale`` is storage that belongs to no parameter: scales and zero points of quantized tensors, masks, tables.
``next_token`` are layers that predict further tokens, in files whose own count of parameters includes them (GGUF)."""

ENDS: tuple[Role, ...] = ("embedding", "lm_head")
"""Where tokens become vectors, and vectors tokens."""

TOWERS: tuple[Role, ...] = ("vision", "audio", "projector")
"""What makes vectors of images and sound."""
