"""The language model of Muse Glimmer: windows but in each fourth layer from the end, a gate on the attention's output.

Source: transformers 5.24 models/muse_glimmer.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import attention, layer_kinds, mixer, read_heads
from kvplan.specs.parts.blocks import gated_mlp, linear, norm
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.forms import NORMED_ROTATION

MODEL_TYPES = ("muse_glimmer_text",)

_DEFAULTS: dict[str, object] = {
    "vocab_size": 202048,
    "hidden_size": 6656,
    "intermediate_size": 19968,
    "num_hidden_layers": 52,
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "max_position_embeddings": 131072,
    "sliding_window": 2048,
}
_NORMS = ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")


def build(cfg: Config) -> ModelSpec:
    """Queries and keys are normalized without weights; layers without a window have no rotation."""
    cfg = completed(cfg, _DEFAULTS)
    hidden, intermediate, n_layers = cfg.integer("hidden_size"), cfg.integer("intermediate_size"), cfg.n_layers()
    heads = read_heads(cfg, hidden)
    window, bias = cfg.optional_integer("sliding_window"), cfg.flag("attention_bias", default=False)
    weights = (
        *(group for name in _NORMS for group in norm(name, hidden)),
        *attention(hidden, heads, qkv_bias=bias, o_bias=bias),
        *linear("self_attn.gate_proj", heads.n_heads * heads.head_dim, hidden, role="attention", shard="column"),
        *gated_mlp(hidden, intermediate),
    )
    default = tuple("sliding_attention" if (n_layers - 1 - i) % 4 else "full_attention" for i in range(n_layers))
    kinds = layer_kinds(cfg, n_layers, default)
    layers = [Layer((mixer(kind, heads, cfg, window=window),), (DenseFfn(intermediate),), weights) for kind in kinds]
    return assemble(cfg, layers, Style(), ActivationForm(rotary_dim=heads.head_dim, attention=NORMED_ROTATION))
