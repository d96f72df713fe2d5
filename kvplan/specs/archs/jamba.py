"""Jamba: Mamba layers with an attention layer in every period, and mixtures of experts in another.

Source: transformers 5.24 models/jamba; Lieber et al. 2024, arXiv:2403.19887 §3.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import attention, full, read_heads
from kvplan.specs.parts.blocks import gated_mlp, norm
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.experts import MoeStyle, moe
from kvplan.specs.parts.forms import decays, selective_scan
from kvplan.specs.parts.hybrid import FeedForward, Mixing, mixed_layers
from kvplan.specs.parts.sparse import experts_per_token
from kvplan.specs.parts.state_space import mamba1, read_biases, read_mamba1

MODEL_TYPES = ("jamba",)

_DEFAULTS: dict[str, object] = {
    "vocab_size": 65536,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 262144,
}
_MOE = MoeStyle(name="feed_forward", router="router")


def build(cfg: Config) -> ModelSpec:
    """No rotation and no position limit in the attention; one expert means a dense feed-forward."""
    cfg = completed(cfg, _DEFAULTS)
    hidden, intermediate = cfg.integer("hidden_size"), cfg.integer("intermediate_size")
    heads, ssm, biases = read_heads(cfg, hidden), read_mamba1(cfg, hidden), read_biases(cfg)
    attends = Mixing((full(heads),), attention(hidden, heads))
    recurs = Mixing((ssm,), mamba1("mamba", hidden, ssm, biases, inner_norms=True))
    dense = FeedForward(DenseFfn(intermediate), gated_mlp(hidden, intermediate, name="feed_forward"))
    sparse = _mixture(cfg, hidden, intermediate) or dense
    layers = mixed_layers(
        [attends if here else recurs for here in _every(cfg, "attn_layer", period=8, offset=4)],
        [sparse if here else dense for here in _every(cfg, "expert_layer", period=2, offset=1)],
        (*norm("input_layernorm", hidden), *norm("pre_ff_layernorm", hidden)),
    )
    scan = selective_scan(ssm, residual="3H", inner_norms=True)
    form = ActivationForm(states=(scan,), constant_bytes=decays(ssm), checked=True)
    return assemble(cfg, layers, Style(), form)


def _mixture(cfg: Config, hidden: int, intermediate: int) -> FeedForward | None:
    """The mixture of experts; None where there is one expert, which makes it a dense feed-forward."""
    n_experts = cfg.integer("num_experts", "num_local_experts", default=16, least=0)
    if n_experts < 2:
        return None
    ffn = MoeFfn(n_experts, experts_per_token(cfg, "num_experts_per_tok", of=n_experts, default=2), intermediate)
    return FeedForward(ffn, moe(hidden, ffn, _MOE))


def _every(cfg: Config, name: str, *, period: int, offset: int) -> list[bool]:
    """For each layer, whether it is the one at ``offset`` in its period."""
    period = cfg.integer(f"{name}_period", default=period)
    offset = cfg.integer(f"{name}_offset", default=offset, least=0)
    if offset >= period:
        raise cfg.error(f"{name}_offset", f"expected less than {name}_period = {period}, found {offset}")
    return [i % period == offset for i in range(cfg.n_layers())]
