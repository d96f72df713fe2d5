"""What the engine's side of the estimate warns of: flags that are unknown, gone or not followed, and what they lead to."""

import re
from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.reading import NEWEST
from kvplan.checker.wording import assumed, context_flags, found
from kvplan.core.ledger import Finding

_NOTES = ("KV203", "KV213")
_NOT_OURS = ("KV009", "KV014", "KV211", "KV301", "KV320", "KV321", "KV330", "KV333")
"""What kvplan doesn't know or count, which is no fault of the deployment: a note."""
_BEYOND = "KV201"  # the positions
_STRETCHING = ("--rope-scaling", "--rope-scale", "--rope-freq-scale", "--rope-theta")  # of llama.cpp and older vLLM
_UNASKED = ("KV325",)  # the pool against a load that nobody named; preemption.py knows the typical one
_SAID_BETTER = {"KV201": ("KV110", "KV351"), "KV210": ("KV140",)}  # by a refusal of the engine
_FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w.-]*")


def check(case: Case) -> Iterator[Found]:
    """Warnings of the first estimate, and the notes that are about the deployment; each once."""
    told = [finding for tried in case.tried if tried.estimate for finding in tried.estimate.findings]
    refusals = {refusal.rule for tried in case.tried if tried.estimate for refusal in tried.estimate.refusals}
    if not told and case.parsed is not None:
        told, refusals = list(case.parsed.findings), {refusal.rule for refusal in case.parsed.refusals}
    for finding in dict.fromkeys(told):
        is_ours = finding.rule in _NOTES if finding.level == "note" else finding.rule not in _UNASKED
        if finding.rule == _BEYOND and case.says(*_STRETCHING):
            continue
        if is_ours and not refusals & set(_SAID_BETTER.get(finding.rule, ())):
            yield _found(case, finding)


def _found(case: Case, finding: Finding) -> Found:
    flags = (*(fix.flag for fix in finding.fixes), *_FLAG.findall(finding.message))
    message, hint = finding.message, finding.hint
    if finding.rule == _BEYOND:  # which speaks of kvplan's own option
        flags = context_flags(case.reading.engine)
        message, hint = message.replace("--ctx", "a context of"), hint.replace("--ctx ", "")
    if finding.rule == "KV210" and case.reading.version_from == NEWEST:
        message = f"{message} {assumed(case)}"
    level = "note" if finding.rule in _NOT_OURS else finding.level
    return found(finding.rule, level, case, flags, message, hint, finding.fixes)
