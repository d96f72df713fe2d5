"""What a prediction of speed is made of: what a model moves, what a machine gives, what is asked, how long it takes."""

from typing import NamedTuple


class Range(NamedTuple):
    """A figure with the bounds that it is expected in."""

    low: float
    best: float
    high: float


class Growth(NamedTuple):
    """Equal layers of attention, on one rank: what each query reads and multiplies for each earlier token that it sees.

    ``bytes_per_token`` is what the cache keeps, ``pair_flops`` what one query and one key cost, ``heads`` the heads of these
    layers together, ``sharing`` how many of them read the same keys. A query sees at most ``window_tokens``, all where that is None.
    """

    bytes_per_token: float
    pair_flops: float
    heads: float
    sharing: float = 1.0
    window_tokens: int | None = None


class Traffic(NamedTuple):
    """What one rank of a model moves and multiplies in a pass, whatever the workload; pipeline stages are counted together.

    ``dense_bytes`` are weights that every pass reads, ``expert_bytes`` those of all routed experts, of which a token visits
    ``n_active`` of ``n_experts`` in each of ``n_moe_layers``; ``dense_packed`` and ``expert_packed`` are how many of these weights are
    stored in blocks and unpacked when they are read; ``unpacked_bytes`` are written and read besides by a pass with more than one row.
    ``token_flops`` is what a token costs in the layers beside experts,
    ``expert_flops`` in those, ``row_flops`` what a row of logits costs. ``state_bytes`` are what a sequence's recurrent states hold: read
    and written in each step. ``hidden_bytes`` is a token's row between layers.
    """

    n_layers: int
    dense_bytes: float
    token_flops: float
    row_flops: float
    growth: tuple[Growth, ...]
    hidden_bytes: float
    state_bytes: float = 0.0
    expert_bytes: float = 0.0
    expert_flops: float = 0.0
    n_experts: int = 0
    n_active: int = 0
    n_moe_layers: int = 0
    dense_packed: float = 0.0
    expert_packed: float = 0.0
    unpacked_bytes: float = 0.0


class Machine(NamedTuple):
    """What the ranks run on. ``memory`` is its kind: ``hbm``, ``gddr`` or ``unified``.

    ``bandwidth`` (B/s) and ``flops`` (16-bit, dense) are one rank's peaks, ``product_flops`` the peak of the type in which weights are
    multiplied. ``link_bandwidth`` is B/s from one rank to another, both directions together as vendors print it. ``tp`` ranks share
    each layer, ``pp`` stages follow each other, ``dp`` replicas stand beside each other.
    """

    memory: str
    bandwidth: float
    flops: float
    product_flops: float
    link_bandwidth: float = 64e9
    tp: int = 1
    pp: int = 1
    dp: int = 1


class Demand(NamedTuple):
    """``batch`` sequences at once in each replica: ``prompt_tokens``, of which ``cached_tokens`` need no pass, then ``output_tokens``.

    A pass takes at most ``chunk_tokens`` of a prompt. ``eager_scores``: attention writes its scores to memory.
    ``together``: all prompts are one batch, the answer begins when the last is read.
    """

    batch: int
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    chunk_tokens: int = 8192
    eager_scores: bool = False
    together: bool = False


class Question(NamedTuple):
    """What a prediction was asked of; ``engine`` is the class of engines."""

    traffic: Traffic
    machine: Machine
    demand: Demand
    engine: str


class Performance(NamedTuple):
    """How it will feel.

    ``ttft_s`` is from a request to its first token when no other waits, ``tpot_s`` from one token to the next with the whole
    batch running at its mean length. ``decode_tokens_per_s`` is what all replicas write together while they decode,
    ``requests_per_s`` what they finish, prompts included. ``of`` is what was asked.
    """

    ttft_s: Range
    tpot_s: Range
    decode_tokens_per_s: Range
    requests_per_s: Range
    of: Question
