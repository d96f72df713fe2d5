"""The answer in a sentence and four tiles."""

from typing import NamedTuple

from kvplan.render.html.figures import Figure, Span, Words, count, distance, rate_span, size, size_span, some
from kvplan.render.html.part import Part

SAID = {"fits": "Yes", "tight": "Probably", "does_not_fit": "No", "refused": "No", "unknown": "No GPU named"}


class Tile(NamedTuple):
    """One of the four questions, with its answer and a line about it."""

    question: str
    answer: tuple[Words, ...]
    about: tuple[Words, ...]
    tone: str = ""


class Headline(NamedTuple):
    """The answer to one estimate."""

    label: str
    device: str
    verdict: str
    said: str
    sentence: tuple[Words, ...]
    tiles: tuple[Tile, ...]
    row: "Row"


class Row(NamedTuple):
    """The answer in the table that has several side by side."""

    needed: Span
    usable: Figure | None
    left: Figure | None
    longest: Words
    users: Words
    tokens: Span | None


def headline(subject: Part) -> Headline:
    """The answer to the subject's estimate."""
    found = subject["estimate"]
    verdict = "refused" if list(found["refusals"]) else found["verdict"].text
    device, fullest = device_of(found), _fullest(found)
    usable, left = fullest["usable_bytes"], found["headroom_bytes"]
    return Headline(
        subject["label"].text or label_of(found),
        device,
        verdict,
        SAID.get(verdict, "unknown"),
        tuple(_sentence(found, verdict, device)),
        tuple(_tiles(found, verdict, device, usable)),
        Row(
            size_span(found, "needed_"),
            size(usable) if usable.given else None,
            size(left) if left.given else None,
            some(found["capacity.max_ctx_tokens"]),
            some(found["capacity.max_batch"]),
            rate_span(found["performance.decode_tokens_per_s"]),
        ),
    )


def label_of(found: Part) -> str:
    """Model, engine and device of an estimate without a label."""
    return f"{found['model.id'].text} · {found['engine.name'].text} · {device_of(found)}"


def device_of(found: Part) -> str:
    """The hardware as people say it."""
    name, n_devices = found["device.id"].text, found["device.n_devices"].whole
    if not n_devices:
        return "no GPU"
    if not name:
        return "this budget"
    return name if n_devices == 1 or "+" in name else f"{n_devices} × {name}"


def _fullest(found: Part) -> Part:
    """The place that the totals speak of: the GPU of which most is needed."""
    places = list(found["places"])
    gpus = [place for place in places if place["id"].text != "host"] or places
    return max(gpus, key=lambda place: place["needed_bytes"].whole)


def _sentence(found: Part, verdict: str, device: str) -> list[Words]:
    model, engine = found["model.id"].text, f"{found['engine.name'].text} {found['engine.version'].text}"
    load: list[Words] = [_users(found["workload.batch"]), " of ", count(found["workload.ctx_tokens"]), " tokens"]
    load += [" each"] if found["workload.batch"].whole != 1 else []
    if verdict == "refused":
        return [f"{engine} refuses to start {model} on {device}: {next(iter(found['refusals']))['text'].text}"]
    if verdict == "unknown" or not found["headroom_bytes"].given:
        return [f"{model} with {engine} needs ", size(found["needed_bytes"]), " for ", *load, ". No GPU was named. ", *_smallest(found)]
    on = f" on {device} with {engine}"
    left = distance(found["headroom_bytes"])
    if verdict == "does_not_fit":
        return [f"{model} does not fit{on} for ", *load, ": ", left, " are missing. ", *_still(found), *_smallest(found)]
    word = "fits" if verdict == "fits" else "probably fits"
    return [f"{model} {word}{on} for ", *load, ", and ", left, " are left. ", *_still(found)]


def _users(batch: Part) -> Words:
    found = count(batch)
    return found._replace(text=f"{found.text} user{'' if batch.whole == 1 else 's'}")


def _still(found: Part) -> list[Words]:
    """What fits for certain."""
    longest, most = found["capacity.max_ctx_tokens"], found["capacity.max_batch"]
    if not longest.given or not most.given:
        return []
    if not longest.whole and not most.whole:
        return ["No context fits, however short. "]
    parts: list[Words] = ["For certain it holds "]
    parts += [_users(most), " at that length" if most.whole else "", ", and "] if most.whole else ["nobody at that length, and "]
    return [*parts, "contexts of up to ", count(longest), f" tokens{_alone(found)}. "] if longest.whole else [*parts[:-1], ". "]


def _alone(found: Part) -> str:
    """For how many sequences the longest context holds: with a pool for one, else for the whole batch."""
    batch = found["workload.batch"].whole
    return " for one user" if found["capacity.n_blocks"].given or batch == 1 else f" for all {batch:,}"


def _smallest(found: Part) -> list[Words]:
    names = [f"{n:,} × {one['gpu'].text}" if (n := one["n_devices"].whole) > 1 else one["gpu"].text for one in found["fits_on"]]
    return [f"The smallest that would do: {', '.join(names)}."] if names else ["Nothing in the catalogue would do."]


def _tiles(found: Part, verdict: str, device: str, usable: Part) -> list[Tile]:
    load = found["workload"]
    ctx, batch = count(load["ctx_tokens"]), _users(load["batch"])
    left = found["headroom_bytes"]
    margin: tuple[Words, ...] = ("for ", batch, " × ", ctx, " tokens")
    if left.given and verdict != "refused":
        margin = (distance(left), " left" if left.whole >= 0 else " short", " ", *margin)
    known = found["capacity.max_ctx_tokens"].given
    longest, most = some(found["capacity.max_ctx_tokens"]), some(found["capacity.max_batch"])
    tokens: tuple[Words, ...] = (longest, " tokens") if isinstance(longest, Figure) else (longest,)
    return [
        Tile("Does it fit?", (SAID.get(verdict, "unknown"),), margin, verdict),
        Tile("On what?", (device,), (size(usable), " usable") if usable.given else ("name one with --gpu",)),
        Tile("How long a context?", tokens if known else ("–",), (f"at most,{_alone(found)}",) if known else ("needs a GPU to say",)),
        Tile("How many users?", (most,) if known else ("–",), ("at once for certain, ", ctx, " tokens each") if known else ("needs a GPU to say",)),
    ]
