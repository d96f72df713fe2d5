"""The settings of a Transformers run that bear on memory."""

from typing import NamedTuple


class Settings(NamedTuple):
    """Resolved settings; element types are canonical names.

    ``attn`` is attn_implementation, ``cache`` the cache class, ``forward`` whether generate() or a plain forward runs; ``padding`` is
    ``left`` where the tokenizer pads shorter prompts of a batch. ``cache`` is ``none`` where use_cache is False, ``chunk_tokens`` is
    prefill_chunk_size, 0 without one. ``assistant`` is the model that drafts. ``segments`` are those of PyTorch's allocator,
    ``expandable`` where PYTORCH_ALLOC_CONF says so.
    ``device_map`` splits the model over the node's GPUs and the host, empty where all of it is on the first GPU; ``max_memory`` is what
    each may hold, as it was said. ``tp_size`` processes share each layer. ``devices`` are the GPUs in use.
    ``hybrid``: a static cache's windows are no longer than they need, in versions whose other ones are.
    ``dtype`` is the weights' type, ``compute_dtype`` that of activations: the same unless weights are quantized or on paper.
    """

    version: str
    model: str
    dtype: str
    kv_dtype: str
    attn: str
    cache: str
    forward: str
    compute_dtype: str
    padding: str = "none"
    segments: str = "fixed"
    chunk_tokens: int = 0
    assistant: str = ""
    device_map: str = ""
    max_memory: str = ""
    tp_size: int = 1
    devices: int = 1
    hybrid: bool = False
