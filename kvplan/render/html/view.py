"""The page as finished values: what the templates set, and nothing that they have to work out."""

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.render.html import headline, need, plots, quality, results, runs
from kvplan.render.html.figures import Figure, Words, count, size
from kvplan.render.html.grid import Map, grids
from kvplan.render.html.headline import Headline
from kvplan.render.html.ledger import Ledger, ledgers
from kvplan.render.html.part import Part
from kvplan.render.html.results import Note
from kvplan.render.html.scale import Linear
from kvplan.render.shell import line


class Unmodeled(NamedTuple):
    """Memory that is known of and not counted."""

    message: str
    low: Figure | None
    high: Figure | None


class Subject(NamedTuple):
    """One estimate and what stands around it."""

    id: str
    head: Headline
    bar: need.Bar
    inputs: tuple[tuple[str, tuple[Words, ...]], ...]
    ledgers: tuple[Ledger, ...]
    grid: Map | None
    memory: plots.Memory | None
    speed: plots.Speed | None
    command: str
    log: tuple[str, ...]
    notes: tuple[Note, ...]
    not_modeled: tuple[Unmodeled, ...]
    settings: tuple[tuple[str, str], ...]


class Page(NamedTuple):
    """The whole page."""

    title: str
    answers: tuple[tuple[Words, ...], ...]
    subjects: tuple[Subject, ...]
    runs: tuple[runs.Run, ...]
    advice: tuple[results.Advice, ...]
    checks: tuple[results.Check, ...]
    sweeps: tuple[runs.Sweep, ...]
    qualities: tuple[quality.Quality, ...]
    command: str
    files: tuple[tuple[str, str], ...]
    kvplan: str


def page(document: Part) -> Page:
    """The page of a report's JSON. Raises RequestError for what is none."""
    estimates = [one["estimate"] for one in document["subjects"]]
    scale = need.scale_of(estimates)
    subjects = tuple(_subject(i, one, scale) for i, one in enumerate(document["subjects"]))
    by_kind = _by_kind(document)
    ran = tuple(map(runs.run, by_kind.get("verify", ())))
    advice = tuple(map(results.advice, by_kind.get("recommend", ())))
    checks = tuple(map(results.check, by_kind.get("check", ())))
    sweeps = tuple(map(runs.sweep, by_kind.get("sweep", ())))
    qualities = tuple(map(quality.quality, by_kind.get("quality", ())))
    return Page(
        _title(subjects, [found["model.id"].text for found in estimates], [one["file"].text for one in document["results"]]),
        (
            *_answer(subjects, [found["workload"] for found in estimates]),
            *map(results.in_words, advice),
            *filter(None, map(runs.reach_in_words, by_kind.get("sweep", ()))),
            *((runs.in_words(one),) for one in ran),
            *((results.checked_in_words(one),) for one in checks),
            *map(quality.in_words, qualities),
        ),
        subjects,
        ran,
        advice,
        checks,
        sweeps,
        qualities,
        line([word.text for word in document["report.command"]]),
        tuple((one["file"].text, one["sha256"].text) for one in document["report.inputs"]),
        document["kvplan"].text,
    )


def _by_kind(document: Part) -> dict[str, list[Part]]:
    found: dict[str, list[Part]] = {}
    for one in document["results"]:
        found.setdefault(one["kind"].text, []).append(one)
    return found


def _title(subjects: tuple[Subject, ...], models: list[str], files: list[str]) -> str:
    if len(subjects) == 1:
        head = subjects[0].head
        return head.label if head.device in head.label or head.verdict == "unknown" else f"{head.label} on {head.device}"
    several = f"{len(subjects):,} choices side by side"
    return (f"{models[0]}: {several}" if len(set(models)) == 1 else several) if subjects else ", ".join(files)


def _answer(subjects: tuple[Subject, ...], loads: list[Part]) -> Iterator[tuple[Words, ...]]:
    """Which of several fit; for what load, where that is the same for all."""
    if len(subjects) < 2:
        return
    parts = []
    for verdicts, one_does, several_do in _ANSWERS:
        found = [one.head.label for one in subjects if one.head.verdict in verdicts]
        if found:
            listed = f"{', '.join(found[:-1])} and {found[-1]}" if len(found) > 1 else found[0]
            parts.append(f"{listed} {one_does if len(found) == 1 else several_do}")
    same = all(load.value == loads[0].value for load in loads)
    yield (*(headline.load_of(loads[0], "For ") if same else ()), f"{'; '.join(parts)}.")


_ANSWERS = (
    (("fits",), "fits", "fit"),
    (("tight",), "probably fits", "probably fit"),
    (("does_not_fit", "refused"), "does not fit", "do not fit"),
    (("unknown",), "has no GPU to fit on", "have no GPU to fit on"),
)


def _subject(i: int, one: Part, scale: Linear) -> Subject:
    found = one["estimate"]
    load = found["workload"]
    places = list(found["places"])
    card = next((place["capacity_bytes"] for place in places if place["id"].text != "host"), Part(None))
    asked = load["ctx_tokens"].whole, load["batch"].whole
    maps = grids(one["grid"], asked) if one["grid"].given else ()
    return Subject(
        f"s{i + 1}",
        headline.headline(one),
        need.bar(found, scale),
        tuple(_inputs(found)),
        ledgers(found),
        maps[0] if maps else None,
        plots.memory(one["lines"], card),
        plots.speed(one["ladder"]),
        line([word.text for word in found["engine.command"]]),
        tuple(said.text for said in found["predicted_log"]),
        (*(_refusal(refusal) for refusal in found["refusals"]), *map(results.note, found["findings"])),
        tuple(map(_unmodeled, found["not_modeled"])),
        tuple((key, _plain(value)) for key, value in found["engine.settings"].items()),
    )


def _inputs(found: Part) -> list[tuple[str, tuple[Words, ...]]]:
    model, engine, kv = found["model"], found["engine"], found["kv"]
    revision = f"{model['source'].text} {model['revision'].text}".strip()
    stored = " and ".join(filter(None, (model["quantization"].text, model["stored_dtype"].text)))
    caches = kv["k_dtype"].text if kv["k_dtype"].value == kv["v_dtype"].value else f"{kv['k_dtype'].text}/{kv['v_dtype'].text}"
    rows: list[tuple[str, tuple[Words, ...]]] = [
        ("Model", (f"{model['id'].text} ({revision}{', as of ' + model['as_of'].text if model['as_of'].given else ''})",)),
        ("Architecture", (model["architecture"].text, ", ", count(model["n_params"]), " parameters, stored as ", stored)),
        ("Engine", (f"{engine['name'].text} {engine['version'].text}",)),
        ("Cache", (caches, ", ", size(kv["bytes_per_token"]), " per token; this load: ", size(kv["reserved_bytes"]))),
        (
            "Load",
            (
                count(found["workload.ctx_tokens"]),
                " tokens × ",
                count(found["workload.batch"]),
                ", ",
                count(found["workload.prompt_tokens"]),
                " of each prompted",
            ),
        ),
        ("Device", (headline.device_of(found),)),
    ]
    return rows


def _refusal(one: Part) -> Note:
    return Note("refused", one["rule"].text, f"at {one['at'].text}", one["text"].text, "")


def _unmodeled(one: Part) -> Unmodeled:
    low, high = one["low_bytes"], one["high_bytes"]
    return Unmodeled(one["message"].text, size(low) if low.given else None, size(high) if high.given else None)


def _plain(part: Part) -> str:
    return "–" if part.value is None else str(part.value)
