"""Which modules a quantization names: exact names, globs (``*self_attn*``) and regular expressions (``re:…``).

Checkpoints and kvplan's weight groups call some modules differently, and number experts that kvplan holds as one group:
both sides are brought to one spelling, ``layers.3.mlp.experts.gate_proj``.
"""

import fnmatch
import re
from collections.abc import Iterable
from typing import NamedTuple

from kvplan.core.model import WeightGroup

_RENAMED = (
    ("block_sparse_moe", "mlp"),
    ("feed_forward", "mlp"),
    ("ffn", "mlp"),
    ("shared_experts", "shared_expert"),
    ("indexers_proj", "indexer.weights_proj"),
    ("experts.w1", "experts.gate_proj"),
    ("experts.w2", "experts.down_proj"),
    ("experts.w3", "experts.up_proj"),
)
_ATTENTION = re.compile(r"(?<![\w])attn(?![\w])")
_ROOTS = re.compile(r"^(?:(?:model|language_model|transformer|backbone)\.)+")
_SPELLED_ROOTS = ("", "model.", "model.language_model.", "language_model.model.", "backbone.", "transformer.")
_OF_LAYER = re.compile(r"^layers\.(\d+)(?:\.|\*|$)")
_TELLS_LAYERS = re.compile(r"layers|\d")
_NUMBERED = re.compile(r"\bexperts\.\d+(?=\.|$)")


class Site(NamedTuple):
    """A weight group at its place: its layer, None outside the layers, and ``mtp``, which next-token layer that is, if one."""

    group: WeightGroup
    layer: int | None = None
    mtp: int | None = None

    def paths(self) -> tuple[str, ...]:
        """The names that the module may have; next-token layers go on counting, or count from 0 under a root of their own."""
        if self.layer is None:
            return (module_name(self.group.name),)
        roots = [f"layers.{self.layer}"]
        if self.mtp is not None:
            roots += [f"mtp.layers.{self.mtp}", f"mtp.{self.mtp}", "mtp"]
        return tuple(module_name(f"{root}.{self.group.name}") for root in roots)


class Named:
    """Patterns, sorted so that a long list stays quick to ask."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """``patterns`` as they stand in quantization_config. Raises re.error for one that is no regular expression."""
        self._plain: set[str] = set()
        self._globs: dict[int | None, list[re.Pattern[str]]] = {}
        self._regexes: list[re.Pattern[str]] = []
        for pattern in patterns:
            plain = _renamed(_ROOTS.sub("", pattern))
            if pattern.startswith("re:"):
                self._regexes.append(re.compile(_renamed(pattern[3:])))
            elif "*" in plain:
                found = _OF_LAYER.match(plain)
                glob = "|".join(map(fnmatch.translate, (plain, f"{plain}.*")))  # the modules, and what stands in them
                # a star after the layer's own number is for that layer and for those whose number begins so
                layer = int(found[1]) if found and not plain.startswith(f"layers.{found[1]}*") else None
                self._globs.setdefault(layer, []).append(re.compile(glob))
            else:
                self._plain.add(module_name(plain))

    @property
    def by_layer(self) -> bool:
        """Whether a pattern may name a module in one layer and not in the next: it speaks of layers or holds a number."""
        told = (*self._plain, *(regex.pattern for regex in self._regexes), *(glob.pattern for glob in self._globs.get(None, ())))
        return any(layer is not None for layer in self._globs) or any(_TELLS_LAYERS.search(pattern) for pattern in told)

    def cover(self, site: Site) -> bool:
        """Whether one of the patterns names the module of ``site``, or one that it stands in."""
        return any(self._listed(path) or self._globbed(path, site.layer) or self._spelled(path) for path in site.paths())

    def _listed(self, path: str) -> bool:
        parts = path.split(".")
        spans = ((i, j) for i in range(len(parts)) for j in range(i + 1, len(parts) + 1))
        # "layers.0.…" inside "mtp.layers.0.…" is another layer than the model's first
        return any(".".join(parts[i:j]) in self._plain for i, j in spans if i == 0 or parts[i] != "layers")

    def _globbed(self, path: str, layer: int | None) -> bool:
        return any(glob.match(path) for key in {layer, None} for glob in self._globs.get(key, ()))

    def _spelled(self, path: str) -> bool:
        """Regular expressions may be anchored at the model's root and may count experts."""
        if not self._regexes:
            return False
        spellings = {f"{root}{name}" for root in _SPELLED_ROOTS for name in (path, path.replace(".experts.", ".experts.0."))}
        return any(regex.match(spelling) for regex in self._regexes for spelling in spellings)


def module_name(name: str) -> str:
    """One spelling of a module's or a tensor's name, without the model's root and the numbers of experts."""
    return _renamed(_NUMBERED.sub("experts", _ROOTS.sub("", name))).removesuffix(".weight")


def _renamed(path: str) -> str:
    for theirs, ours in _RENAMED:
        path = path.replace(theirs, ours)
    return _ATTENTION.sub("self_attn", path)
