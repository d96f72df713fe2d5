"""What differs between versions of text-generation-inference; a new version is a new ``Rules``."""

from functools import cache
from typing import NamedTuple

from kvplan.core.versions import releases, rules_at


class Rules(NamedTuple):
    """How a version behaves from ``since`` on.

    ``wiggle`` is the share of what may be used, in hundredths: of all memory where it is ``of_total``, else of what the largest prefill
    leaves. ``block_tokens`` are those of a block. ``total_tokens`` are the most of a request where nobody says it: ``most`` of them or the
    model's limit; None: what the pool holds.
    """

    since: str
    source: str
    wiggle: int
    of_total: bool
    block_tokens: int
    total_tokens: int | None


_1_4 = Rules(
    since="1.4.0",
    source="text-generation-inference 1.4.5 launcher/src/main.rs, models/flash_causal_lm.py, warmup",
    wiggle=95,
    of_total=False,
    block_tokens=16,
    total_tokens=2048,
)
_2_0 = _1_4._replace(since="2.0.0", total_tokens=4096, source="text-generation-inference 2.0.4 launcher/src/main.rs")
_2_3 = _2_0._replace(since="2.3.0", block_tokens=1, source="text-generation-inference 2.3.0 models/globals.py: FlashInfer's blocks")
_2_4 = _2_3._replace(
    since="2.4.0", wiggle=90, total_tokens=None, source="text-generation-inference 2.4.1 models/globals.py, launcher/src/main.rs"
)
_3_0 = _2_4._replace(
    since="3.0.0", wiggle=95, of_total=True, source="text-generation-inference 3.0.0 models/globals.py, flash_causal_lm.py"
)
_3_1 = _3_0._replace(since="3.1.0", wiggle=93, source="text-generation-inference 3.1.0 models/globals.py")
_3_3 = _3_1._replace(since="3.3.0", wiggle=90, source="text-generation-inference 3.3.7 models/globals.py")

RULES = (_1_4, _2_0, _2_3, _2_4, _3_0, _3_1, _3_3)
_RELEASES = (
    "1.4: 0 1 2 3 4 5 / 2.0: 0 1 2 3 4 / 2.1: 0 1 / 2.2: 0 / 2.3: 0 1 / 2.4: 0 1 / 3.0: 0 1 2 / 3.1: 0 1 / 3.2: 0 1 2 3 / "
    "3.3: 0 1 2 3 4 5 6 7"
)
VERSIONS = releases(_RELEASES)


@cache
def rules_for(version: str) -> tuple[Rules, bool]:
    """The rules of ``version``, and whether it is newer than every modeled one (then the newest rules are used).

    Raises RequestError for a version older than the table, or for text that is no version.
    """
    return rules_at(version.removeprefix("v"), RULES, engine="tgi", known=VERSIONS)
