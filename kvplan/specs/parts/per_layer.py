"""Configs whose layers differ: ``per_layer_config``, a sparse mapping from layer to the keys that it overrides.

Source: transformers 5.24 integrations/heterogeneity/configuration_utils.py.
"""

from collections.abc import Collection

from kvplan.specs.config import Config


def overrides(cfg: Config, n_layers: int, known: Collection[str]) -> tuple[dict[str, object], ...]:
    """What each layer overrides, nothing for most.

    Raises ConfigError for a key that is no layer, and where a layer overrides what is not ``known``.
    """
    found: list[dict[str, object]] = [{} for _ in range(n_layers)]
    inner = cfg.sub("per_layer_config")
    for key in inner.data:
        if not key.isdecimal() or int(key) >= n_layers:
            raise inner.error(key, f"expected the index of one of {n_layers} layers")
        layer = inner.sub(key)
        strange = next((name for name in layer.data if name not in known and layer.data[name] not in (None, [])), None)
        if strange is not None:
            raise layer.error(strange, f"expected only {', '.join(sorted(known))} to differ between layers")
        found[int(key)] = dict(layer.data)
    return tuple(found)
