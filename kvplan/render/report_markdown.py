"""A sizing report as Markdown, for a pull request: what the page says, without its charts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kvplan.render.formats.markdown import cell, code
from kvplan.render.html.figures import Figure, Span, Words
from kvplan.render.html.grid import Cell
from kvplan.render.html.part import Part
from kvplan.render.html.quality import Quality
from kvplan.render.html.results import Advice, Check, Note
from kvplan.render.html.runs import Run, Sweep, TermRow
from kvplan.render.html.view import Page, Subject, page


def text(document: Mapping[str, object]) -> str:
    """The whole report, ending in a newline. Raises RequestError where that holds something else than kvplan's answers."""
    found = page(Part(document))
    blocks = [f"<!-- made by kvplan {found.kvplan} -->", f"# {cell(found.title)}", *_side_by_side(found)]
    for one in found.subjects:
        blocks += _subject(one, heading=len(found.subjects) > 1)
    blocks += [block for one in found.advice for block in _advice(one)] + [block for one in found.runs for block in _run(one)]
    blocks += [block for one in found.checks for block in _check(one)] + [block for one in found.sweeps for block in _sweep(one)]
    blocks += [block for one in found.qualities for block in _quality(one)]
    blocks += ["## Make this report again", _fenced(found.command)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _side_by_side(found: Page) -> Iterator[str]:
    for answer in found.answers:
        yield cell(_words(answer))
    if len(found.subjects) > 1:
        heads = ("choice", "fits?", "longest context", "users at once", "needed", "usable", "tokens/s")
        yield _table(heads, (_choice(one) for one in found.subjects))


def _choice(one: Subject) -> Sequence[str]:
    row = one.head.row
    sizes = (_span(row.needed), _word(row.usable or "–"), _span(row.tokens))
    return (cell(one.head.label), one.head.said, _word(row.longest), _word(row.users), *sizes)


def _subject(one: Subject, *, heading: bool) -> Iterator[str]:
    if heading:
        yield f"## {cell(one.head.label)}"
    yield f"**{cell(_words(one.head.sentence).strip())}**"
    yield _table(("", ""), ((cell(tile.question), f"{_words(tile.answer)}: {cell(_words(tile.about))}") for tile in one.head.tiles))
    for ledger in one.ledgers:
        rows = [(cell(row.name.text), _word(row.size.best), _bounds(row.size), row.basis) for row in ledger.rows]
        rows.append(("**needed**", _word(ledger.needed.best), _bounds(ledger.needed), ""))
        yield _table((ledger.place, "size", "interval", "basis"), rows)
    if one.speed is not None:
        rungs = ((_word(row.concurrency), _word(row.needed.best), _span(row.tokens), _span(row.first)) for row in one.speed.rows)
        yield _table(("users at once", "needed", "tokens/s in all", "first token, s"), rungs)
    yield _fenced(one.command)
    yield "\n".join(map(_note, one.notes))


def _advice(one: Advice) -> Iterator[str]:
    yield f"## Recommended: {cell(one.title)}"
    for proposal in one.proposals:
        yield _fenced(proposal.command)
        yield f"Needs {_word(proposal.needed)}, {_word(proposal.left)} left. {cell(proposal.why)}"


def _run(one: Run) -> Iterator[str]:
    yield f"## Measured beside estimated\n\n{'Agrees' if one.ok else '**Does not agree**'}: {cell(one.title)}"
    yield _table(("term", "phase", "estimate", "measured", "agrees"), map(_term, one.terms))


def _term(row: TermRow) -> Sequence[str]:
    return (cell(row.term), cell(row.phase), _span(row.estimate), _word(row.measured), row.agrees)


def _check(one: Check) -> Iterator[str]:
    yield "## Checked deployments"
    servers = ((code(row.where), cell(row.engine), cell(row.model), cell(row.gpu), row.words) for row in one.deployments)
    yield _table(("where", "engine", "model", "GPU", "verdict"), servers)
    yield "\n".join(map(_note, one.notes)) or "No findings."


def _note(note: Note) -> str:
    hint = f" What to do: {note.hint}" if note.hint else ""
    return f"- {cell(f'{note.level} {note.rule} {note.where}'.strip() + f': {note.message}.{hint}')}"


def _sweep(one: Sweep) -> Iterator[str]:
    yield f"## Sweep: {cell(one.title)}"
    for found in one.maps:
        rows = ((line.batch, *(_cell(one) for one in line.cells)) for line in found.lines)
        yield _table((cell(found.title) or "batch", *found.heads), rows)


def _quality(one: Quality) -> Iterator[str]:
    yield f"## Quality of quantized caches: {cell(one.title)}"
    rows = ((code(row.name), *map(_word, row.cells), row.words) for row in one.rows)
    yield _table((*one.heads, "verdict"), rows)


def _cell(one: Cell | None) -> str:
    return "" if one is None else f"{one.sign} {one.needed.text}" if one.needed else one.sign


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(row) for row in (heads, ["---"] * len(heads), *rows)]
    return "\n".join(f"| {line} |" for line in lines)


def _word(one: Words) -> str:
    return one.text if isinstance(one, Figure) else one


def _words(several: Iterable[Words]) -> str:
    return "".join(map(_word, several))


def _bounds(span: Span) -> str:
    return "–" if span.low is None or span.high is None else f"{span.low.text} – {span.high.text}"


def _span(span: Span | None) -> str:
    if span is None:
        return "–"
    return span.best.text if span.low is None else f"{span.best.text} ({_bounds(span)})"


def _fenced(command: str) -> str:
    """A command as code, its lines and fences harmless."""
    plain = " ".join(command.split())
    fence = "```"
    while fence in plain:
        fence += "`"
    return f"{fence}sh\n{plain}\n{fence}"
