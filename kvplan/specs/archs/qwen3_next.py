"""Qwen3-Next and Qwen3.5: three layers of gated delta networks, then one of gated attention, and so on.

The query projection is twice as wide: its second half gates the attention's output.
Source: transformers 5.24 models/qwen3_next, models/qwen3_5, models/qwen3_5_moe; Yang et al. 2024, arXiv:2412.06464.
"""

from kvplan.core.forms import STATES, ActivationForm
from kvplan.core.mixers import GatedDeltaNet
from kvplan.core.model import DenseFfn, Layer, LayerRun, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, attention, full, output_gated, read_heads
from kvplan.specs.parts.blocks import Groups, gated_mlp, linear, norm
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_dim
from kvplan.specs.parts.experts import MoeStyle, moe
from kvplan.specs.parts.forms import FUSED_DELTA, NORMED_ROTATION, moe_moments
from kvplan.specs.parts.hybrid import FeedForward, Mixing, mixed_layers, read_kinds
from kvplan.specs.parts.sparse import by_step, experts_per_token
from kvplan.specs.parts.state_space import gated_delta, read_delta, split_delta

MODEL_TYPES = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")

_BOTH: dict[str, object] = {"head_dim": 256, "max_position_embeddings": 32768, "num_attention_heads": 16}
_DEFAULTS: dict[str, dict[str, object]] = {
    "qwen3_next": {
        **_BOTH,
        "vocab_size": 151936,
        "hidden_size": 2048,
        "intermediate_size": 5632,
        "num_hidden_layers": 48,
        "num_key_value_heads": 2,
        "num_experts": 512,
        "num_experts_per_tok": 10,
        "mtp_num_hidden_layers": 1,  # the published checkpoints hold one and their configs don't say so
    },
    "qwen3_5_text": {
        **_BOTH,
        "vocab_size": 248320,
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_hidden_layers": 32,
        "num_key_value_heads": 4,
    },
    "qwen3_5_moe_text": {
        **_BOTH,
        "vocab_size": 248320,
        "hidden_size": 2048,
        "num_hidden_layers": 40,
        "num_key_value_heads": 2,
        "num_experts": 256,
        "num_experts_per_tok": 8,
    },
}
_KINDS = ("linear_attention", "full_attention")


def build(cfg: Config) -> ModelSpec:
    """Every ``full_attention_interval``-th layer attends, unless ``layer_types`` says otherwise."""
    model_type = cfg.text("model_type")
    cfg = completed(cfg, _DEFAULTS[model_type])
    hidden, n_layers = cfg.integer("hidden_size"), cfg.n_layers()
    heads, net = read_heads(cfg, hidden), read_delta(cfg)
    ways = {
        "full_attention": Mixing((full(heads),), _attention(cfg, hidden, heads)),
        "linear_attention": Mixing((net,), (_fused_delta if model_type == "qwen3_next" else split_delta)(hidden, net)),
    }
    every = cfg.integer("full_attention_interval", default=4)
    kinds = read_kinds(cfg, _KINDS, [_KINDS[(i + 1) % every == 0] for i in range(n_layers)])
    feeds = _feeds(cfg, hidden)
    norms = (*norm("input_layernorm", hidden), *norm("post_attention_layernorm", hidden))
    layers = mixed_layers([ways[kind] for kind in kinds], feeds, norms)
    form = ActivationForm(
        attention=NORMED_ROTATION,
        moe=moe_moments(hidden="5H"),
        states=FUSED_DELTA if model_type == "qwen3_next" else STATES,
        merges_experts=model_type == "qwen3_next",
        checked=True,
        rotary_dim=rotary_dim(cfg, heads.head_dim, default=0.25),
    )
    (drafting,) = mixed_layers([ways["full_attention"]], feeds[-1:], norms)
    return assemble(cfg, layers, Style(), form)._replace(mtp=_next_token(cfg, hidden, drafting))


def _fused_delta(hidden: int, net: GatedDeltaNet) -> Groups:
    """Qwen3-Next's two input projections: queries, keys, values and output gate; strength and decay."""
    parts = {"in_proj_qkvz": net.conv_dim + net.n_v_heads * net.v_head_dim, "in_proj_ba": 2 * net.n_v_heads}
    return gated_delta("linear_attn", hidden, net, parts)


def _attention(cfg: Config, hidden: int, heads: Heads) -> Groups:
    bias = cfg.flag("attention_bias", default=False)
    return output_gated(attention(hidden, heads, qkv_bias=bias, o_bias=bias, qk_norm="head"))


def _feeds(cfg: Config, hidden: int) -> list[FeedForward]:
    """Qwen3.5 is dense or has mixtures in all layers; Qwen3-Next keeps some layers dense, by step or by list."""
    n_layers, model_type = cfg.n_layers(), cfg.text("model_type")
    n_experts = 0 if model_type == "qwen3_5_text" else cfg.integer("num_experts", least=0)
    if not n_experts:
        return [_dense(hidden, DenseFfn(cfg.integer("intermediate_size")))] * n_layers
    sparse = MoeFfn(
        n_experts,
        experts_per_token(cfg, "num_experts_per_tok", of=n_experts, default=8),
        cfg.integer("moe_intermediate_size", default=512),
        cfg.integer("shared_expert_intermediate_size", default=512),
    )
    mixture = FeedForward(sparse, moe(hidden, sparse, MoeStyle(shared="shared_expert", shared_gate=True)))
    if model_type == "qwen3_5_moe_text":
        return [mixture] * n_layers
    dense = DenseFfn(cfg.integer("intermediate_size"))
    feeds = {dense: _dense(hidden, dense), sparse: mixture}
    return [feeds[ffn] for ffn in by_step(cfg, dense, sparse)]


def _dense(hidden: int, ffn: DenseFfn) -> FeedForward:
    return FeedForward(ffn, gated_mlp(hidden, ffn.intermediate))


def _next_token(cfg: Config, hidden: int, layer: Layer) -> tuple[LayerRun, ...]:
    """Next-token-prediction layers: attention ones behind one projection and two norms, with a last norm.

    Source: vLLM 0.33 models/qwen3_next_mtp.py, models/qwen3_5_mtp.py.
    """
    n_layers = cfg.integer("num_nextn_predict_layers", "mtp_num_hidden_layers", default=0, least=0, most=64)
    if not n_layers:
        return ()
    joining = (
        *linear("fc", hidden, 2 * hidden, role="other"),
        *(group for name in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm") for group in norm(name, hidden)),
    )
    first = LayerRun(1, layer._replace(weights=(*joining, *layer.weights)))
    return (first,) if n_layers == 1 else (first, LayerRun(n_layers - 1, layer))
