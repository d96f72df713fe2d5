"""The JSON answer of an estimate as pydantic models: the published schema, and what tests hold answers against."""

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from kvplan.core.ledger import Basis, Stage, Term, Verdict


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Model(_Strict):
    """Who the model is, and its size."""

    id: str
    source: Literal["builtin", "hub", "config", "dir", "gguf", "spec"]
    revision: str | None
    as_of: str | None
    architecture: str
    n_params: int
    n_active_params: int
    n_layers: int
    max_ctx_tokens: int | None
    stored_dtype: str
    quantization: str | None


class Engine(_Strict):
    """The engine, its version, and the settings and command that the numbers hold for."""

    name: str
    version: str
    settings: dict[str, int | float | str | bool | None]
    ignored: list[str]
    command: list[str]


class WorkloadDemand(_Strict):
    """The demand."""

    ctx_tokens: int
    batch: int
    prompt_tokens: int


class Device(_Strict):
    """The hardware, null where none was named."""

    id: str | None
    source: Literal["flag", "attached", "budget"] | None
    n_devices: int


class Place(_Strict):
    """One place and what it must hold."""

    id: str
    capacity_bytes: int | None
    usable_bytes: int | None
    total_bytes: int
    needed_bytes: int
    needed_low_bytes: int
    needed_high_bytes: int
    verdict: Verdict


class Entry(_Strict):
    """One line of the ledger."""

    term: Term
    name: str
    place: str
    device: str | None
    bytes: int
    low_bytes: int
    high_bytes: int
    basis: Basis
    formula: str
    source: str


class Phases(_Strict):
    """Live tensor bytes by phase, on the fullest GPU."""

    load_peak_bytes: int | None
    prefill_peak_bytes: int | None
    decode_peak_bytes: int | None
    peak: Literal["load", "prefill", "decode"] | None


class KvGroup(_Strict):
    """Layers with one cache geometry."""

    kind: Literal["full", "sliding", "chunked", "compressed", "mla", "recurrent", "cross"]
    n_layers: int
    window_tokens: int | None
    bytes_per_token_per_layer: int


class Kv(_Strict):
    """The cache of one device."""

    k_dtype: str
    v_dtype: str
    bytes_per_token: int
    marginal_bytes_per_token: int
    state_bytes_per_sequence: int
    ideal_bytes: int
    reserved_bytes: int
    groups: list[KvGroup]


class Capacity(_Strict):
    """The engine's pool, and the largest context and batch that fit."""

    kv_budget_bytes: int | None
    kv_budget_low_bytes: int | None
    kv_budget_high_bytes: int | None
    block_tokens: int | None
    bytes_per_block: int | None
    n_blocks: int | None
    kv_tokens: int | None
    kv_tokens_low: int | None
    kv_tokens_high: int | None
    max_concurrency: float | None
    max_concurrency_low: float | None
    max_concurrency_high: float | None
    max_ctx_tokens: int | None
    max_batch: int | None


class Spread(_Strict):
    """A figure with its bounds."""

    low: float
    best: float
    high: float


class Performance(_Strict):
    """How it will feel; null where no GPU is named, its rates are not known, it does not run, or weights wait on the host."""

    ttft_s: Spread
    tpot_s: Spread
    decode_tokens_per_s: Spread
    requests_per_s: Spread


class Refusal(_Strict):
    """What the engine itself would say no to."""

    rule: str
    at: Stage
    text: str


class Candidate(_Strict):
    """A node that would do."""

    gpu: str
    n_devices: int
    headroom_bytes: int


class NotModeled(_Strict):
    """Memory that is known of and not counted."""

    id: str
    message: str
    low_bytes: int | None
    high_bytes: int | None


class Fix(_Strict):
    """A flag to change."""

    flag: str
    before: str = Field(alias="from")
    to: str
    effect_bytes: int | None


class Finding(_Strict):
    """Something to know about the request."""

    rule: str
    level: Literal["error", "warning", "note"]
    message: str
    hint: str
    fixes: list[Fix]


class EstimateAnswer(_Strict):
    """The answer of ``kvplan estimate --json``; keys are only added within a schema version."""

    schema_version: Literal[1]
    kvplan: str
    model: Model
    engine: Engine
    workload: WorkloadDemand
    device: Device
    places: list[Place]
    entries: list[Entry]
    total_bytes: int
    total_low_bytes: int
    total_high_bytes: int
    needed_bytes: int
    needed_low_bytes: int
    needed_high_bytes: int
    headroom_bytes: int | None
    phases: Phases
    kv: Kv
    capacity: Capacity | None
    performance: Performance | None
    refusals: list[Refusal]
    verdict: Verdict
    fits_on: list[Candidate]
    predicted_log: list[str]
    not_modeled: list[NotModeled]
    findings: list[Finding]


def schema_text() -> str:
    """The JSON schema of the answer."""
    return json.dumps(EstimateAnswer.model_json_schema(), indent=2) + "\n"
