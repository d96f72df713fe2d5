"""What quantized caches cost, as a table of the report."""

from typing import NamedTuple

from kvplan.render.html.figures import Figure, Words, count, rate, size
from kvplan.render.html.part import Part
from kvplan.render.html.results import Note, note

HEADS = ("Cache", "Bytes", "Perplexity", "KL", "Top-1", "Right", "Parts at")
_VERDICTS = {"within_noise": ("fits", "within noise"), "some_loss": ("tight", "some loss"), "bad": ("does_not_fit", "bad")}
_FAILED = ("unknown", "failed")


class Row(NamedTuple):
    """One cache; the reference, which is first, has no verdict."""

    name: str
    cells: tuple[Words, ...]
    tone: str
    words: str
    why: str


class Quality(NamedTuple):
    """One model's caches."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    ctx: Figure
    about: str
    notes: tuple[Note, ...]


def quality(result: Part) -> Quality:
    """A view of what ``kvplan quality --json`` answered."""
    found = result["answer"]
    reference, bounds = found["reference"], found["thresholds"]
    n_samples = len(list(found["samples"]))
    about = (
        f"{n_samples} samples, {found['run.new_tokens'].whole} tokens written after each, computed in {found['run.dtype'].text}. "
        f"Within noise: KL up to {bounds['noise_kl'].number:g}; bad: from {bounds['bad_kl'].number:g} on."
    )
    first = Row("full cache", (size(reference["bytes"]), *_cells(reference)), "", "", "")
    rows = (first, *map(_row, found["caches"]))
    return Quality(found["model.id"].text, HEADS, rows, count(found["ctx_tokens"]), about, tuple(map(note, found["findings"])))


def in_words(one: Quality) -> tuple[Words, ...]:
    """The smallest cache within noise, in a sentence."""
    good = [row for row in one.rows if row.words == _VERDICTS["within_noise"][1]]
    if not good:
        return (f"{one.title}: no quantized cache that was tried is within noise.",)
    best = min(good, key=lambda row: int(row.cells[0].value) if isinstance(row.cells[0], Figure) else 0)
    return (
        f"{one.title}: of the caches within noise {best.name} is the smallest, ",
        best.cells[0],
        " in place of ",
        one.rows[0].cells[0],
        ".",
    )


def _row(one: Part) -> Row:
    tone, words = _VERDICTS.get(one["verdict"].text, _FAILED)
    measures = one["measures"]
    cells = _cells(measures) if measures.given else ("–",) * (len(HEADS) - 2)
    return Row(one["kv_dtype"].text, (size(one["bytes"]), *cells), tone, words, one["why"].text)


def _cells(found: Part) -> tuple[Words, ...]:
    perplexity, apart = found["perplexity"], found["divergence"]
    right = f"{found['n_right'].whole} of {found['n_answers'].whole}"
    return (
        rate(perplexity)._replace(text=f"{perplexity.number:,.2f}") if perplexity.given else "–",
        rate(found["kl"]),
        rate(found["top1"])._replace(text=f"{found['top1'].number:.3f}"),
        right,
        count(apart) if apart.given else "never" if found["n_answers"].whole else "–",
    )
