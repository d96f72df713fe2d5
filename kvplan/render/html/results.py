"""What other commands answered in words: proposals, checked files, findings."""

from typing import NamedTuple

from kvplan.render.html.figures import Figure, Span, Words, count, rate_span, size, some
from kvplan.render.html.grid import VERDICTS
from kvplan.render.html.part import Part
from kvplan.render.shell import line


class Proposal(NamedTuple):
    """A command that fits for certain."""

    command: str
    needed: Figure
    left: Figure
    longest: Words
    users: Words
    tokens: Span | None
    quality: str
    why: str
    checkpoint: str


class Advice(NamedTuple):
    """A recommendation."""

    file: str
    title: str
    proposals: tuple[Proposal, ...]


class Deployment(NamedTuple):
    """A server of a checked file."""

    where: str
    name: str
    engine: str
    model: str
    context: Words
    gpu: str
    needed: Figure | None
    usable: Figure | None
    verdict: str
    words: str


class Note(NamedTuple):
    """A finding or a refusal."""

    level: str
    rule: str
    where: str
    message: str
    hint: str
    fixes: tuple[str, ...] = ()


class Check(NamedTuple):
    """Checked files."""

    file: str
    deployments: tuple[Deployment, ...]
    notes: tuple[Note, ...]


def advice(result: Part) -> Advice:
    """A recommendation's view."""
    found = result["answer"]
    n_devices = found["device.n_devices"].whole if found["device.n_devices"].given else 0
    device = found["device.id"].text or ("this budget" if n_devices else "no GPU")
    title = f"{found['model'].text} on {f'{n_devices} × ' if n_devices > 1 else ''}{device}"
    goal = found["goal"].text
    return Advice(result["file"].text, f"{title} · goal {goal}" if goal else title, tuple(map(_proposal, found["proposals"])))


def _proposal(one: Part) -> Proposal:
    return Proposal(
        line([word.text for word in one["command"]]),
        size(one["needed_bytes"]),
        size(one["headroom_bytes"]),
        some(one["capacity.max_ctx_tokens"]),
        some(one["capacity.max_batch"]),
        rate_span(one["performance.decode_tokens_per_s"]),
        one["quality_risk.text"].text,
        one["why"].text,
        one["checkpoint.how"].text if one["needs_checkpoint"].on else "",
    )


def in_words(one: Advice) -> tuple[Words, ...]:
    """What to run, in a sentence."""
    if not one.proposals:
        return (f"Nothing fits for certain: {one.title}.",)
    first = one.proposals[0]
    return (f"{one.title}: {first.command} fits for certain with ", first.left, " left, for ", first.users, " users at once.")


def checked_in_words(one: Check) -> str:
    """How many servers fit, in a sentence."""
    bad = [server.where for server in one.deployments if server.verdict == "does_not_fit"]
    if bad:
        return f"{len(bad):,} of {len(one.deployments):,} deployments in {one.file} do not fit: {', '.join(bad)}."
    unknown = sum(server.verdict == "unknown" for server in one.deployments)
    return f"No deployment of {len(one.deployments):,} is known not to fit{f'; {unknown:,} are unknown' if unknown else ''}."


def check(result: Part) -> Check:
    """A check's view."""
    found = result["answer"]
    return Check(result["file"].text, tuple(map(_deployment, found["deployments"])), tuple(map(note, found["findings"])))


def _deployment(one: Part) -> Deployment:
    verdict = one["verdict"].text if one["verdict"].text in VERDICTS else "unknown"
    gpus = f"{one['n_gpus'].whole:,} × " if one["n_gpus"].given and one["n_gpus"].whole > 1 else ""
    return Deployment(
        f"{one['file'].text}:{one['line'].whole}",
        one["name"].text,
        f"{one['engine'].text} {one['version'].text}".strip(),
        one["model"].text,
        count(one["ctx_tokens"]) if one["ctx_tokens"].given else "",
        f"{gpus}{one['gpu'].text}" if one["gpu"].given else "",
        size(one["needed_bytes"]) if one["needed_bytes"].given else None,
        size(one["usable_bytes"]) if one["usable_bytes"].given else None,
        verdict,
        VERDICTS[verdict],
    )


def note(one: Part) -> Note:
    """A finding's view."""
    where = f"{one['file'].text}:{one['line'].whole}" if one["file"].given and one["line"].given else ""
    fixes = (f"{fix['flag'].text}: {fix['from'].text} → {fix['to'].text}" for fix in one["fixes"])
    return Note(one["level"].text, one["rule"].text, where, one["message"].text, one["hint"].text, tuple(fixes))
