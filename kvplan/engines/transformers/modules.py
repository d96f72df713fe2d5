"""A model as the tree of modules that Transformers splits over devices: what each holds, and which of them stay whole.

Source: transformers 5.24 models/*/modeling_*.py, ``_no_split_modules`` and the order in which ``__init__`` makes its modules.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kvplan.core.model import ModelSpec, WeightGroup
from kvplan.engines.transformers.skeletons import DECODER, KNOWN, LIST, ROTARY, SCALED, TOWERS

FLOAT32 = 4
REST = "towers"
"""What no skeleton names: encoders and projectors, in front of the decoder."""


class Module(NamedTuple):
    """``size`` are the bytes that the split counts, buffers among them, of tied weights none; ``held`` are those of weights alone.

    ``leaf`` is the largest module inside that has tensors of its own. ``run`` and ``layer`` are those of a decoder layer.
    """

    name: str
    size: int
    held: int
    leaf: int
    children: tuple["Module", ...] = ()
    run: int | None = None
    layer: int | None = None

    def whole(self) -> Iterator["Module"]:
        """The modules inside that are not split any further, in order."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.whole()


class Tree(NamedTuple):
    """The modules of the model itself, and names of modules that share a weight and so stay together.

    ``known`` is False where nobody compared the order of modules with Transformers' own.
    """

    roots: tuple[Module, ...]
    ties: tuple[tuple[str, ...], ...]
    known: bool

    @property
    def size(self) -> int:
        """Bytes of all modules."""
        return sum(root.size for root in self.roots)

    def whole(self) -> Iterator[Module]:
        """All modules that are not split any further, in order."""
        for root in self.roots:
            yield from root.whole()


def tree(model: ModelSpec, dtype: str) -> Tree:
    """The modules of ``model`` with its weights in ``dtype``; what no skeleton names stands in front of the decoder."""
    skeleton = KNOWN.get(model.model_type, DECODER)
    builder = _Builder(model, dtype)
    roots = tuple(builder.module(part, "") for part in _parsed(skeleton))
    inner = roots[0]
    rest = builder.rest(f"{inner.name}.{REST}")
    if rest is not None:
        inner = _joined(inner.name, (rest, *inner.children))
    ties = tuple(
        (builder.paths[_stem(group.tied_to)], builder.paths[_stem(group.name)])
        for group in model.weights
        if group.tied_to and _stem(group.tied_to) in builder.paths and _stem(group.name) in builder.paths
    )
    return Tree((inner, *roots[1:]), ties, known=model.model_type in (KNOWN if rest is None else TOWERS))


Part = tuple[str, tuple["Part", ...]]


def _parsed(text: str) -> tuple[Part, ...]:
    """``a(b c) d`` as nested parts."""
    stack: list[list[Part]] = [[]]
    names: list[str] = []
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            names.append(stack[-1].pop()[0])
            stack.append([])
        elif word == ")":
            inside = tuple(stack.pop())
            stack[-1].append((names.pop(), inside))
        else:
            stack[-1].append((word, ()))
    return tuple(stack[0])


class _Builder:
    """Hands out each weight group to the module that the skeleton has for it."""

    def __init__(self, model: ModelSpec, dtype: str) -> None:
        self._model, self._dtype = model, dtype
        self._left: dict[str, list[WeightGroup]] = {}
        for group in model.weights:
            self._left.setdefault(_stem(group.name), []).append(group)
        self.paths: dict[str, str] = {}

    def module(self, part: Part, prefix: str) -> Module:
        """The module of one part of the skeleton."""
        stem, inside = part
        path = f"{prefix}.{stem}" if prefix else stem
        if inside:
            return _joined(path, tuple(self.module(child, path) for child in inside))
        if stem == LIST:
            return _joined(path, tuple(self._layers(path)))
        self.paths[stem] = path
        held = sum(group.run_bytes(self._dtype) for group in self._left.pop(stem, []))
        size = held + self._buffers(stem)
        return Module(path, size, held, size)

    def _buffers(self, stem: str) -> int:
        """Tables of the rotation, as computed and once more as they came; a scale of the embedding."""
        form = self._model.form
        if stem == ROTARY:
            return 2 * FLOAT32 * (form.rotary_dim or 0) // 2 * form.rope_tables
        return SCALED.get(self._model.model_type, 0) if stem == "embed_tokens" else 0

    def _layers(self, path: str) -> Iterator[Module]:
        index = 0
        for i, run in enumerate(self._model.runs):
            held = sum(group.run_bytes(self._dtype) for group in run.layer.weights)
            leaf = max(_leaves(run.layer.weights, self._dtype).values(), default=0)
            for _ in range(run.n_layers):
                yield Module(f"{path}.{index}", held, held, leaf, (), i, index)
                index += 1

    def rest(self, path: str) -> Module | None:
        """What is left: each matrix of the towers a module, as far as the groups tell them apart."""
        found = []
        for groups in self._left.values():
            for group in groups:
                each = group.run_bytes(self._dtype) // max(1, group.n_copies)
                found += [Module(f"{path}.{group.name}.{i}", each, each, each) for i in range(group.n_copies)]
        self._left.clear()
        return _joined(path, tuple(found)) if any(module.size for module in found) else None


def _joined(path: str, children: tuple[Module, ...]) -> Module:
    size, held = sum(child.size for child in children), sum(child.held for child in children)
    return Module(path, size, held, max((child.leaf for child in children), default=0), children)


def _stem(name: str) -> str:
    """The module that a weight of this name belongs to."""
    return name.removesuffix(".weight").removesuffix(".bias").partition(".")[0]


def _leaves(weights: tuple[WeightGroup, ...], dtype: str) -> Mapping[str, int]:
    """Bytes of each module with tensors of its own: all experts are one."""
    sizes: dict[str, int] = {}
    for group in weights:
        stem = "experts" if group.role == "expert" else group.name.removesuffix(".weight").removesuffix(".bias")
        sizes[stem] = sizes.get(stem, 0) + group.run_bytes(dtype)
    return sizes
