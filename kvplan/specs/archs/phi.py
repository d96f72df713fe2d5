"""Phi-1, Phi-1.5, Phi-2 and Persimmon: layer norms, biases everywhere, an ungated feed-forward, partial rotation.

Source: transformers 5.24 models/phi, models/persimmon; Li et al. 2023, arXiv:2309.05463 §2.1.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.decoder import Style, decoder, rotary_dim
from kvplan.specs.parts.forms import PARTIAL_CORE, plain

MODEL_TYPES = ("phi", "persimmon", "phi-msft", "mixformer-sequential")

_FIRST_NAMES = {
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_head_kv": "num_key_value_heads",
    "n_inner": "intermediate_size",
    "n_positions": "max_position_embeddings",
}
"""Keys of the repositories' first files (phi-msft, mixformer-sequential). Source: microsoft/phi-1_5, configuration_phi.py."""


def build(cfg: Config) -> ModelSpec:
    """Phi runs attention and feed-forward side by side after one norm, and its output projection has a bias."""
    cfg, first = _first_named(cfg)
    is_phi = cfg.text("model_type") != "persimmon"
    qk_norm = cfg.flag("qk_layernorm", default=not is_phi)
    style = Style(
        qkv_bias=True,
        o_bias=True,
        mlp_bias=True,
        gated=False,
        qk_norm="head" if qk_norm else None,
        qk_norm_bias=True,
        layer_norms=("input_layernorm",) if is_phi else ("input_layernorm", "post_attention_layernorm"),
        norm_bias=True,
        head_bias=is_phi,
    )
    heads = read_heads(cfg, cfg.integer("hidden_size"))
    if not is_phi and heads.n_kv_heads != heads.n_heads:
        raise cfg.error("num_key_value_heads", f"expected num_attention_heads = {heads.n_heads}: Persimmon has no grouped queries")
    form = ActivationForm(
        norm="5H",
        core=PARTIAL_CORE if is_phi else "3H + 3Q + 2K + V + 2NR",
        mlp=plain(cfg.text("hidden_act", "activation_function", default="gelu_new" if is_phi else "relu2")),
        checked=not first,
        rotary_dim=cfg.integer("rotary_dim", default=32) if first else rotary_dim(cfg, heads.head_dim, default=0.5),
    )
    return decoder(cfg, style, form)


def _first_named(cfg: Config) -> tuple[Config, bool]:
    """``cfg`` in the names of today, and whether it is one of the first files: their feed-forward is 4 · n_embd wide unless said."""
    if cfg.text("model_type") in ("phi", "persimmon"):
        return cfg, False
    cfg = cfg.renamed(_FIRST_NAMES)
    if not cfg.has("intermediate_size"):
        cfg = Config({**cfg.data, "intermediate_size": 4 * cfg.integer("hidden_size")}, where=cfg.where, path=cfg.path)
    return cfg, True
