"""OLMoE and FlexOlmo: mixtures in every layer, whole q and k projections normalized; FlexOlmo norms after its blocks.

Source: transformers 5.24 models/olmoe, models/flex_olmo; Muennighoff et al. 2024, arXiv:2409.02060 §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.decoder import Style, completed, rotary_dim
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.forms import NORMED_ROTATION, POST_NORMED, moe_moments
from kvplan.specs.parts.sparse import experts_per_token, sparse_decoder

MODEL_TYPES = ("olmoe", "flex_olmo")

_DEFAULTS = {
    "olmoe": {"num_experts_per_tok": 8, "max_position_embeddings": 4096},
    "flex_olmo": {"num_experts_per_tok": 5, "max_position_embeddings": 4096},
}
_N_EXPERTS = {"olmoe": 64, "flex_olmo": 7}


def build(cfg: Config) -> ModelSpec:
    """``intermediate_size`` is the width of one expert."""
    model_type = cfg.text("model_type", default="olmoe")
    cfg = completed(cfg, _DEFAULTS[model_type])
    n_experts = cfg.integer("num_experts", "num_local_experts", default=_N_EXPERTS[model_type])
    ffn = MoeFfn(n_experts, experts_per_token(cfg, "num_experts_per_tok", of=n_experts), cfg.integer("intermediate_size"))
    bias = cfg.flag("attention_bias", default=False)
    style = Style(qkv_bias=bias, o_bias=bias, qk_norm="full")
    if model_type == "flex_olmo":
        style = style._replace(layer_norms=("post_attention_layernorm", "post_feedforward_layernorm"))
    width = rotary_dim(cfg, read_heads(cfg, cfg.integer("hidden_size")).head_dim)
    form = ActivationForm(attention=NORMED_ROTATION, rotary_dim=width, checked=True)
    if cfg.text("model_type", default="olmoe") == "flex_olmo":
        form = POST_NORMED._replace(moe=moe_moments(hidden="3H"), rotary_dim=width, rope_float32=True, checked=True)
    return sparse_decoder(cfg, style, (ffn,) * cfg.n_layers(), MoeStyle(), form)
