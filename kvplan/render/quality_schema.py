"""The JSON answer of ``kvplan quality`` as pydantic models: the published schema, and what tests hold answers against."""

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Model(_Strict):
    """The model whose cache is quantized."""

    id: str
    source: str
    revision: str | None
    architecture: str
    n_params: int
    n_layers: int
    stored_dtype: str


class Run(_Strict):
    """How it ran; no device where every sample had been run before."""

    dtype: str
    tier: Literal["cuda", "cpu"]
    device: str | None
    new_tokens: int
    versions: dict[str, str | None]


class Judgment(_Strict):
    """KL(reference ‖ cache) in nats and the share of tokens whose likeliest successor is the reference's."""

    n_tokens: int
    kl: float
    top1: float


class Distance(_Strict):
    """The same of the tokens with so many before them, and answers to prompts of that length."""

    from_tokens: int
    to_tokens: int | None
    judgment: Judgment
    n_answers: int
    n_right: int


class Measures(Judgment):
    """What all samples say of one cache; null where no plain text was read, or nothing was written."""

    perplexity: float | None
    log_rise: float | None
    log_rise_error: float | None
    distances: list[Distance]
    n_answers: int
    n_right: int
    n_lost: int
    n_won: int
    n_diverged: int
    divergence: int | None
    repetition: float | None
    n_broken_off: int
    n_ran_on: int


class Reference(Measures):
    """The full cache; ``bytes`` in 16 bits."""

    bytes: int


class Layout(_Strict):
    """How keys, or values, are stored."""

    dtype: str
    axis: Literal["token", "channel"]
    group: int | None
    residual: int
    rope: Literal["with", "high", "before"]
    rotated: bool


class Cache(_Strict):
    """One cache; no measures where its run failed."""

    kv_dtype: str
    k: Layout
    v: Layout
    own: Literal["quanto", "hqq", "fp8"] | None
    bytes: int
    saved_bytes: int
    verdict: Literal["within_noise", "some_loss", "bad", "failed"]
    why: str
    measures: Measures | None


class Output(_Strict):
    """What was written, the token at which it parts from the reference, and whether it ended by itself."""

    text: str
    divergence: int | None
    ended: bool


class Written(_Strict):
    """What one cache made the model write; null of plain text and of a cache that failed."""

    kv_dtype: str
    output: Output | None


class Sample(_Strict):
    """One prompt, or plain text, which has no answer."""

    id: str
    kind: str
    n_prompt_tokens: int
    answer: str | None
    reference: Output | None
    caches: list[Written]


class Thresholds(_Strict):
    """KL in nats, rises of the mean −ln p: up to the first two it is noise, from the last two on bad."""

    noise_kl: float
    noise_rise: float
    bad_kl: float
    bad_rise: float


class Finding(_Strict):
    """What people should know."""

    rule: str
    level: Literal["warning", "note"]
    message: str
    hint: str
    fixes: list[str]


class QualityAnswer(_Strict):
    """The answer of ``kvplan quality --json``; keys are only added within a schema version."""

    schema_version: Literal[1]
    kvplan: str
    model: Model
    run: Run
    ctx_tokens: int
    reference: Reference
    caches: list[Cache]
    thresholds: Thresholds
    samples: list[Sample]
    findings: list[Finding]


def schema_text() -> str:
    """The JSON schema of the answer."""
    return json.dumps(QualityAnswer.model_json_schema(), indent=2) + "\n"
