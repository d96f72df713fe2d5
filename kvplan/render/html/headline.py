"""The answer in a sentence and four tiles."""

from typing import NamedTuple

from kvplan.render.html.figures import Figure, Span, Words, count, distance, rate_span, size, size_span, some
from kvplan.render.html.part import Part

SAID = {"fits": "Yes", "tight": "Probably", "does_not_fit": "No", "refused": "No", "unknown": "–"}


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
    device = device_of(found)
    usable, left = fullest(found)["usable_bytes"], found["headroom_bytes"]
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


def fullest(found: Part) -> Part:
    """The place that the totals speak of: the GPU of which most is needed."""
    places = list(found["places"])
    if not places:
        raise found["places"].wrong("at least one place")
    gpus = [place for place in places if place["id"].text != "host"] or places
    return max(gpus, key=lambda place: place["needed_bytes"].whole)


def _sentence(found: Part, verdict: str, device: str) -> list[Words]:
    model, engine = found["model.id"].text, f"{found['engine.name'].text} {found['engine.version'].text}"
    load = _load(found["workload"])
    if verdict == "refused":
        return [f"{engine} refuses to start {model} on {device} for ", *load, ". ", *_still(found), *_smallest(found)]
    if verdict == "unknown" or not found["headroom_bytes"].given:
        return [f"{model} with {engine} needs ", size(found["needed_bytes"]), " for ", *load, ". ", *_smallest(found)]
    on = f" on {device} with {engine}"
    left = distance(found["headroom_bytes"])
    if verdict == "does_not_fit":
        return [
            f"{model} does not fit{on} for ",
            *load,
            ": ",
            left,
            f" are missing{_where(found)}{_waits(found)}. ",
            *_still(found),
            *_smallest(found),
        ]
    word = "fits" if verdict == "fits" else "probably fits"
    return [f"{model} {word}{on} for ", *load, ", and ", left, f" are left{_where(found)}. ", *_still(found)]


def load_of(workload: Part, before: str) -> tuple[Words, ...]:
    """The load, as the beginning of a sentence."""
    return (before, *_load(workload), ", ")


def _load(workload: Part) -> list[Words]:
    each = " tokens each" if workload["batch"].whole != 1 else " tokens"
    return [_users(workload["batch"]), " of ", count(workload["ctx_tokens"]), each]


def _where(found: Part) -> str:
    """Which of several cards the numbers speak of."""
    return " on the fullest card" if found["device.n_devices"].whole > 1 else ""


def _waits(found: Part) -> str:
    """What a pool that doesn't hold the load comes to: no failure, a queue."""
    queued = any(finding["rule"].text == "KV325" for finding in found["findings"])
    return f"; {found['engine.name'].text} starts, and lets some of them wait" if queued else ""


def _users(batch: Part) -> Words:
    found = count(batch)
    return found._replace(text=f"{found.text} user{'' if batch.whole == 1 else 's'}")


def _still(found: Part) -> list[Words]:
    """How many fit at this length for certain, and how long a context may be."""
    longest, most = found["capacity.max_ctx_tokens"], found["capacity.max_batch"]
    if not longest.given or not most.given:
        return []
    if not longest.whole and not most.whole:
        return ["No context fits, however short. "]
    fits = "fit" if most.whole > 1 else "fits"
    for_certain: list[Words] = ["At that length ", _users(most) if most.whole else "nobody", f" {fits} for certain"]
    return for_certain + (["; ", _whoever(found), " up to ", count(longest), f" tokens{_how_sure(found)}. "] if longest.whole else [". "])


def _whoever(found: Part) -> str:
    batch = found["workload.batch"].whole
    if found["capacity.n_blocks"].given:
        return "one user alone gets"
    return "one user gets" if batch == 1 else f"each of {batch:,} gets"


def _how_sure(found: Part) -> str:
    """The longest sequence that a pool takes is the best estimate, any other longest context is certain."""
    return ", by the best estimate" if found["capacity.n_blocks"].given else ""


def _who(found: Part) -> str:
    """For whom the longest context is."""
    batch = found["workload.batch"].whole
    one = found["capacity.n_blocks"].given or batch == 1
    return f"for one user{_how_sure(found)}" if one else f"for each of {batch:,}"


def _smallest(found: Part) -> list[Words]:
    names = [_node(one) for one in found["fits_on"]]
    if names:
        return [f"The smallest that would do: {', '.join(names)}."]
    return [] if found["verdict"].text in ("fits", "tight") else ["Nothing in the catalogue would do."]


def _node(candidate: Part) -> str:
    n_devices = candidate["n_devices"].whole
    return f"{n_devices:,} × {candidate['gpu'].text}" if n_devices > 1 else candidate["gpu"].text


def _tiles(found: Part, verdict: str, device: str, usable: Part) -> list[Tile]:
    ctx, left = count(found["workload.ctx_tokens"]), found["headroom_bytes"]
    load: tuple[Words, ...] = ("for ", _users(found["workload.batch"]), " × ", ctx, " tokens")
    longest = found["capacity.max_ctx_tokens"]
    if not usable.given or not left.given:
        smallest = next(map(_node, found["fits_on"]), "–")
        needs = Tile("What does it need?", (size(found["needed_bytes"]),), load)
        others = (Tile(question, ("–",), ("name a GPU to know",)) for question in ("How long a context?", "How many users?"))
        return [needs, Tile("On what?", (smallest,), ("the smallest that would do",)), *others]
    margin: tuple[Words, ...] = (distance(left), " left " if left.whole >= 0 else " short ")
    return [
        Tile("Does it fit?", (SAID.get(verdict, "–"),), (*(margin if verdict != "refused" else ()), *load), verdict),
        Tile("On what?", (device,), (size(usable), f" usable{_where(found)}")),
        Tile("How long a context?", (some(longest), " tokens" if longest.value else ""), (_who(found),)),
        _users_tile(found, verdict, ctx),
    ]


def _users_tile(found: Part, verdict: str, ctx: Figure) -> Tile:
    """How many at once: those that were asked for where they probably fit, else those that do for certain."""
    most = some(found["capacity.max_batch"])
    if verdict == "tight":
        return Tile("How many users?", ("probably ", count(found["workload.batch"])), (most, " for certain, ", ctx, " tokens each"))
    return Tile("How many users?", (most,), ("at once for certain, ", ctx, " tokens each"))
