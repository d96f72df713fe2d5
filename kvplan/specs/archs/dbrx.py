"""DBRX: fine-grained experts, layer norms without shift, queries, keys and values in one projection.

Source: transformers 5.24 models/dbrx; Databricks 2024, "Introducing DBRX".
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, rotary_width
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.forms import FUSED_CORE
from kvplan.specs.parts.sparse import experts_per_token, sparse_decoder

MODEL_TYPES = ("dbrx",)

_NAMES = {
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_layers": "num_hidden_layers",
    "max_seq_len": "max_position_embeddings",
}


def build(cfg: Config) -> ModelSpec:
    """KV heads come from ``attn_config``, experts from ``ffn_config``; both may be left out, as may any of their keys."""
    attn, ffn = cfg.sub("attn_config"), cfg.sub("ffn_config")
    n_kv_heads = attn.integer("kv_n_heads", default=1)
    cfg = cfg.renamed(_NAMES).with_defaults({"max_position_embeddings": 2048})
    cfg = Config({**cfg.data, "num_key_value_heads": n_kv_heads}, where=cfg.where, path=cfg.path)
    n_experts = ffn.integer("moe_num_experts", default=4)
    moe = MoeFfn(n_experts, experts_per_token(ffn, "moe_top_k", of=n_experts, default=1), ffn.integer("ffn_hidden_size", default=3584))
    if cfg.flag("tie_word_embeddings", default=False):
        raise cfg.error("tie_word_embeddings", "expected false: the class refuses to tie")
    style = Style(layer_norms=("norm_attn_norm.norm_1", "norm_attn_norm.norm_2"))
    form = ActivationForm(rotary_dim=rotary_width(cfg), core=FUSED_CORE, norm="5H", merges_experts=False)
    return sparse_decoder(cfg, style, (moe,) * cfg.n_layers(), MoeStyle(name="ffn", router="router.layer"), form)
