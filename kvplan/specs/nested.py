"""Models wrapped around a language model: the inner config is built by the family that it names itself."""

from kvplan import _discover
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config

ARCHS = "kvplan.specs.archs"


def language_model(cfg: Config, key: str = "text_config", *, default_type: str = "") -> ModelSpec:
    """The ModelSpec of the config at ``key``, whose ``model_type`` is ``default_type`` where it names none.

    What the inner config leaves out of tying is read from the outer one, as Transformers does.
    Raises ConfigError for a missing inner config or a family that no adapter claims.
    """
    inner = cfg.sub(key)
    model_type = inner.text("model_type", default=default_type)
    if not inner.data:
        raise cfg.error(key, "missing: expected the language model's config")
    module = _discover.claimant(ARCHS, "MODEL_TYPES", model_type)
    if module is None:
        raise inner.error("model_type", f"unknown architecture '{model_type}' inside '{cfg.text('model_type', default='?')}'")
    data = {**inner.data, "model_type": model_type}
    if cfg.has("tie_word_embeddings") and "tie_word_embeddings" not in data:
        data["tie_word_embeddings"] = cfg.data["tie_word_embeddings"]
    spec: ModelSpec = module.build(Config(data, where=inner.where, path=inner.path))
    return spec
