"""Inkling 2's text model, and the one that runs its middle layers several times.

Like Inkling, but every layer is a mixture, heads clip and scale instead of norming, full layers convolve keys and values
with weights of their own making, and each block mixes what earlier blocks left. Passes of a loop share weights, not caches.
Source: transformers 5.24 models/inkling2, models/inkling2_loop (Inkling2TextConfig, Inkling2LoopTextConfig).
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import FullAttention, ShortConv, SlidingAttention
from kvplan.core.model import Layer, ModelSpec, MoeFfn, WeightGroup
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.attention import Heads
from kvplan.specs.parts.blocks import Groups, embedding, linear, lm_head, norm, vector
from kvplan.specs.parts.decoder import completed, composed
from kvplan.specs.parts.experts import MoeStyle, moe
from kvplan.specs.parts.forms import NORMED_ROTATION, moe_moments
from kvplan.specs.parts.sparse import experts_per_token

MODEL_TYPES = ("inkling2_text", "inkling2_loop_text")

_DEFAULTS: Mapping[str, object] = {
    "unpadded_vocab_size": 200058,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "swa_num_key_value_heads": 8,
    "swa_head_dim": 128,
    "sliding_window_size": 1024,
    "d_rel": 16,
    "rel_extent": 1024,
    "conv_kernel_size": 4,
    "num_experts_per_tok": 8,
    "max_position_embeddings": 1048576,
}
_OWN: Mapping[str, Mapping[str, object]] = {
    "inkling2_text": {"swa_num_attention_heads": 48, "moe_intermediate_size": 2304, "n_routed_experts": 384},
    "inkling2_loop_text": {
        "swa_num_attention_heads": 24,
        "moe_intermediate_size": 1152,
        "n_routed_experts": 128,
        "loop_layer_index_start": 6,
        "loop_layer_index_end": 18,
        "loop_num_passes": 3,
        "loop_gate_rank": 64,
    },
}
_LOOP_NAMES = {
    "core_start": "loop_layer_index_start",
    "core_end": "loop_layer_index_end",
    "num_passes": "loop_num_passes",
    "gate_rank": "loop_gate_rank",
}
_NAMES = {
    "sliding_window": "sliding_window_size",
    "num_local_experts": "n_routed_experts",
    "sconv_kernel_size": "conv_kernel_size",
    "model_max_length": "max_position_embeddings",
    "intermediate_size": "moe_intermediate_size",
}
_KINDS = ("hybrid", "hybrid_sliding")


def build(cfg: Config) -> ModelSpec:
    """The output projection has ``unpadded_vocab_size`` rows and is never tied; layers of later passes have no weights."""
    model_type, loop = cfg.text("model_type", default="inkling2_text"), cfg.sub("loop_config")
    cfg = completed(cfg.renamed(_NAMES), {**_DEFAULTS, **_OWN[model_type]})
    own = {name: loop.integer(key, least=0) for key, name in _LOOP_NAMES.items() if loop.has(key)}
    cfg = Config({**cfg.data, **own}, where=cfg.where, path=cfg.path)
    hidden, vocab, n_layers = cfg.integer("hidden_size"), cfg.integer("vocab_size"), cfg.n_layers()
    default = tuple("hybrid" if (i + 1) % 6 == 0 else "hybrid_sliding" for i in range(n_layers))
    kinds = cfg.per_layer("layer_types", n_layers, cfg.texts("layer_types", default=default))
    layers = [_layer(cfg, kind, first=i == 0) for i, kind in enumerate(kinds)]
    weights = (
        *embedding(vocab, hidden),
        *norm("embed_norm", hidden),
        *norm("norm", hidden),
        *vector("final_input.query", hidden, role="other", dtype="float32"),
        *lm_head(cfg.integer("unpadded_vocab_size"), hidden, tied=False),
    )
    if model_type == "inkling2_loop_text":
        layers, messages = _looped(cfg, layers)
        weights = (*weights, *messages)
    return composed(cfg, layers, weights, ActivationForm(attention=NORMED_ROTATION, moe=moe_moments(float32=True)))


def _layer(cfg: Config, kind: str, *, first: bool) -> Layer:
    if kind not in _KINDS:
        raise cfg.error("layer_types", f"unknown kind of layer '{kind}'", hint=f"known: {', '.join(_KINDS)}")
    hidden, sliding = cfg.integer("hidden_size"), kind == "hybrid_sliding"
    n_experts = cfg.integer("n_routed_experts")
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts)
    ffn = MoeFfn(n_experts, n_active, cfg.integer("moe_intermediate_size"))
    own = "swa_" if sliding else ""
    width = cfg.integer(f"{own}head_dim")
    heads = Heads(cfg.integer(f"{own}num_attention_heads"), cfg.integer(f"{own}num_key_value_heads"), width, width)
    convolved = ShortConv(2 * heads.n_kv_heads * width + 2 * hidden, cfg.integer("conv_kernel_size"))
    attention = SlidingAttention(*heads, cfg.integer("sliding_window_size")) if sliding else FullAttention(*heads)
    mixture = moe(hidden, ffn, MoeStyle(router_dtype="float32", correction="buffer", correction_dtype="float32"))
    weights = (*_attention(cfg, heads, sliding=sliding), *_around(cfg, sliding=sliding, first=first), *mixture)
    return Layer((attention, convolved), (ffn,), weights)


def _attention(cfg: Config, heads: Heads, *, sliding: bool) -> Groups:
    hidden, d_rel, inner = cfg.integer("hidden_size"), cfg.integer("d_rel"), heads.n_heads * heads.head_dim
    extent = cfg.integer("sliding_window_size" if sliding else "rel_extent")
    bias = "self_attn.relative_position_bias"
    return (
        *linear("self_attn.q_proj", inner, hidden, role="attention", shard="column"),
        *vector("self_attn.q_proj.norm.scale", inner, role="norm"),
        *_key_or_value(cfg, "self_attn.k_proj", heads, dynamic=not sliding),
        *_key_or_value(cfg, "self_attn.v_proj", heads, dynamic=not sliding),
        *linear("self_attn.o_proj.gate_proj", inner, hidden, role="attention", shard="column"),
        *linear("self_attn.o_proj", hidden, inner, role="attention", shard="row"),
        *linear("self_attn.sink_proj", heads.n_heads, hidden, role="attention"),
        *linear(bias, heads.n_heads * d_rel, hidden, role="attention", shard="column"),
        *vector(f"{bias}.norm.scale", heads.n_heads * d_rel, role="norm"),
        *linear(f"{bias}.proj", d_rel, extent, role="attention"),
    )


def _key_or_value(cfg: Config, name: str, heads: Heads, *, dynamic: bool) -> Groups:
    """A projection and its convolution, in full layers (``dynamic``) one whose weights depend on the input."""
    hidden, kernel, width = cfg.integer("hidden_size"), cfg.integer("conv_kernel_size"), heads.n_kv_heads * heads.head_dim
    projection = linear(name, width, hidden, role="attention", shard="kv")
    if not dynamic:
        return (*projection, *_convolution(f"{name}.sconv", width, kernel))
    static = WeightGroup(f"{name}.sconv.static_weight", "mixer", kernel, width)
    return (*projection, static, *linear(f"{name}.sconv.weight_proj", heads.n_kv_heads * kernel, hidden, role="mixer"))


def _around(cfg: Config, *, sliding: bool, first: bool) -> Groups:
    """Norms, both blocks' convolutions, and the queries that choose among earlier blocks (three in a full layer, but the first)."""
    hidden, kernel = cfg.integer("hidden_size"), cfg.integer("conv_kernel_size")
    inputs = ("input_layernorm",) if sliding else ("q_input_layernorm", "k_input_layernorm", "v_input_layernorm")
    queries = 0 if first else len(inputs)
    return (
        *(group for name in (*inputs, "post_attention_layernorm") for group in norm(name, hidden)),
        *_convolution("post_attention_convolution", hidden, kernel),
        *_convolution("post_mlp_convolution", hidden, kernel),
        *(vector("attention_input.query", queries * hidden, role="other", dtype="float32") if queries else ()),
        *vector("mlp_input.query", hidden, role="other", dtype="float32"),
    )


def _convolution(name: str, channels: int, kernel: int) -> Groups:
    return (WeightGroup(f"{name}.conv1d.weight", "mixer", channels, kernel, dtype="float32"),)


def _looped(cfg: Config, layers: list[Layer]) -> tuple[list[Layer], Groups]:
    """Layers with the core's later passes after its first, and what passes a message from one to the next."""
    hidden, rank = cfg.integer("hidden_size"), cfg.integer("loop_gate_rank")
    start, end = cfg.integer("loop_layer_index_start"), cfg.integer("loop_layer_index_end", most=len(layers))
    if start >= end:
        raise cfg.error("loop_layer_index_end", f"expected more than loop_layer_index_start = {start}, found {end}")
    gates = tuple(group for part in ("q", "k", "v", "mlp") for group in _message_gate(f"{part}_message_gate", hidden, rank))
    core = [layer._replace(weights=(*layer.weights, *gates)) for layer in layers[start:end]]
    again = [layer._replace(weights=()) for layer in core] * (cfg.integer("loop_num_passes", most=MAX_LAYERS // len(core)) - 1)
    query = WeightGroup("message_input.query", "other", (end - start) * 4, hidden, dtype="float32")
    return [*layers[:start], *core, *again, *layers[end:]], (query,)


def _message_gate(name: str, hidden: int, rank: int) -> Groups:
    """What of the last pass a block forgets and what it takes over."""
    forgets = WeightGroup(f"{name}.forget_gate_proj.weight", "other", hidden, rank, dtype="float32")
    takes = WeightGroup(f"{name}.message_gate_proj.weight", "other", hidden, rank, dtype="float32")
    return (*linear(f"{name}.down_proj", rank, 2 * hidden, role="other"), forgets, takes)
