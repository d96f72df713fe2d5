"""What the process that runs the model is asked, and what it answers; the standard library alone."""

from typing import Any, NamedTuple

from kvplan.verifier.fidelity.samples import Sample
from kvplan.verifier.fidelity.variant import Layout, Variant

EDGES = (0, 128, 512, 2048, 8192, 32768)
"""Where distances part: a token belongs to the last edge that is not above the number of tokens before it."""

PIECE = 32
"""Tokens read at once: with groups of 32 tokens the borders are where decoding one by one would have them."""


class Job(NamedTuple):
    """``weights`` is a folder, or an id of the Hub with its ``revision``; with ``gguf_file`` the model is that file in it.

    ``dtype`` is what the model computes in, and what its full-precision cache holds. Each sample is gone on from for ``n_new`` tokens.
    """

    weights: str
    revision: str | None
    gguf_file: str | None
    dtype: str
    device: str
    n_new: int
    variants: tuple[Variant, ...]
    samples: tuple[Sample, ...]


class Bucket(NamedTuple):
    """Sums over the tokens of one distance: how many, −ln p of each, its square of the rise over the reference, KL, agreements."""

    n: int = 0
    nll: float = 0.0
    rise: float = 0.0
    rise_squared: float = 0.0
    kl: float = 0.0
    agreed: int = 0

    def plus(self, other: "Bucket") -> "Bucket":
        """Both together."""
        return Bucket(
            self.n + other.n,
            self.nll + other.nll,
            self.rise + other.rise,
            self.rise_squared + other.rise_squared,
            self.kl + other.kl,
            self.agreed + other.agreed,
        )


class Output(NamedTuple):
    """What one cache made the model write: text and tokens, whether it ended by itself, where it first differs from the reference."""

    text: str
    tokens: tuple[int, ...]
    ended: bool
    divergence: int | None


class Row(NamedTuple):
    """One sample with one cache; ``buckets`` by the edge of their distance. Text alone has no output.

    ``error``: the words with which Transformers' own cache failed; then there is nothing else.
    """

    buckets: dict[int, Bucket]
    output: Output | None
    error: str | None = None


class Played(NamedTuple):
    """One sample with the reference first, then with each variant."""

    n_prompt: int
    rows: tuple[Row, ...]


def job_from(data: dict[str, Any]) -> Job:
    """The job that its JSON says."""
    variants = tuple(Variant(name, Layout(*k), Layout(*v), backend) for name, k, v, backend in data["variants"])
    return Job(**{**data, "variants": variants, "samples": tuple(Sample(*one) for one in data["samples"])})


def played_from(data: dict[str, Any]) -> Played:
    """The sample's result that ``to_json`` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    return Played(data["n_prompt"], tuple(_row(one) for one in data["rows"]))


def to_json(found: Played) -> dict[str, object]:
    """The result as JSON values."""
    return {"n_prompt": found.n_prompt, "rows": [_plain(row) for row in found.rows]}


def _plain(row: Row) -> dict[str, object]:
    buckets = [[edge, *bucket] for edge, bucket in row.buckets.items()]
    return {"buckets": buckets, "output": row.output and row.output._asdict(), "error": row.error}


def _row(data: dict[str, Any]) -> Row:
    output = data["output"]
    buckets = {edge: Bucket(*sums) for edge, *sums in data["buckets"]}
    return Row(buckets, output and Output(**{**output, "tokens": tuple(output["tokens"])}), data["error"])
