"""RWKV-4: attention as a running average per channel, no key-value cache.

Source: transformers 5.24 models/rwkv; Peng et al. 2023, arXiv:2305.13048 §3.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import Rwkv
from kvplan.core.model import DenseFfn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.state_space import per_channel

MODEL_TYPES = ("rwkv",)

_DEFAULTS: dict[str, object] = {"vocab_size": 50277, "hidden_size": 4096, "num_hidden_layers": 32, "context_length": 1024}


def build(cfg: Config) -> ModelSpec:
    """Equal layers, but for one more norm before the first. ``context_length`` is the trained length."""
    cfg = completed(cfg, _DEFAULTS)
    hidden = cfg.integer("hidden_size")
    wide = cfg.integer("attention_hidden_size", default=hidden)
    intermediate = cfg.integer("intermediate_size", default=4 * hidden)
    norms = (*norm("ln1", hidden, bias=True), *norm("ln2", hidden, bias=True))
    weights = (*norms, *_time_mixing(hidden, wide), *_channel_mixing(hidden, intermediate))
    layer = Layer((Rwkv(hidden, wide, 1, normalizer=2),), (DenseFfn(intermediate, gated=False),), weights)
    first = layer._replace(weights=(*norm("pre_ln", hidden, bias=True), *weights))
    spec = assemble(cfg, [first, *[layer] * (cfg.n_layers() - 1)], Style(norm_bias=True), ActivationForm(norm="5H"))
    return spec._replace(max_ctx_tokens=cfg.integer("max_position_embeddings", "context_length"))


def _time_mixing(hidden: int, wide: int) -> Groups:
    """Decay and first-token bonus per channel, mixing factors, and four projections."""
    return (
        *per_channel("attention", "time_decay", "time_first", rows=wide),
        *(group for part in ("key", "value", "receptance") for group in _factors("attention", part, hidden)),
        *(
            group
            for part in ("key", "value", "receptance")
            for group in linear(f"attention.{part}", wide, hidden, role="mixer", shard="column")
        ),
        *linear("attention.output", hidden, wide, role="mixer", shard="row"),
    )


def _channel_mixing(hidden: int, intermediate: int) -> Groups:
    """A feed-forward of two projections, gated by a third of the model's width."""
    return (
        *(group for part in ("key", "receptance") for group in _factors("feed_forward", part, hidden)),
        *linear("feed_forward.key", intermediate, hidden, role="mlp", shard="column"),
        *linear("feed_forward.receptance", hidden, hidden, role="mlp"),
        *linear("feed_forward.value", hidden, intermediate, role="mlp", shard="row"),
    )


def _factors(name: str, part: str, hidden: int) -> Groups:
    """How much of the previous token a projection sees, per channel."""
    return tuple(group._replace(shard="replicated") for group in per_channel(name, f"time_mix_{part}", rows=hidden))
