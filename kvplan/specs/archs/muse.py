"""The language models of Muse Glimmer and Muse Spark: windows but in each fourth layer from the end, a gate on the attention's output.

Spark's layers are mixtures of experts that run at a smaller width, and it gates both steps along the residual.
Source: transformers 5.24 models/muse_glimmer, models/muse_spark.
"""

from kvplan.core.model import ActivationForm, DenseFfn, ModelSpec, MoeFfn
from kvplan.specs.attention import attention, layer_kinds, mixer, read_heads
from kvplan.specs.blocks import Groups, copies, gated_mlp, linear, norm, vector
from kvplan.specs.config import Config
from kvplan.specs.decoder import Style, assemble
from kvplan.specs.experts import MoeStyle, router
from kvplan.specs.hybrid import FeedForward, Mixing, mixed_layers
from kvplan.specs.sparse import by_kind, experts_per_token

MODEL_TYPES = ("muse_glimmer_text", "muse_spark_text")

_DEFAULTS: dict[str, dict[str, object]] = {
    "muse_glimmer_text": {
        "vocab_size": 202048,
        "hidden_size": 6656,
        "intermediate_size": 19968,
        "num_hidden_layers": 52,
        "num_attention_heads": 32,
        "num_key_value_heads": 2,
        "head_dim": 128,
        "max_position_embeddings": 131072,
        "sliding_window": 2048,
    },
    "muse_spark_text": {
        "vocab_size": 202048,
        "hidden_size": 8192,
        "intermediate_size": 16384,
        "num_hidden_layers": 62,
        "num_attention_heads": 128,
        "num_key_value_heads": 16,
        "head_dim": 64,
        "max_position_embeddings": 1048576,
        "sliding_window": 2048,
        "num_local_experts": 256,
    },
}
_ROUTER = MoeStyle(router_dtype="float32", correction="buffer", correction_dtype="float32")


def build(cfg: Config) -> ModelSpec:
    """Queries and keys are normalized without weights."""
    spark = cfg.text("model_type") == "muse_spark_text"
    cfg = cfg.with_defaults(_DEFAULTS[cfg.text("model_type")])
    hidden, n_layers = cfg.integer("hidden_size"), cfg.n_layers()
    heads = read_heads(cfg, hidden)
    window, bias = cfg.optional_integer("sliding_window"), cfg.flag("attention_bias", default=False)
    weights = (
        *attention(hidden, heads, qkv_bias=bias, o_bias=bias),
        *linear("self_attn.gate_proj", heads.n_heads * heads.head_dim, hidden, role="attention", shard="column"),
    )
    default = tuple("sliding_attention" if (n_layers - 1 - i) % 4 else "full_attention" for i in range(n_layers))
    mixings = [Mixing((mixer(kind, heads, cfg, window=window),), weights) for kind in layer_kinds(cfg, n_layers, default)]
    dense = DenseFfn(cfg.integer("intermediate_size"))
    feeds = _spark_feeds(cfg, hidden, dense) if spark else [_dense(hidden, dense)] * n_layers
    form = ActivationForm(rotary_dim=heads.head_dim, qk_norm=True)
    return assemble(cfg, mixed_layers(mixings, feeds, _around(hidden, spark=spark)), Style(), form)


def _around(hidden: int, *, spark: bool) -> Groups:
    """The norms of a layer that have weights, and Spark's two residual gates."""
    names = (
        "input_layernorm",
        "pre_feedforward_layernorm",
        "post_feedforward_layernorm",
        *(() if spark else ("post_attention_layernorm",)),
    )
    gates = ("post_attention_residual_gate.gate", "post_feedforward_residual_gate.gate") if spark else ()
    return (
        *(group for name in names for group in norm(name, hidden)),
        *(group for name in gates for group in vector(name, hidden, role="other", dtype="float32")),
    )


def _dense(hidden: int, ffn: DenseFfn) -> FeedForward:
    return FeedForward(ffn, gated_mlp(hidden, ffn.intermediate))


def _spark_feeds(cfg: Config, hidden: int, dense: DenseFfn) -> list[FeedForward]:
    """Mixtures, or dense where ``mlp_layer_types`` says so. Experts run between two projections, at ``moe_hidden_size``."""
    n_experts, narrow = cfg.integer("num_local_experts", "num_experts"), cfg.integer("moe_hidden_size", default=4096)
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts, default=8)
    sparse = MoeFfn(n_experts, n_active, cfg.integer("moe_intermediate_size", default=4096))
    weights = (
        *router(hidden, n_experts, _ROUTER),
        *linear("mlp.pre_expert_proj", narrow, hidden, role="mlp", shard="row"),
        *norm("mlp.pre_expert_norm", narrow),
        *copies(gated_mlp(narrow, sparse.intermediate, name="mlp.experts", role="expert"), n_experts),
        *norm("mlp.experts.post_expert_norm", narrow),
        *linear("mlp.post_expert_proj", hidden, narrow, role="mlp", shard="row"),
    )
    feeds = {dense: _dense(hidden, dense), sparse: FeedForward(sparse, weights)}
    return [feeds[ffn] for ffn in by_kind(cfg, dense, sparse, ["sparse"] * cfg.n_layers())]
