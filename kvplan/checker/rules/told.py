"""What the engine's side of the estimate warns of: flags that are unknown, gone or not followed, and what they lead to."""

import re
from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.wording import found
from kvplan.core.ledger import Finding

IDS: tuple[str, ...] = ()  # the engines' ids, whose pages are the engines'
_NOTES = ("KV203", "KV213")
_SAID_BETTER = ("KV325",)  # the pool against a load that nobody named; preemption.py knows the typical one
_FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w.-]*")


def check(case: Case) -> Iterator[Found]:
    """Warnings of the first estimate, and the notes that are about the deployment; each once."""
    told = [finding for tried in case.tried if tried.estimate for finding in tried.estimate.findings]
    if not told and case.parsed is not None:
        told = list(case.parsed.findings)
    for finding in dict.fromkeys(told):
        if (finding.level != "note" and finding.rule not in _SAID_BETTER) or finding.rule in _NOTES:
            yield _found(case, finding)


def _found(case: Case, finding: Finding) -> Found:
    flags = (*(fix.flag for fix in finding.fixes), *_FLAG.findall(finding.message))
    return found(finding.rule, finding.level, case, flags, finding.message, finding.hint, finding.fixes)
