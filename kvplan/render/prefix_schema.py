"""The JSON answer about prefixes as pydantic models: the published schema, and what tests hold answers against."""

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict

from kvplan.prefixes.patterns import Kind
from kvplan.render.schema import Finding, Spread


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Log(_Strict):
    """What the log held, and how its text became tokens: ``how`` is ``bytes`` for the stand-in."""

    name: str
    n_lines: int
    n_skipped: int
    kinds: dict[str, int]
    n_answered: int
    how: Literal["tokenizer", "bytes"]
    tokenizer: str | None
    rendering: Literal["template", "plain"]


class Engine(_Strict):
    """What keeps prefixes; pools without end are null. ``n_groups`` blocks are taken for each block of tokens."""

    name: str
    version: str | None
    model: str | None
    gpu: str | None
    block_tokens: int
    pool_from: Literal["estimate", "said", "endless"]
    pool_tokens: int | None
    pool_tokens_low: int | None
    pool_tokens_high: int | None
    n_groups: int
    n_slots: int | None
    command: list[str]


class Point(_Strict):
    """The hit rate of a pool; null is one without end."""

    pool_tokens: int | None
    hit_rate: float


class Sessions(_Strict):
    """Sessions, ``named`` by the log or told by what goes on with what; ``warm`` is how many the pool holds."""

    n_sessions: int
    named: bool
    distinct_tokens: int
    shared_tokens: int
    tokens_per_session: int
    warm: int | None


class Times(_Strict):
    """Seconds in the mean, with bounds, and what one request in twenty exceeds."""

    low: float
    best: float
    high: float
    p95: float


class Savings(_Strict):
    """Operations of all prompts and of what was found; seconds to the first token without reuse and with it."""

    flops: float | None
    saved_flops: float | None
    ttft_without_s: Times | None
    ttft_s: Times | None


class Example(_Strict):
    """The break that cost most: lines of the log, the message (null for tools), the position, the pieces that differ."""

    line: int
    other_line: int
    message: int | None
    at_tokens: int
    text: str
    other_text: str


class Cause(_Strict):
    """What breaks prefixes; causes that stand behind each other share what they cost, so that shares may add up to more than 1."""

    kind: Kind
    n_requests: int
    first_at_tokens: int
    lost_tokens: int
    share_of_misses: float
    mended_hit_rate: float | None
    example: Example


class Breaks(_Strict):
    """Causes, in how many requests they were looked for, the hit rate of these now and with all of it mended."""

    n_requests: int
    is_whole: bool
    hit_rate: float
    mended_hit_rate: float | None
    causes: list[Cause]


class Edit(_Strict):
    """When ``turn`` is sent, the user's message of an earlier turn has other words."""

    turn: int
    edited_turn: int


class Spec(_Strict):
    """The chats as they were asked for, in tokens."""

    turns: int
    user: int
    answer: int
    system: int
    private: int
    sessions: int
    keep: int
    edits: list[Edit]


class Turn(_Strict):
    """One turn over all chats."""

    turn: int
    prompt_tokens: int
    hit_tokens: int
    invalidated_tokens: int


class Checkpoints(_Strict):
    """Copies of what can't be cut back to an earlier token."""

    kind: Literal["recurrent", "sliding"]
    bytes_each: int
    every_tokens: int
    n_copies: int


class Conversation(_Strict):
    """What one conversation is to keep on one device, and what it takes to load it or to compute it again."""

    n_tokens: int
    kv_bytes: int
    state_bytes: int
    checkpoints: Checkpoints | None
    load_s: Spread | None
    compute_s: Spread | None


class Chat(_Strict):
    """Made-up chats."""

    spec: Spec
    turns: list[Turn]
    conversation: Conversation | None


class PrefixAnswer(_Strict):
    """The answer of ``kvplan prefix --json``; keys are only added within a schema version."""

    schema_version: Literal[1]
    kvplan: str
    log: Log | None
    engine: Engine
    n_requests: int
    n_too_long: int
    prompt_tokens: int
    hit_tokens: int
    computed_tokens: int
    output_tokens: int
    hit_rate: float
    hit_rate_low: float | None
    hit_rate_high: float | None
    endless_hit_rate: float
    thrash_tokens: int | None
    curve: list[Point]
    sessions: Sessions | None
    savings: Savings
    breaks: Breaks | None
    chat: Chat | None
    findings: list[Finding]


def schema_text() -> str:
    """The JSON schema of the answer."""
    return json.dumps(PrefixAnswer.model_json_schema(), indent=2) + "\n"
