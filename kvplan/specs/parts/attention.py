"""How a config describes plain attention: heads, their width, and which layers see only a window."""

from typing import NamedTuple

from kvplan.core.mixers import ChunkedAttention, FullAttention, Mixer, SlidingAttention
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm


class Heads(NamedTuple):
    """Head counts and widths of one attention block."""

    n_heads: int
    n_kv_heads: int
    head_dim: int
    v_head_dim: int


def read_heads(cfg: Config, hidden: int, *, head_dim: int | None = None, n_kv_heads: int | None = None) -> Heads:
    """Heads as Transformers derives them: head_dim = hidden_size / n_heads where it is not given.

    ``head_dim`` and ``n_kv_heads`` are what the family's configuration class assumes; null means n_heads.
    Raises ConfigError where the numbers can't be divided.
    """
    n_heads = cfg.integer("num_attention_heads", "n_head", "n_heads", "num_heads", most=2**16)
    assumed = n_heads if cfg.names("num_key_value_heads") else n_kv_heads or n_heads
    n_kv = cfg.integer("num_key_value_heads", default=assumed, most=2**16)
    if n_heads % n_kv:
        raise cfg.error("num_key_value_heads", f"expected a divisor of num_attention_heads = {n_heads}, found {n_kv}")
    if not cfg.has("head_dim") and head_dim is None and hidden % n_heads:
        raise cfg.error(
            "num_attention_heads",
            f"hidden_size {hidden} is not a multiple of {n_heads} heads and head_dim is not given",
            hint="one of hidden_size, num_attention_heads and head_dim is wrong",
        )
    width = cfg.integer("head_dim", default=head_dim or max(1, hidden // n_heads))
    return Heads(n_heads, n_kv, width, width)


def full(heads: Heads) -> FullAttention:
    """Attention over all tokens."""
    return FullAttention(*heads)


def sliding(heads: Heads, window_tokens: int) -> SlidingAttention:
    """Attention over the last ``window_tokens``."""
    return SlidingAttention(*heads, window_tokens)


def mixer(kind: str, heads: Heads, cfg: Config, *, window: int | None) -> Mixer:
    """The mixer of a layer whose ``layer_types`` item is ``kind``."""
    if kind in ("full_attention", "attention", "global"):
        return full(heads)
    if kind not in ("sliding_attention", "chunked_attention"):
        raise cfg.error(
            "layer_types", f"unknown kind of layer '{kind}'", hint="known: full_attention, sliding_attention, chunked_attention"
        )
    if window is None:
        raise cfg.error("sliding_window", f"missing: a layer is '{kind}' and no window is given")
    return sliding(heads, window) if kind == "sliding_attention" else ChunkedAttention(*heads, window)


def layer_kinds(cfg: Config, n_layers: int, default: tuple[str, ...]) -> tuple[str, ...]:
    """``layer_types`` of the config, else ``default``; one for each layer."""
    kinds = cfg.texts("layer_types", default=default)
    return tuple(cfg.per_layer("layer_types", n_layers, kinds))


def attention(
    hidden: int, heads: Heads, *, qkv_bias: bool = False, o_bias: bool = False, qk_norm: str | None = None, qk_norm_bias: bool = False
) -> Groups:
    """Query, key, value and output projections.

    ``qk_norm``: ``head`` normalizes each head's head_dim, ``full`` the whole projection, None nothing.
    """
    q, k, v = heads.n_heads * heads.head_dim, heads.n_kv_heads * heads.head_dim, heads.n_kv_heads * heads.v_head_dim
    groups: Groups = (
        *linear("self_attn.q_proj", q, hidden, role="attention", shard="column", bias=qkv_bias),
        *linear("self_attn.k_proj", k, hidden, role="attention", shard="kv", bias=qkv_bias),
        *linear("self_attn.v_proj", v, hidden, role="attention", shard="kv", bias=qkv_bias),
        *linear("self_attn.o_proj", hidden, heads.n_heads * heads.v_head_dim, role="attention", shard="row", bias=o_bias),
    )
    if qk_norm is None:
        return groups
    q_width, k_width = (heads.head_dim, heads.head_dim) if qk_norm == "head" else (q, k)
    return (
        *groups,
        *norm("self_attn.q_norm", q_width, bias=qk_norm_bias),
        *norm("self_attn.k_norm", k_width, bias=qk_norm_bias),
    )


def output_gated(groups: Groups) -> Groups:
    """``groups`` of an attention whose query projection also makes a gate for each output channel: twice its rows (Qwen3-Next)."""
    return tuple(group._replace(rows=2 * group.rows) if group.name.startswith("self_attn.q_proj.") else group for group in groups)
