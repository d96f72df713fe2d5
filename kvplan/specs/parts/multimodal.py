"""Language models with towers: which tower a config names, the projectors between them, and the sum of the parts."""

from itertools import pairwise

from kvplan import _discover
from kvplan.core.model import Caveat, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear
from kvplan.specs.parts.tower import Tower

TOWERS = "kvplan.specs.towers"


def tower(cfg: Config, key: str = "vision_config", *, kind: str) -> Tower:
    """The tower of the config at ``key``, always of this ``kind``, whatever model_type it names.

    An absent config is one of defaults alone. Raises ConfigError for wrong values.
    """
    inner = cfg.sub(key)
    module = _discover.claimant(TOWERS, "MODEL_TYPES", kind)
    if module is None:
        raise inner.error("model_type", f"unknown tower '{kind}': its weights can't be counted from this file")
    found: Tower = module.build(Config({**inner.data, "model_type": kind}, where=inner.where, path=inner.path))
    return found


def any_tower(cfg: Config, key: str = "vision_config", *, default: str) -> Tower:
    """The tower of the config at ``key``, of the kind it names itself or else ``default``."""
    return tower(cfg, key, kind=cfg.sub(key).text("model_type", default=default))


def joined(text: ModelSpec, *parts: Groups, caveats: tuple[Caveat, ...] = ()) -> ModelSpec:
    """``text`` with ``parts`` beside it; with ``caveats`` the count is marked inexact.

    Forms were traced in classes that see; those that hear hand back logits of their own.
    """
    weights = (*text.weights, *(group for groups in parts for group in groups))
    hears = any(group.role == "audio" for group in weights)
    form = text.form._replace(checked=text.form.checked and not hears)
    return text._replace(form=form, weights=weights, exact=text.exact and not caveats, caveats=(*text.caveats, *caveats))


def mlp_projector(*widths: int, bias: bool = True, name: str = "linear_") -> Groups:
    """Linear layers from each width to the next: a multi-layer perceptron between a tower and the language model."""
    steps = enumerate(pairwise(widths), start=1)
    return tuple(group for i, (n_in, n_out) in steps for group in linear(f"{name}{i}", n_out, n_in, role="projector", bias=bias))


def tied_to_text(cfg: Config, *, default: bool) -> bool | None:
    """Whether the outer config ties the output projection to the embeddings; None, the inner config's own say, where it doesn't.

    For classes that take ``tie_word_embeddings`` from the text config unless they say true themselves.
    """
    return cfg.flag("tie_word_embeddings", default=default) or None


def n_feature_layers(cfg: Config, *, default: int) -> int:
    """How many layers of the tower feed the projector."""
    key = next((key for key in ("vision_feature_layer", "vision_feature_layers") if isinstance(cfg.data.get(key), list)), None)
    if key:
        return len(cfg.integers(key, least=-(2**10)))
    return 1 if cfg.has("vision_feature_layer") or cfg.has("vision_feature_layers") else default
