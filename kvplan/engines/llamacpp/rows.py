"""What one layer keeps from token to token, in elements: a row in one or several caches.

Source: llama.cpp b11434 src/llama-model.cpp, create_memory; src/llama-kv-cache-dsa.cpp, llama-kv-cache-msa.cpp, llama-kv-cache-dsv4.cpp.
"""

from typing import TYPE_CHECKING, Literal, NamedTuple

from kvplan.core.model import Layer, ModelSpec

if TYPE_CHECKING:
    from kvplan.core.mixers import CompressedAttention, FullAttention, Mixer

Kind = Literal["full", "swa", "indexer", "csa", "hca", "state"]
_NO_WINDOWS = ("phi3", "phimoe", "mistral", "ministral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "starcoder2")
"""Whose windows llama.cpp does not keep apart: converters drop them, and files of Phi-3 give one without a pattern."""
_KEYS_ONLY = ("qwen4exp",)  # indexers on ordinary attention that keep no values; MiniMax-M3's keeps both
_SPARSE, _HEAVY = 4, 128  # tokens of an entry, DeepSeek-V4


class Row(NamedTuple):
    """One layer in one cache: elements of a cell's key and of its value, or of the convolution's and the memory's state."""

    kind: Kind
    k_elems: int
    v_elems: int
    window_tokens: int = 0
    apart: bool = False


def rows(model: ModelSpec, layer: Layer) -> tuple[Row, ...]:
    """What ``layer`` keeps; nothing where it reads another one's cache."""
    if layer.kv_source is not None:
        return ()
    return tuple(row for mixer in layer.mixers for row in _rows(mixer, model.model_type))


def _rows(mixer: "Mixer", arch: str) -> tuple[Row, ...]:
    match mixer.kind:
        case "full":
            return _full(mixer, arch)
        case "sliding" | "chunked":
            widths = mixer.n_kv_heads * mixer.head_dim, mixer.n_kv_heads * mixer.v_head_dim
            return (Row("full", *widths) if arch in _NO_WINDOWS else Row("swa", *widths, mixer.window_tokens),)
        case "mla":
            own = Row("swa" if mixer.window_tokens else "full", mixer.elems_per_token, 0, mixer.window_tokens or 0)
            return (own, Row("indexer", mixer.indexer.head_dim, 0)) if mixer.indexer else (own,)
        case "compressed":
            return _compressed(mixer)
        case "cross":  # what the encoder found is projected anew in each step
            return ()
        case _:
            return (Row("state", mixer.conv_elems, mixer.state_elems),)


def _full(mixer: "FullAttention", arch: str) -> tuple[Row, ...]:
    own = Row("full", mixer.n_kv_heads * mixer.head_dim, mixer.n_kv_heads * mixer.v_head_dim)
    if mixer.indexer is None:
        return (own,)
    return (own, Row("indexer", mixer.indexer.head_dim, 0 if arch in _KEYS_ONLY else mixer.v_head_dim))


def _compressed(mixer: "CompressedAttention") -> tuple[Row, ...]:
    """The window of plain tokens, entries for those before it, and what waits for an entry to fill: values and scores."""
    plain = Row("swa", mixer.elems_per_token, 0, mixer.window_tokens, apart=True)
    if not mixer.ratio:
        return (plain,)
    if mixer.ratio == _HEAVY:
        return (plain, Row("hca", mixer.elems_per_token, 0, apart=True), Row("state", 2 * _HEAVY * mixer.head_dim, 0))
    small = mixer.indexer_elems_per_entry
    pending = 2 * 2 * _SPARSE * 2 * (mixer.head_dim + small)
    return (plain, Row("csa", mixer.elems_per_token, 0, apart=True), Row("csa", small, 0, apart=True), Row("state", pending, 0))
