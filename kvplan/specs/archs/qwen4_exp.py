"""The language model of Qwen4-Exp: Qwen3.5's layers with an indexer on the attention, several residual streams, and n-gram embeddings.

The norms before the blocks are those of the mixing of the streams. Layers in ``ple_layer_ids`` (counted from 1) add
embeddings of hashed n-grams, whose tables have a prime number of rows per head.
Source: transformers 5.24 models/qwen4_exp.
"""

from math import isqrt

from kvplan.core.forms import ActivationForm
from kvplan.core.indexer import Indexer
from kvplan.core.mixers import FullAttention, Mixer, ShortConv
from kvplan.core.model import Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, attention, output_gated, read_heads
from kvplan.specs.parts.blocks import Groups, as_role, linear, norm
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_dim
from kvplan.specs.parts.experts import MoeStyle, moe
from kvplan.specs.parts.forms import NORMED_ROTATION
from kvplan.specs.parts.hybrid import read_kinds
from kvplan.specs.parts.sparse import experts_per_token
from kvplan.specs.parts.state_space import conv1d, read_delta, split_delta

MODEL_TYPES = ("qwen4_exp_text",)

_DEFAULTS: dict[str, object] = {
    "vocab_size": 248320,
    "hidden_size": 2048,
    "num_hidden_layers": 40,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "max_position_embeddings": 32768,
    "num_experts": 512,
    "hc_count": 4,
    "ngram_size": 3,
    "ple_conv_kernel_size": 4,
}
_KINDS = ("linear_attention", "indexed_attention")


def build(cfg: Config) -> ModelSpec:
    """Every ``full_attention_interval``-th layer attends, unless ``layer_types`` says otherwise."""
    cfg = completed(cfg, _DEFAULTS)
    hidden, n_layers = cfg.integer("hidden_size"), cfg.n_layers()
    heads, ffn = read_heads(cfg, hidden), _read_moe(cfg)
    every = cfg.integer("full_attention_interval", default=4)
    default = [_KINDS[(i + 1) % every == 0] for i in range(n_layers)]
    kinds = [kind.replace("full", "indexed") for kind in read_kinds(cfg, (*_KINDS, "full_attention"), default)]
    feed = moe(hidden, ffn, MoeStyle(shared="shared_expert", shared_gate=True))
    both = (*_streams(cfg, hidden, "attn_hyper_connection"), *_streams(cfg, hidden, "mlp_hyper_connection"), *feed)
    made = {kind: _layer(cfg, kind, heads, ffn, both) for kind in dict.fromkeys(kinds)}
    layers = [made[kind] for kind in kinds]
    for turn, place in enumerate(_places(cfg, kinds)):
        layers[place] = _with_ngrams(cfg, layers[place], hidden, turn)
    form = ActivationForm(rotary_dim=rotary_dim(cfg, heads.head_dim), attention=NORMED_ROTATION)
    spec = assemble(cfg, layers, Style(final_norm=False), form)
    return spec._replace(weights=(*spec.weights, *_streams(cfg, hidden, "hyper_connection_mixer", injects=False)))


def _read_moe(cfg: Config) -> MoeFfn:
    n_experts = cfg.integer("num_experts", "num_local_experts")
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts, default=10)
    shared = cfg.integer("shared_expert_intermediate_size", default=512)
    return MoeFfn(n_experts, n_active, cfg.integer("moe_intermediate_size", default=512), shared)


def _layer(cfg: Config, kind: str, heads: Heads, ffn: MoeFfn, both: Groups) -> Layer:
    hidden = cfg.integer("hidden_size")
    if kind == "linear_attention":
        net = read_delta(cfg)
        return Layer((net,), (ffn,), (*split_delta(hidden, net), *both))
    bias = cfg.flag("attention_bias", default=False)
    indexer = _read_indexer(cfg)
    projections = output_gated(attention(hidden, heads, qkv_bias=bias, o_bias=bias, qk_norm="head"))
    return Layer((FullAttention(*heads, indexer),), (ffn,), (*projections, *_indexer_weights(hidden, indexer), *both))


def _read_indexer(cfg: Config) -> Indexer:
    """Blocks are picked among the tokens that a query sees, so that padding moves their edges: each token's key is kept."""
    if cfg.integer("indexer_kv_heads") != 1:
        raise cfg.error("indexer_kv_heads", f"expected 1, the only number that the indexer knows, found {cfg.integer('indexer_kv_heads')}")
    budget, ratio = cfg.integer("indexer_budget"), cfg.integer("indexer_compress_ratio")
    if budget % ratio:
        raise cfg.error("indexer_budget", f"expected a multiple of indexer_compress_ratio = {ratio}, found {budget}")
    return Indexer(cfg.integer("indexer_n_heads"), cfg.integer("indexer_head_dim"), budget)


def _indexer_weights(hidden: int, indexer: Indexer) -> Groups:
    width = indexer.head_dim
    return (
        *linear("self_attn.indexer.index_qk_proj", (indexer.n_heads + 1) * width, hidden, role="indexer"),
        *as_role((*norm("self_attn.indexer.q_layernorm", width), *norm("self_attn.indexer.k_layernorm", width)), "indexer"),
    )


def _streams(cfg: Config, hidden: int, name: str, *, injects: bool = True) -> Groups:
    """How a block reads the residual streams (a norm, a low-rank mix) and writes to them (one weight per stream)."""
    n_streams, rank = cfg.integer("hc_count", least=2), cfg.integer("hc_lowrank", default=320)
    wide = n_streams * hidden
    return (
        *norm(f"{name}.hc_norm", wide),
        *linear(f"{name}.input_mix_weight_down", rank, wide, role="other"),
        *linear(f"{name}.input_mix_weight_up", wide, rank, role="other"),
        *(linear(f"{name}.block_inject_weight", n_streams, wide, role="other") if injects else ()),
    )


def _places(cfg: Config, kinds: list[str]) -> list[int]:
    """The layers with n-gram embeddings, in order; only those without attention may have them."""
    places = [i - 1 for i in sorted(set(cfg.integers("ple_layer_ids", default=(), least=1)))]
    wrong = next((i for i in places if i >= len(kinds) or kinds[i] != "linear_attention"), None)
    if wrong is not None:
        raise cfg.error("ple_layer_ids", f"expected linear_attention layers, counted from 1 to {len(kinds)}, found {wrong + 1}")
    return places


def _with_ngrams(cfg: Config, layer: Layer, hidden: int, turn: int) -> Layer:
    """``layer`` with a table of n-gram embeddings, their projections, and a dilated convolution over all streams."""
    width, wide = cfg.integer("ple_embed_dim", default=hidden), cfg.integer("hc_count") * hidden
    dilation, kernel = cfg.integer("ngram_size", least=2), cfg.integer("ple_conv_kernel_size")
    weights = (
        *_table(cfg, width, turn),
        *linear("ple.key_proj", wide, width, role="other"),
        *linear("ple.value_proj", hidden, width, role="other"),
        *(group for part in ("norm_key", "norm_query", "norm_conv") for group in norm(f"ple.{part}", wide)),
        *conv1d("ple.conv1d", wide, kernel, bias=False),
    )
    past: tuple[Mixer, ...] = (ShortConv(wide, (kernel - 1) * dilation + 1),)
    return layer._replace(mixers=(*layer.mixers, *past), weights=(*layer.weights, *weights))


def _table(cfg: Config, width: int, turn: int) -> Groups:
    """One table for all heads of the n-grams of this layer, each with the next larger prime as its number of rows."""
    n_heads = (cfg.integer("ngram_size") - 1) * cfg.integer("heads_per_ngram", default=8)
    if width % n_heads:
        raise cfg.error("ple_embed_dim", f"expected a multiple of {n_heads} n-gram heads, found {width}")
    rows = sum(_primes(cfg.integer("ngram_vocab_size_base", default=20_000_000, most=2**32), n_heads * (turn + 1))[n_heads * turn :])
    multiple = cfg.integer("make_ngram_vocab_size_divisible_by", default=128)
    return as_role(
        linear("ple.ple_embedding.ngram_embedding", -(-rows // multiple) * multiple, width // n_heads, role="embedding"), "embedding"
    )


def _primes(least: int, n: int) -> list[int]:
    """The first ``n`` primes from ``least`` on."""
    found: list[int] = []
    number = max(2, least)
    while len(found) < n:
        if all(number % d for d in range(2, isqrt(number) + 1)):
            found.append(number)
        number += 1
    return found
