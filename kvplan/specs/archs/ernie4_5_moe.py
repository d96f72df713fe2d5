"""ERNIE 4.5's mixtures: float32 routers with a learned correction; the vision-language one has two sets of experts.

Source: transformers 5.24 models/ernie4_5_moe, models/ernie4_5_vl_moe; ERNIE 4.5 report (2025) §2.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Ffn, Layer, LayerRun, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import full, read_heads
from kvplan.specs.parts.decoder import Style, block_weights, completed, rotary_width
from kvplan.specs.parts.experts import MoeStyle, moe
from kvplan.specs.parts.forms import FLOAT32_ROTATION, moe_moments
from kvplan.specs.parts.mtp import n_next_token, next_token
from kvplan.specs.parts.sparse import by_kind, experts_per_token, sparse_decoder

MODEL_TYPES = ("ernie4_5_moe", "ernie4_5_vl_moe_text")

_DEFAULTS: Mapping[str, object] = {
    "num_key_value_heads": 4,
    "moe_num_experts": 64,
    "moe_k": 6,
    "moe_num_shared_experts": 2,
    "moe_layer_start_index": 1,
    "moe_layer_end_index": -1,
    "moe_layer_interval": 1,
    "tie_word_embeddings": True,
    "max_position_embeddings": 131072,
}
_WIDTHS = (1536, 512)
_ALIASES = {"num_experts": "moe_num_experts", "num_local_experts": "moe_num_experts", "num_experts_per_tok": "moe_k"}


def build(cfg: Config) -> ModelSpec:
    """``use_bias`` puts a bias on every projection but the experts', the output projection's included."""
    vision = cfg.text("model_type", default="ernie4_5_moe") == "ernie4_5_vl_moe_text"
    cfg = completed(cfg.renamed(_ALIASES), _DEFAULTS)
    key = "moe_intermediate_size"
    widths = cfg.integers(key, default=_WIDTHS, least=1) if vision else (cfg.integer(key, default=_WIDTHS[0]),)
    if vision and len(widths) != len(_WIDTHS):
        raise cfg.error(key, f"expected the widths of text and vision experts, found {len(widths)} numbers")
    bias = cfg.flag("use_bias", default=False)
    style = Style(qkv_bias=bias, o_bias=bias, mlp_bias=bias, head_bias=bias and not vision)
    mixture = MoeStyle(router_dtype="float32", correction="parameter", correction_dtype="float32", mlp_bias=bias)
    form = ActivationForm(
        attention=FLOAT32_ROTATION,
        moe=moe_moments(hidden="5H"),
        rotary_dim=rotary_width(cfg),
        rope_tables=2,
        rope_float32=True,
        checked=not vision,
    )
    spec = sparse_decoder(cfg, style, _ffns(cfg, widths[0], vision=vision), mixture, form)
    return _with_vision_experts(spec, widths[1], mixture) if vision else _with_next_token(spec, cfg, style)


def _ffns(cfg: Config, width: int, *, vision: bool) -> tuple[Ffn, ...]:
    n_layers, n_experts = cfg.n_layers(), cfg.integer("moe_num_experts")
    n_active = experts_per_token(cfg, "moe_k", of=n_experts)
    mixture = MoeFfn(n_experts, n_active, width, width * cfg.integer("moe_num_shared_experts", least=0))
    dense = DenseFfn(cfg.integer("intermediate_size"))
    if vision:
        return by_kind(cfg, dense, mixture, ("dense", *("sparse",) * (n_layers - 1)))
    first, last = cfg.integer("moe_layer_start_index", least=0), cfg.integer("moe_layer_end_index", least=-1)
    last, step = n_layers - 1 if last == -1 else last, cfg.integer("moe_layer_interval")
    return tuple(mixture if (i + 1) % step == 0 and first <= i <= last else dense for i in range(n_layers))


def _with_next_token(spec: ModelSpec, cfg: Config, style: Style) -> ModelSpec:
    """``spec`` and its next-token layers, which are dense. Source: vLLM models/ernie_mtp.py."""
    heads, width = read_heads(cfg, spec.hidden_size), cfg.integer("intermediate_size")
    dense = Layer((full(heads),), (DenseFfn(width),), block_weights(spec.hidden_size, heads, width, style))
    return spec._replace(mtp=next_token(spec.hidden_size, dense, n_next_token(cfg), end_norm=False))


def _with_vision_experts(spec: ModelSpec, width: int, mixture: MoeStyle) -> ModelSpec:
    """``spec`` with the experts that image tokens visit beside those for text; any token is taken to visit both sets."""
    runs = (LayerRun(run.n_layers, _two_sided(run.layer, spec.hidden_size, width, mixture)) for run in spec.runs)
    return spec._replace(runs=tuple(runs))


def _two_sided(layer: Layer, hidden: int, width: int, mixture: MoeStyle) -> Layer:
    (ffn,) = layer.ffns
    if ffn.kind == "dense":
        return layer
    vision = moe(hidden, ffn._replace(intermediate=width, shared_intermediate=0), mixture._replace(name="mlp.vision_moe"))
    return layer._replace(weights=(*layer.weights, *vision))
