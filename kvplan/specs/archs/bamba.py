"""Bamba: Mamba-2 layers, and attention where ``attn_layer_indices`` says so; a dense feed-forward in each.

Source: transformers 5.24 models/bamba.
"""

from kvplan.core.forms import ActivationForm, chunked_scan
from kvplan.core.model import DenseFfn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import attention, full, read_heads
from kvplan.specs.parts.blocks import gated_mlp, norm
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_dim
from kvplan.specs.parts.state_space import expanded, mamba2, read_biases, read_mamba2

MODEL_TYPES = ("bamba",)

_DEFAULTS: dict[str, object] = {
    "vocab_size": 128000,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 262144,
}


def build(cfg: Config) -> ModelSpec:
    """Without ``attn_layer_indices`` no layer attends. Half of each head is rotated."""
    cfg = completed(cfg, _DEFAULTS)
    hidden, intermediate, n_layers = cfg.integer("hidden_size"), cfg.integer("intermediate_size"), cfg.n_layers()
    heads, ssm = read_heads(cfg, hidden), read_mamba2(cfg, expanded(cfg, "mamba_expand", hidden))
    bias = cfg.flag("attention_bias", default=False)
    both = (
        *norm("input_layernorm", hidden),
        *norm("pre_ff_layernorm", hidden),
        *gated_mlp(hidden, intermediate, name="feed_forward", bias=cfg.flag("mlp_bias", default=False)),
    )
    ffns = (DenseFfn(intermediate),)
    attends = Layer((full(heads),), ffns, (*both, *attention(hidden, heads, qkv_bias=bias, o_bias=bias)))
    recurs = Layer((ssm,), ffns, (*both, *mamba2("mamba", hidden, ssm, read_biases(cfg))))
    where = set(cfg.integers("attn_layer_indices", default=()))
    if where and max(where) >= n_layers:
        raise cfg.error("attn_layer_indices", f"expected layers below num_hidden_layers = {n_layers}, found {max(where)}")
    layers = [attends if i in where else recurs for i in range(n_layers)]
    scan = chunked_scan(cfg.integer("mamba_chunk_size", default=256))
    states = (scan._replace(eager=f"{heads.n_heads}L") if where else scan,)  # layers hand their scores back
    rotated = rotary_dim(cfg, heads.head_dim, default=0.5)
    return assemble(cfg, layers, Style(), ActivationForm(rotary_dim=rotated, states=states, checked=True))
