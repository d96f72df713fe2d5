"""Layers that share a block table: groups of equal width, padded where the counts don't divide."""

from collections.abc import Sequence
from typing import NamedTuple

from kvplan.core.units import ceil_div
from kvplan.engines.vllm.packed import packed
from kvplan.engines.vllm.pages import Placed
from kvplan.engines.vllm.slots import Kind, Slot


class CannotUnify(Exception):
    """The layers can't share one pool; the text is vLLM's."""


class Group(NamedTuple):
    """Layers that share a block table. ``slots`` are the distinct ones among them."""

    members: tuple[Placed, ...]
    slots: tuple[Slot, ...]

    def bytes_on(self, stage: int) -> int:
        """Bytes of one block on a pipeline stage."""
        return sum(member.slot.page_bytes for member in self.members if member.stage == stage)


def group(members: Sequence[Placed], *, hybrid_manager: bool, ratio: float, side_by_side: bool = False) -> tuple[Group, ...]:
    """The groups, in vLLM's order; ``ratio`` 0 where the version has none and keeps states apart. Raises CannotUnify.

    ``side_by_side``: the cache's layout lets pages of different sizes lie beside each other in a block.

    Source: vllm 0.33 v1/core/kv_cache_planning.py, get_kv_cache_groups.
    """
    if not ratio:
        members = [member for member in members if member.slot.kind not in ("state", "block_state")]
    if not members:
        return ()
    if not hybrid_manager or not ratio:
        members = _promoted(members)
    if _uniform(members):
        return (_of(members),)
    if side_by_side:
        return tuple(_of(part) for part in packed(_alike(members)))
    return _by_slot(_one_page_size(members), ratio)


def _alike(members: Sequence[Placed]) -> list[list[Placed]]:
    found: dict[object, list[Placed]] = {}
    for member in members:
        found.setdefault(_type(member.slot), []).append(member)
    return list(found.values())


def _of(members: Sequence[Placed]) -> Group:
    return Group(tuple(members), tuple(dict.fromkeys(member.slot for member in members)))


def _uniform(members: Sequence[Placed]) -> bool:
    """Whether all need the same number of token slots: one kind, block size and window."""
    return len({_type(member.slot) for member in members}) == 1


def _type(slot: Slot) -> tuple[str, int, int, int, bool]:
    kind = "full" if slot.kind == "mla" else slot.kind  # a latent's spec is a full one's subclass
    return kind, slot.block_tokens, slot.window_tokens, slot.page_bytes if "state" in kind else 0, slot.spread


def _promoted(members: Sequence[Placed]) -> list[Placed]:
    """Windows kept as if they were full, where the manager of several kinds is off.

    Source: vllm 0.33 kv_cache_planning.py, _promote_local_kv_cache_specs.
    """
    if not _uniform(members) and any(member.slot.kind in ("full", "mla") for member in members):
        members = [_full(member) if member.slot.kind in ("sliding", "chunked") else member for member in members]
    if not _uniform(members):
        raise CannotUnify("Failed to promote local KV cache specs to one unified type.")
    return list(members)


def _full(member: Placed) -> Placed:
    kind: Kind = "mla" if member.slot.shape[:1] == ("mla",) else "full"
    return member._replace(slot=member.slot._replace(kind=kind, window_tokens=0))


def _one_page_size(members: Sequence[Placed]) -> list[Placed]:
    """All pages as large as the largest: more tokens in a block where that comes out even, padding where not."""
    largest = max(member.slot.page_bytes for member in members)
    if any(member.slot.shape[:1] in (("mla",), ("indexer",)) and largest % member.slot.page_bytes for member in members):
        return _all_full(members)
    if all(member.slot.page_bytes == largest for member in members):
        return list(members)
    grown = {slot: _grown(slot, largest) for slot in {member.slot for member in members}}
    return [member._replace(slot=grown[member.slot]) for member in members]


def _grown(slot: Slot, page_bytes: int) -> Slot:
    if "state" in slot.kind or page_bytes % slot.page_bytes:
        return slot._replace(page_bytes=page_bytes)
    return slot._replace(page_bytes=page_bytes, block_tokens=slot.block_tokens * (page_bytes // slot.page_bytes))


def _all_full(members: Sequence[Placed]) -> list[Placed]:
    """Latents beside windows whose pages don't divide: everything is kept as full. Raises CannotUnify for any other mix."""
    try:
        promoted = _promoted(members)
    except CannotUnify:
        layer = next(member for member in members if member.slot.shape[:1] in (("mla",), ("indexer",)))
        raise CannotUnify(
            f"Layer {layer.slot.kind}: page size is not divisible by the maximum page size and cannot be padded. "
            "Padding is only supported for non-MLA attention layers."
        ) from None
    return promoted


def _by_slot(members: Sequence[Placed], ratio: float) -> tuple[Group, ...]:
    """Buckets of equal slots, each split into groups of the smallest bucket's width, or of the largest's where those are close.

    Source: vllm 0.33 kv_cache_planning.py, _get_kv_cache_groups_uniform_page_size.
    """
    if _uniform(members):
        return (_of(members),)
    buckets: dict[Slot, list[Placed]] = {}
    for member in members:
        buckets.setdefault(member.slot, []).append(member)
    counts = [len(bucket) for bucket in buckets.values()]
    width = max(counts) if max(counts) < ratio * min(counts) else min(counts)
    groups = []
    for bucket in buckets.values():
        n_groups = ceil_div(len(bucket), width)
        groups += [_of(bucket[i::n_groups]) for i in range(n_groups)]
    return tuple(groups)
