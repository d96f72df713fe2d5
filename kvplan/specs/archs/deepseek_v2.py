"""DeepSeek-V2 and V2-Lite: latent attention and a mixture with shared experts, routed by softmax.

Source: transformers 5.24 models/deepseek_v2; DeepSeek-V2, arXiv:2405.04434. ``use_mla: false`` (DeepSeek-VL2's small models) is
the model authors' own code: plain attention with the same mixture.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Ffn, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.decoder import Style
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.latent import latent_decoder, latent_form, latent_layers, read_mla, routed
from kvplan.specs.parts.sparse import first_dense, sparse_decoder

MODEL_TYPES = ("deepseek_v2",)

DEFAULTS = {
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "moe_intermediate_size": 1407,
    "first_k_dense_replace": 0,
    "max_position_embeddings": 2048,
}


def build(cfg: Config) -> ModelSpec:
    """A config that says ``q_lora_rank: null`` (V2-Lite) has a plain query projection; one that leaves it out has rank 1536."""
    cfg = cfg.renamed({"num_experts": "n_routed_experts"}).with_defaults(DEFAULTS)
    ffns = _ffns(cfg)
    if not cfg.flag("use_mla", default=True):
        heads = read_heads(cfg, cfg.integer("hidden_size"))
        return sparse_decoder(cfg, Style(), ffns, MoeStyle(), ActivationForm(rotary_dim=heads.head_dim))
    moe = MoeStyle(router_dtype="float32", mlp_bias=cfg.flag("mlp_bias", default=False))
    mixers = (read_mla(cfg),) * cfg.n_layers()
    return latent_decoder(cfg, latent_layers(cfg, mixers, ffns, moe), latent_form(cfg)._replace(checked=True))


def _ffns(cfg: Config) -> tuple[Ffn, ...]:
    dense = DenseFfn(cfg.integer("intermediate_size"))
    return first_dense(cfg.n_layers(), cfg.integer("first_k_dense_replace", least=0), dense, routed(cfg))
