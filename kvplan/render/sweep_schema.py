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


class Seconds(_Strict):
    """A time with its spread over repeats, or over steps."""

    p50: float
    p95: float
    min: float
    max: float


class Measured(_Strict):
    """What a run came to: time, rate and memory; null where nobody measures it. ``agrees``: within the tolerance of each term."""

    outcome: Literal["ran", "oom", "failed"]
    tier: Literal["cuda", "cpu", "trace"] | None
    device: str | None
    peak_bytes: int | None
    estimated_peak_bytes: int | None
    device_bytes: int | None
    agrees: bool | None
    ttft_s: Seconds | None
    tpot_s: Seconds | None
    tpot_by_decile_s: list[float]
    decode_tokens_per_s: float | None
    n_steps: int | None
    n_repeats: int | None
    versions: dict[str, str | None]


class Point(_Strict):
    """One choice of values: settings as they were said, the workload in numbers, what it needs on the fullest place, and the rules that
    warn of these settings."""

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
    device_map: str | None
    max_memory: str | None
    tp: int | str | None
    pp: int | str | None
    dp: int | str | None
    ep: int | str | None
    gpus: int | str | None
    budget: str | None
    ram: str | None
    host: str | None
    calibration: str | None
    ctx_tokens: int | str | None
    batch: int | str | None
    prompt_tokens: int | str | None
    needed_bytes: int | None
    needed_low_bytes: int | None
    needed_high_bytes: int | None
    headroom_bytes: int | None
    verdict: Verdict
    beyond_limit: bool
    warnings: list[str]
    refusals: list[Refusal]
    error: Error | None
    performance: Performance | None
    measured: Measured | None


class Reach(_Strict):
    """The longest of the contexts that fits for certain and that nobody refuses, at these values of all other axes."""

    at: dict[str, int | str | None]
    ctx_tokens: int | None


class Pace(_Strict):
    """A batch, its tokens per second over all sequences, and what it needs (of a measured one its peak)."""

    batch: int
    tokens_per_s: float
    needed_bytes: int


class Knee(_Strict):
    """The batch from which on a doubling brings less than 1.2 times the tokens per second, at these values of all other axes, and the
    next batch; ``after`` is null where the rate still rises at the largest."""

    at: dict[str, int | str | None]
    last: Pace
    after: Pace | None


class SweepAnswer(_Strict):
    """The answer of ``kvplan sweep --json``; keys are only added within a schema version."""

    schema_version: Literal[1]
    kvplan: str
    axes: list[Axis]
    points: list[Point]
    frontier: list[Reach]
    knees: list[Knee]


def schema_text() -> str:
    """The JSON schema of the answer."""
    return json.dumps(SweepAnswer.model_json_schema(), indent=2) + "\n"
