"""What differs between builds of llama.cpp; a change is a new ``Rules``."""

import re
from functools import cache
from typing import Literal, NamedTuple

from kvplan.core.errors import RequestError


class Rules(NamedTuple):
    """Behavior from build ``since`` on.

    ``auto_slots``: llama-server without -np has 4 slots in one cache; ``one_slot_is_auto``: it takes -np 1 for unsaid, too.
    ``fit``: there is --fit; ``fits_zero``: it may shrink a -c 0 that was said. ``default_ctx``: of -c, 0 for the trained one.
    ``ctx_pad``: contexts are multiples of it. ``cell_pad``: cells of a cache are multiples of 256 always, with flash attention
    alone (else of 32), or of nothing. ``output_first``: -ngl takes the output layer before the others. ``row_per_slot``:
    llama-server reserves logits for a token of each slot, before it for every token of a step. ``cache_ram_mib``: the default of
    --cache-ram. ``checkpoints`` and ``checkpoint_step``: those of --ctx-checkpoints and --checkpoint-min-step. ``load_mode``: memory
    mapping is said by --no-mmap and --mlock (``flags``), by --load-mode as well (``both``), or by that alone (``mode``).
    ``default_load_mode``: its default. ``draft_tokens``: of --spec-draft-n-max; ``old_draft_flags``: it is called --draft-max.
    """

    since: int
    source: str
    auto_slots: bool = False
    one_slot_is_auto: bool = False
    fit: bool = False
    fits_zero: bool = False
    default_ctx: int = 4096
    ctx_pad: int = 1
    cell_pad: Literal["always", "flash_attn", "never"] = "flash_attn"
    output_first: bool = False
    row_per_slot: bool = False
    cache_ram_mib: int = 0
    checkpoints: int = 3
    checkpoint_step: int = 0
    load_mode: Literal["flags", "both", "mode"] = "flags"
    default_load_mode: Literal["auto", "mmap"] = "mmap"
    draft_tokens: int = 16
    old_draft_flags: bool = True


# Builds are numbered by commits: those of dated changes lie within some tens of the number that stands here.
_B6325 = Rules(6325, "llama.cpp PR 15434, 2025-08-30: flash attention is auto, all layers on the GPU by default")
_B6715 = _B6325._replace(since=6715, cache_ram_mib=8192, checkpoints=8, source="PR 16391, 2025-10-09: prompts are kept in host memory")
_B6868 = _B6715._replace(since=6868, cell_pad="never", source="PR 16812, 2025-10-28: caches are no longer padded")
_B6924 = _B6868._replace(
    since=6924, auto_slots=True, one_slot_is_auto=True, source="PR 16736, 2025-11-02: 4 slots in one cache by default; issue 17300, b7079"
)
_B6981 = _B6924._replace(since=6981, ctx_pad=256, cell_pad="always", source="PR 17046, 2025-11-07: caches and contexts are padded to 256")
_B7406 = _B6981._replace(
    since=7406, fit=True, fits_zero=True, default_ctx=0, source="PR 16653, 2025-12-15: --fit; issue 18376, b7539: it shrinks -c 0, too"
)
_B7426 = _B7406._replace(since=7426, one_slot_is_auto=False, source="PR 17997, 2025-12-15: -np 1 is one slot")
_B7540 = _B7426._replace(since=7540, output_first=True, source="PR 18148, 2025-12: the output layer goes to the GPU first")
_B7825 = _B7540._replace(since=7825, fits_zero=False, source="PR 19070, 2026-01-24: -c 0 said is the trained context")
_B9490 = _B7825._replace(since=9490, row_per_slot=True, source="PR 23861 and 23988, 2026-06: llama-server reserves a row of logits a slot")
_B9596 = _B9490._replace(
    since=9596, draft_tokens=3, old_draft_flags=False, checkpoints=32, source="public --help of b9596, 2026-06: --spec-draft-n-max"
)
_B10200 = _B9596._replace(
    since=10200, load_mode="both", source="PR 20834, 2026-07: --load-mode; public --help of b10212: old flags deprecated"
)
_B10884 = _B10200._replace(
    since=10884, load_mode="mode", checkpoint_step=8192, source="public reports of b10884, 2026-09-10: 'invalid argument: --no-mmap'"
)
_B11434 = _B10884._replace(since=11434, default_load_mode="auto", source="measured on b11434, 2026-10-06; tools/server/README.md")

RULES = (_B6325, _B6715, _B6868, _B6924, _B6981, _B7406, _B7426, _B7540, _B7825, _B9490, _B9596, _B10200, _B10884, _B11434)
VERSIONS = tuple(f"b{rules.since}" for rules in RULES)
"""Builds from which on something is otherwise, oldest first; every build between them is known by the one before it."""


def build_number(version: str) -> int:
    """The number in ``b11434``, ``11434`` and ``11434-cuda``. Raises RequestError for text that begins with none."""
    found = re.match(r"b?(\d{1,9})(?![\d.])", version)
    if found is None:
        raise RequestError("unknown_version", f"llama.cpp: '{version}' is no build", hint=f"write it as llama.cpp@{VERSIONS[-1]}")
    return int(found[1])


def canonical(version: str) -> str:
    """The build as people call it: ``b11434``."""
    return f"b{build_number(version)}"


@cache
def rules_for(version: str) -> tuple[Rules, bool]:
    """The rules of a build, and whether it is newer than every modeled one (then the newest rules are used).

    Raises RequestError for a build older than the table, or for text that is none.
    """
    wanted = build_number(version)
    if wanted < RULES[0].since:
        raise RequestError(
            "unknown_version",
            f"llama.cpp b{wanted} is older than the builds that are modeled ({VERSIONS[0]} to {VERSIONS[-1]})",
            hint=f"use --engine llama.cpp@{VERSIONS[0]} or newer",
        )
    return next(rules for rules in reversed(RULES) if rules.since <= wanted), wanted > RULES[-1].since
