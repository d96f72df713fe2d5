"""What a checkpoint holds of a model, and what besides: each tensor's part and role, told by its name, shape and the spec."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kvplan.core.checkpoint import Checkpoint, Part, Tensor, summed
from kvplan.core.model import ModelSpec
from kvplan.core.roles import ENDS, TOWERS, Role
from kvplan.specs.tensor_names import layer_of, part_and_role, pattern_of

Placed = tuple[Part, Role, Tensor]

_APART: tuple[Role, ...] = (*TOWERS, "encoder")
_HEAD = re.compile(r"(?:^|\.)lm_head\.q?weight")
_DECODER = re.compile(r"(?:^|\.)decoder\.(?:layers?|blocks?)\.")
_SPEAKERS = re.compile(r"(?:talker|token2wav|code2wav)\.")
_NUMBERED = re.compile(r"\.\d+\.")
_CORRECTION = re.compile(r"(e_score_)?correction_bias|expert_bias|router_bias")
_COUNTS = ("int64", "bool")
"""What unquantized parameters never are: tables of indices and masks."""
_MASK_DIMS, _EXPERT_DIMS = 4, 3


def checkpoint_of(spec: ModelSpec, tensors: Sequence[Tensor], n_files: int, file_bytes: int) -> Checkpoint:
    """The safetensors checkpoint of ``spec`` whose headers list ``tensors``; ``file_bytes`` is what its files take."""
    patterns = [pattern_of(tensor.name) for tensor in tensors]
    reader = _Reader(spec, two_sided=any(_DECODER.search(pattern) for pattern in set(patterns)))
    placed = reader.without_copies([reader.placed(tensor, pattern) for tensor, pattern in zip(tensors, patterns, strict=True)])
    total = sum(tensor.n_bytes for tensor in tensors)
    return Checkpoint("safetensors", "headers", n_files, file_bytes, total, summed(placed))


class _Reader:
    """What of a spec decides where a tensor belongs."""

    def __init__(self, spec: ModelSpec, *, two_sided: bool) -> None:
        """``two_sided``: the files hold a decoder by that name, so that an encoder is not the model itself."""
        self._told: dict[tuple[str, str, int, bool], tuple[Part, Role]] = {}
        groups = list(spec.groups())
        roles = {group.role for group in groups}
        self._quantized = spec.quantization is not None
        self._n_layers = spec.n_layers
        self._has_tower = bool(roles.intersection(TOWERS)) or any(caveat.rule == "KV009" for caveat in spec.caveats)
        self._has_encoder = self._has_tower or "encoder" in roles or not two_sided
        self._roots = {group.name.partition(".")[0] for group in spec.weights}
        self._params = {_leaf(group.name) for group in groups if group.role != "scale"}
        self._kept = {_leaf(group.name) for group in groups if group.role == "scale"}
        biased = any(group.role == "router" and group.name.endswith(".bias") for group in groups)
        self._corrects = not biased and self._is_kept("expert_bias")  # some files call the correction a bias
        self._ties_head = any(group.role == "lm_head" and group.tied_to for group in groups)
        self._tables = _tables(spec)
        self._heads = {
            group.rows * group.cols for group in spec.weights if group.role == "lm_head" and group.cols > 1 and not group.tied_to
        }

    def placed(self, tensor: Tensor, pattern: str) -> Placed:
        """Part and role of one tensor, copies of shared ones not yet told apart; tensors of one pattern differ in their layer."""
        key = (pattern, tensor.dtype, len(tensor.shape), tensor.shape[:2] == (1, 1))
        told = self._told.get(key)
        if told is None:
            told = self._told[key] = self._classified(tensor, pattern)
        part, role = told
        if part == "model" and role not in _APART and self._is_behind(tensor.name):
            part = "mtp"
        return part, role, tensor

    def _classified(self, tensor: Tensor, pattern: str) -> tuple[Part, Role]:
        leaf = _leaf(tensor.name)
        if leaf == "bias" and len(tensor.shape) == _MASK_DIMS and tensor.shape[:2] == (1, 1):
            return "buffer", "other"  # a causal mask: biases have one dimension, those of experts two
        part, role = part_and_role(pattern, scales=self._quantized)
        if role == "scale" and leaf in self._params and leaf not in self._kept:
            part, role = part_and_role(pattern, scales=False, kept=False)
        elif part != "buffer" and self._is_no_parameter(tensor, leaf, role):
            role = "scale"
        elif role == "mlp" and len(tensor.shape) == _EXPERT_DIMS:
            role = "expert"
        return ("tower" if part == "model" and not self._builds(pattern, role) else part), role

    def _is_no_parameter(self, tensor: Tensor, leaf: str, role: Role) -> bool:
        """Whether the model loads it without counting it."""
        counts = tensor.dtype in _COUNTS and not self._quantized
        return counts or self._is_kept(leaf) or (role == "router" and leaf == "bias" and self._corrects)

    def _is_kept(self, leaf: str) -> bool:
        return leaf in self._kept and leaf not in self._params

    def _builds(self, pattern: str, role: Role) -> bool:
        """Whether the model's class has what the tensor is of: a voice, a tower, an encoder."""
        if _SPEAKERS.match(pattern):
            return pattern.partition(".")[0] in self._roots
        return self._has_tower if role in TOWERS else self._has_encoder or role != "encoder"

    def _is_behind(self, name: str) -> bool:
        """Whether the tensor is in a layer behind the model's last: next-token layers go on counting."""
        layer = layer_of(name)
        return layer is not None and layer >= self._n_layers and not _SPEAKERS.match(name)

    def without_copies(self, placed: list[Placed]) -> Iterator[Placed]:
        """``placed``, with tables that the model has once and the files again as part ``tied``; outputs are told first."""
        extra = self._extra(placed)
        table = any(part == "model" and role == "embedding" for part, role, _ in placed)
        for part, role, tensor in placed:
            head = "lm_head." in tensor.name and (role == "scale" or _HEAD.search(tensor.name) is not None)
            copied = tensor.name in extra or (self._ties_head and table and head)
            yield "tied" if part == "model" and copied else part, role, tensor

    def _extra(self, placed: Iterable[Placed]) -> set[str]:
        """Names of tables that are stored more often than the model has them."""
        stored: dict[int, list[tuple[bool, bool, str]]] = {}
        for part, role, tensor in placed:
            table = len(tensor.shape) == 2 and tensor.n_elems in self._tables and not _NUMBERED.search(tensor.name)
            if table and part == "model" and role not in (*TOWERS, "scale"):
                inner = "encoder" in tensor.name or "decoder" in tensor.name
                stored.setdefault(tensor.n_elems, []).append((role == "lm_head", inner, tensor.name))
        padded = 0 if self._heads.issubset(stored) else 1  # an output projection as large as the embeddings, of which rows are unused
        return {name for n, tables in stored.items() for _, _, name in sorted(tables)[max(1, self._tables[n]) + padded :]}


def _leaf(name: str) -> str:
    """The name's last part; what corrects routing scores goes by many."""
    leaf = name.rpartition(".")[2]
    return "expert_bias" if _CORRECTION.fullmatch(leaf) else leaf


def _tables(spec: ModelSpec) -> Counter[int]:
    """How many matrices the model has outside its layers of each size that a table of tokens has."""
    matrices = [group for group in spec.weights if group.cols > 1 and group.role not in TOWERS]
    sizes = {group.rows * group.cols for group in matrices if group.role in ENDS or "embed" in group.name}
    return Counter({n: sum(g.n_copies for g in matrices if g.rows * g.cols == n and not g.tied_to) for n in sizes})
