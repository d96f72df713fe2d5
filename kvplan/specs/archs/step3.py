"""Step-3's language model: all query heads from one low-rank projection, one key and value head, a mixture in most layers.

The model authors' own code is the source: stepfun-ai/step3 modeling_step3.py; Step-3, arXiv:2507.19427 §3 (multi-matrix
factorization attention).
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import FullAttention
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.experts import MoeStyle, dense_or_moe
from kvplan.specs.parts.latent import block_norms, paired

MODEL_TYPES = ("step3_text",)

DEFAULTS: Mapping[str, object] = {
    "vocab_size": 128815,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "num_hidden_layers": 61,
    "num_attention_heads": 64,
    "head_dim": 256,
    "share_q_dim": 2048,
    "moe_num_experts": 48,
    "moe_top_k": 3,
    "moe_intermediate_size": 5120,
    "share_expert_dim": 5120,
}


def build(cfg: Config) -> ModelSpec:
    """``moe_layers_enum`` names the layers with a mixture; without it all but the first have one."""
    cfg = completed(cfg.renamed({"max_position_embedding": "max_position_embeddings"}), DEFAULTS)
    hidden, n_layers, n_experts = cfg.integer("hidden_size"), cfg.n_layers(), cfg.integer("moe_num_experts")
    mixer = FullAttention(cfg.integer("num_attention_heads", most=2**16), 1, cfg.integer("head_dim"), cfg.integer("head_dim"))
    active = cfg.integer("moe_top_k", most=n_experts)
    moe = MoeFfn(n_experts, active, cfg.integer("moe_intermediate_size"), cfg.integer("share_expert_dim", least=0))
    dense, sparse = DenseFfn(cfg.integer("intermediate_size")), _sparse(cfg, n_layers)
    ffns: list[Ffn] = [moe if i in sparse else dense for i in range(n_layers)]
    mixing = _mixing(hidden, mixer, cfg.integer("share_q_dim"))

    def layer(kind: FullAttention, ffn: Ffn) -> Layer:
        return Layer((kind,), (ffn,), (*block_norms(hidden), *mixing, *dense_or_moe(hidden, ffn, MoeStyle())))

    return assemble(cfg, paired([mixer] * n_layers, ffns, layer), Style(), ActivationForm(rotary_dim=mixer.head_dim))


def _sparse(cfg: Config, n_layers: int) -> frozenset[int]:
    if not isinstance(cfg.data.get("moe_layers_enum"), str):
        return frozenset(cfg.integers("moe_layers_enum", default=range(1, n_layers)))
    words = [word.strip() for word in cfg.text("moe_layers_enum").split(",") if word.strip()]
    strange = next((word for word in words if not word.isdecimal() or int(word) >= n_layers), None)
    if strange is not None:
        raise cfg.error("moe_layers_enum", f"expected layers below {n_layers}, found '{strange}'")
    return frozenset(map(int, words))


def _mixing(hidden: int, mixer: FullAttention, rank: int) -> Groups:
    """Queries through a shared rank and a norm; one head's key and value; the output of all heads."""
    width, name = mixer.n_heads * mixer.head_dim, "self_attn"
    return (
        *linear(f"{name}.q_proj", rank, hidden, role="attention"),
        *norm(f"{name}.inter_norm", rank),
        *linear(f"{name}.wq", width, rank, role="attention", shard="column"),
        *linear(f"{name}.k_proj", mixer.head_dim, hidden, role="attention", shard="kv"),
        *linear(f"{name}.v_proj", mixer.v_head_dim, hidden, role="attention", shard="kv"),
        *linear(f"{name}.o_proj", hidden, width, role="attention", shard="row"),
    )
