"""Which modules a quantization left alone: exact names, globs (``*self_attn*``) and regular expressions (``re:…``)."""

import fnmatch
import re
from collections.abc import Sequence

# Checkpoints and kvplan's weight groups call some modules differently.
_RENAMED = (("block_sparse_moe", "mlp"), ("feed_forward", "mlp"), ("ffn", "mlp"), ("shared_experts", "shared_expert"))
_ROOTS = re.compile(r"^(?:(?:model|language_model|transformer|backbone)\.)+")
_OF_LAYER = re.compile(r"^layers\.(\d+)(?:\.|\*|$)")


class Ignored:
    """Patterns sorted by the layer they speak of, so that a long list stays quick to ask."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """``patterns`` as they stand in quantization_config."""
        self._by_layer: dict[int, list[re.Pattern[str]]] = {}
        self._general: list[re.Pattern[str]] = []
        for pattern in patterns:
            plain = _plain(pattern)
            found = _OF_LAYER.match(plain)
            (self._by_layer.setdefault(int(found[1]), []) if found else self._general).append(_compiled(pattern, plain))

    def covers(self, name: str, layer: int) -> bool:
        """Whether the weight group ``name`` of that layer is left alone."""
        path = _renamed(f"layers.{layer}.{name}").removesuffix(".weight")
        candidates = self._by_layer.get(layer, [])
        return any(pattern.match(path) for pattern in (*candidates, *self._general))


def _compiled(pattern: str, plain: str) -> re.Pattern[str]:
    if pattern.startswith("re:"):
        return re.compile(rf"(?:{_renamed(pattern[3:])})")
    if "*" in plain:
        return re.compile(fnmatch.translate(plain if plain.startswith("*") else f"{plain}*"))
    inside = re.escape(plain)
    return re.compile(rf"^(?:layers\.\d+\.)?(?:.*\.)?{inside}(?:\.|$)")


def _plain(pattern: str) -> str:
    return _renamed(_ROOTS.sub("", pattern))


def _renamed(path: str) -> str:
    for theirs, ours in _RENAMED:
        path = path.replace(theirs, ours)
    return path
