"""Zamba and Zamba2: a stack of Mamba layers, and before some of them a transformer block whose weights are shared.

The block reads the hidden states beside the embeddings, 2 · hidden_size wide. Its weights exist once (Zamba2: in
``num_mem_blocks`` versions that take turns); what each place keeps is a key-value cache of its own and a linear layer. Zamba2
adapts the block to each place by low-rank adapters, which stand in the block itself.
Source: transformers 5.24 models/zamba, models/zamba2; Glorioso et al. 2024, arXiv:2405.16712 §2, arXiv:2411.15242 §2.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kvplan.core.forms import ActivationForm, chunked_scan
from kvplan.core.mixers import Mamba1, Mamba2
from kvplan.core.model import DenseFfn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, full
from kvplan.specs.parts.blocks import Groups, copies, gated_mlp, linear, norm
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.hybrid import read_kinds
from kvplan.specs.parts.state_space import Biases, expanded, mamba1, mamba2, n_groups, read_biases, read_mamba1

MODEL_TYPES = ("zamba", "zamba2")

_SIZES: dict[str, dict[str, object]] = {
    "zamba": {
        "vocab_size": 32000,
        "hidden_size": 3712,
        "intermediate_size": 14848,
        "num_hidden_layers": 76,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
        "max_position_embeddings": 4096,
    },
    "zamba2": {
        "vocab_size": 32000,
        "hidden_size": 2560,
        "num_hidden_layers": 54,
        "num_attention_heads": 32,
        "max_position_embeddings": 4096,
    },
}
_KINDS = ("linear_attention", "hybrid")


class Block(NamedTuple):
    """The shared transformer block: its input width, its heads, its feed-forward."""

    hidden: int
    wide: int
    heads: Heads
    intermediate: int
    bias: bool


def build(cfg: Config) -> ModelSpec:
    """Shared weights stand outside the layers, once for each version of the block."""
    second = cfg.text("model_type") == "zamba2"
    cfg = completed(cfg, _SIZES[cfg.text("model_type")])
    block = _read_block(cfg)
    mixer, mixing = _mamba2(cfg, block.hidden) if second else _mamba1(cfg, block.hidden)
    recurs = (*norm("mamba.input_layernorm", block.hidden), *mixing)
    kinds = read_kinds(cfg, _KINDS, _zamba2_kinds() if second else _zamba_kinds(cfg))
    n_versions = cfg.integer("num_mem_blocks", default=1) if second else 1
    adapters = _adapters(cfg, block) if second else ()
    turns = _turns(cfg, kinds.count("hybrid"), n_versions)
    own, outside = (_shared if cfg.flag("tie_word_embeddings", default=True) else _unshared)(block, adapters, turns, n_versions)
    places = iter(own)
    layers = [
        Layer((full(block.heads), mixer), (DenseFfn(block.intermediate),), (*recurs, *next(places)))
        if kind == "hybrid"
        else Layer((mixer,), (), recurs)
        for kind in kinds
    ]
    spec = assemble(cfg, layers, Style(tied=True), _form(cfg, block, second=second))
    if second and cfg.flag("use_long_context", default=False):
        spec = spec._replace(max_ctx_tokens=16384)
    return spec._replace(weights=(*spec.weights, *outside))


def _turns(cfg: Config, n_places: int, n_versions: int) -> list[int]:
    """How many adapters the block at each place has: one for each of the ``hybrid_layer_ids`` that take the same turn.

    A config that was cut to fewer layers may still list them all: the adapters of the others are built, and unused.
    """
    n_adapted = len(cfg.integers("hybrid_layer_ids")) if cfg.has("hybrid_layer_ids") else n_places
    return [len(range(i % n_versions, n_adapted, n_versions)) for i in range(n_places)]


def _shared(block: Block, adapters: Groups, turns: Sequence[int], n_versions: int) -> tuple[list[Groups], Groups]:
    """What each hybrid layer holds beside its Mamba layer, and what all of them share: the versions of the block."""
    versions = turns[:n_versions]
    shared = (*copies(_block(block), len(versions)), *copies(adapters, sum(versions))) if versions else ()
    return [_own(block)] * len(turns), shared


def _unshared(block: Block, adapters: Groups, turns: Sequence[int], n_versions: int) -> tuple[list[Groups], Groups]:
    """Transformers ties the blocks only where it ties the embeddings; else each layer has a block of its own."""
    return [(*_own(block), *_block(block), *copies(adapters, n)) for n in turns], ()


def _own(block: Block) -> Groups:
    return linear("linear", block.hidden, block.hidden, role="other")


def _read_block(cfg: Config) -> Block:
    hidden = cfg.integer("hidden_size")
    wide = cfg.integer("attention_hidden_size", default=2 * hidden)
    n_heads = cfg.integer("num_attention_heads")
    n_kv_heads = cfg.integer("num_key_value_heads", default=n_heads)
    if n_heads % n_kv_heads:
        raise cfg.error("num_key_value_heads", f"expected a divisor of num_attention_heads = {n_heads}, found {n_kv_heads}")
    head_dim = cfg.integer("head_dim", "attention_head_dim", default=max(1, 2 * hidden // n_heads))
    intermediate = cfg.integer("intermediate_size", default=4 * hidden)
    return Block(hidden, wide, Heads(n_heads, n_kv_heads, head_dim, head_dim), intermediate, cfg.flag("add_bias_linear", default=False))


def _block(block: Block) -> Groups:
    """Weights of one version of the block."""
    q, kv = block.heads.n_heads * block.heads.head_dim, block.heads.n_kv_heads * block.heads.head_dim
    return (
        *norm("shared_transformer.input_layernorm", block.wide),
        *linear("shared_transformer.self_attn.q_proj", q, block.wide, role="attention", shard="column"),
        *linear("shared_transformer.self_attn.k_proj", kv, block.wide, role="attention", shard="kv"),
        *linear("shared_transformer.self_attn.v_proj", kv, block.wide, role="attention", shard="kv"),
        *linear("shared_transformer.self_attn.o_proj", block.hidden, q, role="attention", shard="row"),
        *norm("shared_transformer.pre_ff_layernorm", block.hidden),
        *gated_mlp(block.hidden, block.intermediate, name="shared_transformer.feed_forward", bias=block.bias),
    )


def _adapters(cfg: Config, block: Block) -> Groups:
    """Zamba2's low-rank additions at each place: to gate and up projections, and to q, k and v where the config says so."""
    rank = cfg.integer("adapter_rank", default=128)
    parts = [("gate_up_proj", block.hidden, 2 * block.intermediate)]
    if cfg.flag("use_shared_attention_adapter", default=False):
        parts += [(f"linear_{part}", block.wide, block.wide) for part in "qkv"]
    return tuple(
        group
        for part, n_in, n_out in parts
        for group in (
            *linear(f"{part}_adapter.0", rank, n_in, role="other"),
            *linear(f"{part}_adapter.1", n_out, rank, role="other", shard="column"),
        )
    )


def _mamba1(cfg: Config, hidden: int) -> tuple[Mamba1, Groups]:
    ssm = read_mamba1(cfg, hidden)
    if ssm.inner_dim % cfg.integer("n_mamba_heads", default=2):
        raise cfg.error("n_mamba_heads", f"expected a divisor of the {ssm.inner_dim} channels, found {cfg.integer('n_mamba_heads')}")
    return ssm, mamba1("mamba", hidden, ssm, read_biases(cfg))


def _mamba2(cfg: Config, hidden: int) -> tuple[Mamba2, Groups]:
    inner, n_heads = expanded(cfg, "mamba_expand", hidden), cfg.integer("n_mamba_heads", default=8)
    if inner % n_heads:
        raise cfg.error("n_mamba_heads", f"expected a divisor of the {inner} channels, found {n_heads}")
    groups = n_groups(cfg, "mamba_ngroups", n_heads, default=1)
    ssm = Mamba2(n_heads, inner // n_heads, cfg.integer("mamba_d_state", default=64), groups, cfg.integer("mamba_d_conv", default=4))
    bias = cfg.flag("add_bias_linear", default=False)
    return ssm, mamba2("mamba", hidden, ssm, Biases(conv=True, into=bias, out=bias))


def _zamba_kinds(cfg: Config) -> list[str]:
    """Two plain layers, a hybrid one, then the one at ``attn_layer_offset`` of each ``attn_layer_period``."""
    period, offset = cfg.integer("attn_layer_period", default=6), cfg.integer("attn_layer_offset", default=4, least=0)
    rest = ("hybrid" if i % period == offset else "linear_attention" for i in range(cfg.n_layers() - 3))
    return ["linear_attention", "linear_attention", "hybrid", *rest]


def _zamba2_kinds() -> list[str]:
    """The published 54 layers, the default of the configuration class whatever the number of layers."""
    plain = "linear_attention"
    return [plain, *([plain] * 5 + ["hybrid"]) * 7, *[plain] * 4, "hybrid", *[plain] * 3, "hybrid", plain, plain]


def _form(cfg: Config, block: Block, *, second: bool) -> ActivationForm:
    """Zamba2 rotates where ``use_mem_rope`` says so, Zamba never; the embeddings live through all layers, once more as they came."""
    if not second:
        return ActivationForm()
    rotated = cfg.flag("use_mem_rope", default=False)
    scan = chunked_scan(cfg.integer("chunk_size", default=256), hidden="5H")
    return ActivationForm(rotary_dim=block.heads.head_dim if rotated else None, states=(scan,), checked=True)
