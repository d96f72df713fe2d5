"""Models wrapped around a language model: the inner config is built by the family that it names itself."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from kvplan import _discover
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.storage import named_dtype

ARCHS = "kvplan.specs.archs"
DEFAULTS = Path(__file__).with_name("class_defaults.tsv")


def language_model(
    cfg: Config, key: str = "text_config", *, default_type: str = "", kind: str = "", like: str = "", tied: bool | None = None
) -> ModelSpec:
    """The ModelSpec of the config at ``key``, as ``text_model`` builds it.

    What the inner config leaves out of tying is read from the outer one where ``tied`` doesn't say.
    Raises ConfigError for a missing inner config or a family that no adapter claims.
    """
    inner = text_config(cfg, key)
    if tied is None and cfg.has("tie_word_embeddings") and "tie_word_embeddings" not in inner.data:
        tied = cfg.flag("tie_word_embeddings")
    return text_model(inner, default_type=default_type, kind=kind, like=like, tied=tied)


def text_config(cfg: Config, key: str = "text_config") -> Config:
    """The config at ``key``. Raises ConfigError where there is none."""
    inner = cfg.sub(key)
    if not inner.data:
        raise cfg.error(key, "missing: expected the language model's config")
    return inner


def text_model(inner: Config, *, default_type: str = "", kind: str = "", like: str = "", tied: bool | None = None) -> ModelSpec:
    """The ModelSpec of ``inner``: of the ``kind`` that its wrapper fixes, else of its ``model_type``, else of ``default_type``.

    Keys that it omits have the defaults of that type's configuration class, since configs nested in others are saved
    without them. ``like`` names the family whose blocks the type shares, where no adapter claims the type itself.
    ``tied`` overrides the inner config's word on tied embeddings: the class around it owns the output projection,
    which has no bias there. Raises ConfigError for a family that no adapter claims.
    """
    model_type = kind or inner.text("model_type", default=default_type)
    module = _discover.claimant(ARCHS, "MODEL_TYPES", like or model_type)
    if module is None:
        raise inner.error("model_type", f"unknown architecture '{model_type}' of the language model inside")
    data = {**with_class_defaults(inner.data, model_type), "model_type": like or model_type}
    if tied is not None:
        data["tie_word_embeddings"] = tied
    spec: ModelSpec = module.build(Config(data, where=inner.where, path=inner.path))
    unbiased = tuple(group for group in spec.weights if group.name != "lm_head.bias")
    return spec._replace(weights=unbiased, stored_dtype=named_dtype(inner))


def inner_or_flat(cfg: Config, key: str = "text_config") -> Config:
    """The config at ``key``, or ``cfg`` itself for files of the days when the language model's keys stood at the top.

    Raises ConfigError where they stand in neither place.
    """
    if cfg.has(key):
        return cfg.sub(key)
    if not cfg.has("hidden_size"):
        raise cfg.error(key, "missing: expected the language model's config")
    outer = ("model_type", "architectures", "tie_word_embeddings")
    own = {name: value for name, value in cfg.data.items() if name not in outer}
    return Config(own, where=cfg.where, path=cfg.path)


def filled(inner: Config, model_type: str) -> Config:
    """``inner`` with the defaults of the configuration class of ``model_type``."""
    return Config({**with_class_defaults(inner.data, model_type), "model_type": model_type}, where=inner.where, path=inner.path)


def amended(cfg: Config, **values: object) -> Config:
    """``cfg`` with ``values`` in place of its own: what a class derives or fixes whatever its config says."""
    return Config({**cfg.data, **values}, where=cfg.where, path=cfg.path)


def with_class_defaults(data: Mapping[str, object], model_type: str) -> dict[str, object]:
    """``data`` and what the configuration class of ``model_type`` has for keys that are not there, under its own names."""
    defaults, aliases = _class_defaults(model_type)
    renamed = {field: data[alias] for alias, field in aliases.items() if alias in data and field not in data}
    return {**defaults, **renamed, **data}


@cache
def _class_defaults(model_type: str) -> tuple[dict[str, object], dict[str, str]]:
    """Defaults and aliases from the table of types whose adapters know none, or that have no adapter of their own.

    Source: transformers 5.24 models/*/configuration_*.py.
    """
    wanted = f"{model_type}\t"
    with DEFAULTS.open(encoding="utf-8") as file:
        line = next((line for line in file if line.startswith(wanted)), None)
    if line is None:
        return {}, {}
    _, defaults, aliases = line.split("\t")
    return json.loads(defaults), json.loads(aliases)
