"""The JSON answer of a check as pydantic models: the published schema, and what tests hold answers against."""

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from kvplan.checker.case import Level
from kvplan.checker.changes import Kind
from kvplan.core.ledger import Verdict
from kvplan.render.schema import Fix


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Deployment(_Strict):
    """One server; null where the file says nothing, or a variable hides it. Bytes are those of one device."""

    file: str
    line: int
    kind: str
    name: str | None
    engine: str | None
    version: str | None
    version_from: str | None
    model: str | None
    ctx_tokens: int | None
    concurrency: int | None
    tp: int | None
    pp: int | None
    dp: int | None
    gpu: str | None
    n_gpus: int | None
    verdict: Verdict
    needed_bytes: int | None
    usable_bytes: int | None
    kv_tokens: int | None
    max_concurrency: float | None
    unresolved: list[str]


class Finding(_Strict):
    """What is wrong, where, and what mends it."""

    rule: str
    level: Level
    file: str
    line: int
    column: int
    deployment: str | None
    message: str
    hint: str
    fixes: list[Fix]


class Suppressed(Finding):
    """A finding that is left out, and why."""

    reason: str


class Shift(_Strict):
    """A figure before and after."""

    name: str
    before: int | float | str | None = Field(alias="from")
    to: int | float | str | None


class Upgrade(_Strict):
    """What another version of the engine does by itself; not known where one of them is not modeled."""

    engine: str
    before: str = Field(alias="from")
    to: str
    is_known: bool
    figures: list[Shift]
    terms: list[Shift]


class Change(_Strict):
    """One server before and after; ``decided_by`` is the rule or figure that tells better from worse."""

    change: Kind
    decided_by: str | None
    before: Deployment | None
    after: Deployment | None
    upgrade: Upgrade | None
    brought: list[Finding]
    cured: list[Finding]


class Diff(_Strict):
    """What a change does; servers that are as they were are only counted."""

    base: str
    revision: str | None
    changes: list[Change]
    n_unchanged: int
    n_known_findings: int
    cured: list[Finding]


class CheckAnswer(_Strict):
    """The answer of ``kvplan check --json``; keys are only added within a schema version. With a diff, findings are those that are new."""

    schema_version: Literal[1]
    kvplan: str
    deployments: list[Deployment]
    findings: list[Finding]
    suppressed: list[Suppressed]
    n_files: int
    diff: Diff | None


def schema_text() -> str:
    """The JSON schema of the answer."""
    return json.dumps(CheckAnswer.model_json_schema(), indent=2) + "\n"
