"""Multi-head latent attention as configs describe it: the mixer, its projections, and the decoder around them."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from kvplan.core.forms import ActivationForm
from kvplan.core.indexer import Indexer
from kvplan.core.mixers import Mla
from kvplan.core.model import Ffn, Layer, LayerRun, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.decoder import Style, assemble
from kvplan.specs.parts.experts import MoeStyle, dense_or_moe
from kvplan.specs.parts.forms import LATENT_CONTEXT, LATENT_CORE, moe_moments
from kvplan.specs.parts.indexing import indexer_weights

M = TypeVar("M")

DEEPSEEK_SIZES: dict[str, object] = {
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
}
"""What DeepseekV3Config and DeepseekV32Config of transformers 5.24 have in common."""

DEEPSEEK_MOE = MoeStyle(router_dtype="float32", correction="buffer", correction_dtype="float32")
"""DeepSeek-V3's mixture under Transformers: router and its correction stay in float32, the correction is no parameter."""


def read_mla(cfg: Config, *, indexer: Indexer | None = None) -> Mla:
    """The latent attention of a config with its family's defaults filled in; ``q_lora_rank: null`` is a plain query projection.

    Raises ConfigError for missing or impossible keys.
    """
    return Mla(
        n_heads=cfg.integer("num_attention_heads", most=2**16),
        kv_lora_rank=cfg.integer("kv_lora_rank"),
        rope_head_dim=cfg.integer("qk_rope_head_dim", least=0),
        nope_head_dim=cfg.integer("qk_nope_head_dim", least=0),
        v_head_dim=cfg.integer("v_head_dim"),
        q_lora_rank=cfg.optional_integer("q_lora_rank"),
        indexer=indexer,
    )


def mla_weights(hidden: int, mla: Mla, *, bias: bool = False) -> Groups:
    """Projections of one latent attention block and its indexer; ``bias`` is on both compressions and the output.

    Source: DeepSeek-V2, arXiv:2405.04434 §2.1; transformers 5.24 models/deepseek_v3/modeling_deepseek_v3.py, DeepseekV3Attention.
    """
    expanded = mla.n_heads * (mla.nope_head_dim + mla.v_head_dim)
    return (
        *query_weights(hidden, mla, bias=bias),
        *linear("self_attn.kv_a_proj_with_mqa", mla.kv_lora_rank + mla.rope_head_dim, hidden, role="attention", bias=bias),
        *norm("self_attn.kv_a_layernorm", mla.kv_lora_rank),
        *linear("self_attn.kv_b_proj", expanded, mla.kv_lora_rank, role="attention", shard="column"),
        *linear("self_attn.o_proj", hidden, mla.n_heads * mla.v_head_dim, role="attention", shard="row", bias=bias),
        *(indexer_weights(hidden, mla.q_lora_rank or hidden, mla.indexer) if mla.indexer else ()),
    )


def query_weights(hidden: int, mla: Mla, *, bias: bool = False) -> Groups:
    """The queries' projection, through a low rank where the model has one."""
    width = mla.n_heads * (mla.nope_head_dim + mla.rope_head_dim)
    if mla.q_lora_rank is None:
        return linear("self_attn.q_proj", width, hidden, role="attention", shard="column")
    return (
        *linear("self_attn.q_a_proj", mla.q_lora_rank, hidden, role="attention", bias=bias),
        *norm("self_attn.q_a_layernorm", mla.q_lora_rank),
        *linear("self_attn.q_b_proj", width, mla.q_lora_rank, role="attention", shard="column"),
    )


def block_norms(hidden: int) -> Groups:
    """The norms before attention and before the feed-forward."""
    return (*norm("input_layernorm", hidden), *norm("post_attention_layernorm", hidden))


def routed(cfg: Config) -> MoeFfn:
    """DeepSeek's mixture: ``n_routed_experts`` of ``moe_intermediate_size``, and ``n_shared_experts`` of the same width as one."""
    n_experts, width = cfg.integer("n_routed_experts"), cfg.integer("moe_intermediate_size")
    n_shared = cfg.optional_integer("n_shared_experts", least=0) or 0
    return MoeFfn(n_experts, cfg.integer("num_experts_per_tok", most=n_experts), width, n_shared * width)


def latent_layers(cfg: Config, mixers: Sequence[Mla], ffns: Sequence[Ffn], moe: MoeStyle, extra: Groups = ()) -> list[Layer]:
    """Layers of latent attention with the feed-forwards ``ffns``; ``extra`` weights stand in each layer with a mixture."""
    hidden, bias = cfg.integer("hidden_size"), cfg.flag("attention_bias", default=False)

    def layer(mla: Mla, ffn: Ffn) -> Layer:
        rest = extra if ffn.kind == "moe" else ()
        weights = (*block_norms(hidden), *mla_weights(hidden, mla, bias=bias), *dense_or_moe(hidden, ffn, moe), *rest)
        return Layer((mla,), (ffn,), weights)

    return paired(mixers, ffns, layer)


def paired(mixers: Sequence[M], ffns: Sequence[Ffn], make: Callable[[M, Ffn], Layer]) -> list[Layer]:
    """The layer that ``make`` builds of each mixer and its feed-forward; equal pairs are built once."""
    made = {pair: make(*pair) for pair in dict.fromkeys(zip(mixers, ffns, strict=True))}
    return [made[pair] for pair in zip(mixers, ffns, strict=True)]


def latent_form(cfg: Config, *, float32_routing: bool = True) -> ActivationForm:
    """Facts of a forward pass that follow from latent attention: the rotation covers ``qk_rope_head_dim`` alone."""
    return ActivationForm(
        core=LATENT_CORE,
        context=LATENT_CONTEXT,
        eager_context="O",
        moe=moe_moments(float32=float32_routing),
        rotary_dim=cfg.integer("qk_rope_head_dim", least=0) or None,
    )


def latent_decoder(cfg: Config, layers: list[Layer], form: ActivationForm, mtp: tuple[LayerRun, ...] = ()) -> ModelSpec:
    """Embeddings, ``layers``, final norm and head; ``mtp`` stands apart."""
    return assemble(cfg, layers, Style(), form)._replace(mtp=mtp)
