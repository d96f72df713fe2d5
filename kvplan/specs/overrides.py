"""A model as its config would have been with other values: what a command puts over the positions that the model's files name."""

import json

from kvplan.core.model import ModelSpec
from kvplan.core.remembered import Remembered
from kvplan.specs.config import Config
from kvplan.specs.serving import NESTED, scalings

_FOLLOWED = ("rope_scaling", "rope_parameters", "rope_theta", "max_position_embeddings")
_found: Remembered[ModelSpec] = Remembered(64)


def overridden(spec: ModelSpec, said: str) -> ModelSpec:
    """``spec`` with the positions that ``said``, a JSON object of config keys, gives it; the same object for the same words.

    Raises ConfigError for values that no config holds.
    """
    return _found.get(spec, (said,), lambda: _overridden(spec, Config(json.loads(said), where="the command")))


def unfollowed(said: str) -> tuple[str, ...]:
    """The keys that bear on more than positions, which stay as the model's files have them."""
    given = json.loads(said)
    parts = [(f"{key}." if key else "", given.get(key) if key else given) for key in NESTED]
    keys = [(path, name) for path, part in parts if isinstance(part, dict) for name in part]
    return tuple(f"{path}{name}" for path, name in keys if name not in (*_FOLLOWED, *NESTED))


def _overridden(spec: ModelSpec, cfg: Config) -> ModelSpec:
    for place in [place for key in NESTED if (place := cfg.sub(key) if key else cfg).data]:
        if place.names("rope_scaling") or place.names("rope_parameters"):
            spec = spec._replace(rope=tuple(dict.fromkeys(scalings(place, spec))))
        if place.has("max_position_embeddings"):
            spec = spec._replace(max_ctx_tokens=place.integer("max_position_embeddings"))
    return spec
