"""The JSON answer of a sweep as pydantic models: the published schema, and what tests hold answers against."""

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict

from kvplan.core.ledger import Verdict
from kvplan.render.schema import Performance, Refusal


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Axis(_Strict):
    """An option and its values: numbers where it counts something, null where nothing was said."""

    option: str
    values: list[int | str | None]


class Error(_Strict):
    """Why there is no answer."""

    kind: str
    message: str
    hint: str


class Point(_Strict):
    """One choice of values: settings as they were said, the workload in numbers, what it needs on the fullest place."""

    model: str
    engine: str | None
    version: str | None
    gpu: str | None
    n_devices: int | None
    dtype: str | None
    kv_dtype: str | None
    attn: str | None
    cache: str | None
    forward: str | None
    usage: str | None
    tp: int | str | None
    pp: int | str | None
    dp: int | str | None
    ep: int | str | None
    gpus: int | str | None
    budget: str | None
    ram: str | None
    host: str | None
    ctx_tokens: int | str | None
    batch: int | str | None
    prompt_tokens: int | str | None
    needed_bytes: int | None
    needed_low_bytes: int | None
    needed_high_bytes: int | None
    headroom_bytes: int | None
    verdict: Verdict
    beyond_limit: bool
    refusals: list[Refusal]
    error: Error | None
    performance: Performance | None


class Reach(_Strict):
    """The longest of the contexts that fits for certain and that nobody refuses, at these values of all other axes."""

    at: dict[str, int | str | None]
    ctx_tokens: int | None


class SweepAnswer(_Strict):
    """The answer of ``kvplan sweep --json``; keys are only added within a schema version."""

    schema_version: Literal[1]
    kvplan: str
    axes: list[Axis]
    points: list[Point]
    frontier: list[Reach]


def schema_text() -> str:
    """The JSON schema of the answer."""
    return json.dumps(SweepAnswer.model_json_schema(), indent=2) + "\n"
