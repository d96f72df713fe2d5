"""OpenELM: LLaMA's blocks whose heads and feed-forward widths grow from layer to layer.

Source: configuration_openelm.py and modeling_openelm.py of apple/OpenELM-3B; Mehta et al. 2024, arXiv:2404.14619 §2.1.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Layer, ModelSpec
from kvplan.specs.config import MAX_VALUE, Config, shown
from kvplan.specs.parts.attention import Heads, full
from kvplan.specs.parts.blocks import Groups, gated_mlp, linear, norm, plain_mlp
from kvplan.specs.parts.decoder import Style, assemble
from kvplan.specs.parts.forms import FUSED_CORE, NORMED_ROTATION, ROTATION
from kvplan.specs.parts.nested import amended

MODEL_TYPES = ("openelm",)


def build(cfg: Config) -> ModelSpec:
    """Heads per layer as listed, else from ``qkv_multipliers`` and ``num_gqa_groups``; embeddings tied by ``share_input_output_layers``."""
    hidden, n_layers = cfg.integer("model_dim"), cfg.n_layers("num_transformer_layers")
    heads = _heads(cfg, hidden, n_layers)
    divisor = cfg.integer("ffn_dim_divisor", default=256)
    widths = [_divisible(factor * hidden, divisor) for factor in _factors(cfg, "ffn_multipliers", n_layers, default=4.0)]
    layers = [_layer(cfg, hidden, own, width) for own, width in zip(heads, widths, strict=True)]
    tied = cfg.flag("share_input_output_layers", default=True)
    cfg = amended(cfg, hidden_size=hidden, vocab_size=cfg.integer("vocab_size", default=32000), tie_word_embeddings=tied)
    qk_norm = cfg.flag("normalize_qk_projections", default=False)
    spec = assemble(
        cfg,
        layers,
        Style(),
        ActivationForm(rotary_dim=heads[0].head_dim, attention=NORMED_ROTATION if qk_norm else ROTATION, core=FUSED_CORE),
    )
    return spec._replace(max_ctx_tokens=cfg.integer("max_context_length", default=2048))


def _layer(cfg: Config, hidden: int, heads: Heads, width: int) -> Layer:
    gated = cfg.flag("ffn_with_glu", default=True)
    norms = (*norm("attn_norm", hidden), *norm("ffn_norm", hidden))
    feed = (gated_mlp if gated else plain_mlp)(hidden, width, name="ffn")
    return Layer((full(heads),), (DenseFfn(width, gated),), (*norms, *_attention(cfg, hidden, heads), *feed))


def _attention(cfg: Config, hidden: int, heads: Heads) -> Groups:
    """One projection for queries, keys and values, of which the latter two are split by KV head."""
    q, kv, width = heads.n_heads * heads.head_dim, 2 * heads.n_kv_heads * heads.head_dim, heads.head_dim
    normed = cfg.flag("normalize_qk_projections", default=False)
    return (
        *linear("attn.qkv_proj.q", q, hidden, role="attention", shard="column"),
        *linear("attn.qkv_proj.kv", kv, hidden, role="attention", shard="kv"),
        *linear("attn.out_proj", hidden, q, role="attention", shard="row"),
        *((*norm("attn.q_norm", width), *norm("attn.k_norm", width)) if normed else ()),
    )


def _heads(cfg: Config, hidden: int, n_layers: int) -> list[Heads]:
    """Query and KV heads of each layer."""
    width, group = cfg.integer("head_dim", default=128), cfg.integer("num_gqa_groups", default=1)
    if cfg.has("num_query_heads"):
        queries = list(cfg.per_layer("num_query_heads", n_layers, cfg.integers("num_query_heads", least=1)))
    else:
        factors = _factors(cfg, "qkv_multipliers", n_layers, default=1.0)
        queries = [_divisible(factor * hidden, width * group) // width for factor in factors]
    if cfg.has("num_kv_heads"):
        kept = list(cfg.per_layer("num_kv_heads", n_layers, cfg.integers("num_kv_heads", least=1)))
    else:
        kept = [max(1, n // group) for n in queries]
    wrong = next((i for i in range(n_layers) if queries[i] % kept[i]), None)
    if wrong is not None:
        raise cfg.error("num_kv_heads", f"layer {wrong}: expected a divisor of {queries[wrong]} query heads, found {kept[wrong]}")
    return [Heads(q, kv, width, width) for q, kv in zip(queries, kept, strict=True)]


def _factors(cfg: Config, key: str, n_layers: int, *, default: float) -> list[float]:
    """One number for all layers, two that the layers go between in equal steps, or one for each."""
    value = cfg.data.get(key)
    if value is None or not isinstance(value, list):
        return [cfg.number(key, default=default)] * n_layers
    found = [float(v) for v in value if isinstance(v, int | float) and not isinstance(v, bool) and 0 < v < MAX_VALUE]
    if len(found) != len(value) or len(found) not in (2, n_layers):
        raise cfg.error(key, f"expected a number, two, or one for each of {n_layers} layers, found {shown(value)}")
    if len(found) == n_layers:
        return found
    steps = max(1, n_layers - 1)
    return [round(found[0] + (found[1] - found[0]) * i / steps, 2) for i in range(n_layers)]


def _divisible(value: float, divisor: int) -> int:
    """``value`` rounded to a multiple of ``divisor``, at least one, never down by more than a tenth."""
    rounded = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * value else rounded
