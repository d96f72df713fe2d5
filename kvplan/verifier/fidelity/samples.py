"""What a model is asked: questions whose answers are known, made here and always the same, and plain text; or those of a file."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kvplan.core.errors import RequestError
from kvplan.verifier.fidelity import phrases

TEXTS = Path(__file__).parent / "texts"
MOST_BYTES = 2**24
_HINT = 'one JSON object a line: {"prompt": "2 + 2 =", "answer": "4"}, or {"text": "…"} for perplexity alone'


class Sample(NamedTuple):
    """A prompt that the model goes on from, and its answer; plain text, which is only read, has none."""

    name: str
    kind: str
    prompt: str
    answer: str | None = None

    @property
    def is_text(self) -> bool:
        """Whether it is only read."""
        return self.answer is None


def matches(output: str, answer: str) -> bool:
    """Whether ``output`` begins with ``answer``, spaces apart, and does not go on with the same word or number."""
    wanted, found = " ".join(answer.split()), " ".join(output.split())
    rest = found.removeprefix(wanted)
    return found.startswith(wanted) and not (re.match(r"\w", rest) and re.search(r"\w$", wanted))


def built_in() -> tuple[Sample, ...]:
    """Arithmetic, code, copies, a name recalled over growing distances; then prose and code to read."""
    return (*_arithmetic(), *_code(), *_copies(), *_recalls(), *texts())


def texts() -> tuple[Sample, ...]:
    """The plain texts."""
    return tuple(Sample(f"text-{path.stem}", "text", path.read_text(encoding="utf-8")) for path in sorted(TEXTS.glob("*.txt")))


def _arithmetic() -> Iterator[Sample]:
    for i, (a, b) in enumerate(phrases.SUMS):
        shown = "".join(f"{x} + {y} = {x + y}\n" for x, y in phrases.SHOWN_SUMS)
        yield Sample(f"arithmetic-{i + 1}", "arithmetic", f"{shown}{a} + {b} =", str(a + b))


def _code() -> Iterator[Sample]:
    for i, (prompt, answer) in enumerate(phrases.FUNCTIONS):
        yield Sample(f"code-{i + 1}", "code", prompt, answer)


def _copies() -> Iterator[Sample]:
    """A list that stands there twice, to write once more, its first words given."""
    for n_words in (20, 44):
        words = [phrases.WORDS[(7 * i + 3) % len(phrases.WORDS)] for i in range(n_words)]
        given, rest = words[:3], words[3:]
        whole = ", ".join(words)
        prompt = f"The list: {whole}.\nThe list: {whole}.\nThe list: {', '.join(given)},"
        yield Sample(f"copy-{n_words}", "copy", prompt, ", ".join(rest))


def _recalls() -> Iterator[Sample]:
    """A name, then so many sentences about other things, then the question for it."""
    for i, n_sentences in enumerate((4, 16, 56)):
        name, thing = phrases.NAMES[i]
        between = " ".join(phrases.SENTENCES[(5 * j + i) % len(phrases.SENTENCES)] for j in range(n_sentences))
        prompt = f"The keeper of the {thing} is called {name}. {between} The keeper of the {thing} is called"
        yield Sample(f"recall-{n_sentences}", "recall", prompt, name)


def read(file: str) -> tuple[Sample, ...]:
    """The samples of a file, one JSON object a line; where none is plain text, the built-in texts are added.

    Raises RequestError for a file that can't be read, and with its number for a line that is none.
    """
    path = Path(file)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise RequestError("bad_samples", f"{file}: too large", hint="fewer samples: each is run with every cache")
        lines = path.read_bytes().split(b"\n")
    except OSError as problem:
        raise RequestError("bad_samples", f"{file}: {problem.strerror or problem}", hint="check the path") from None
    found = tuple(_sample(file, number, line) for number, line in enumerate(lines, 1) if line.strip())
    if not found:
        raise RequestError("bad_samples", f"{file}: no samples in it", hint=_HINT)
    return found if any(sample.is_text for sample in found) else (*found, *texts())


def _sample(file: str, number: int, line: bytes) -> Sample:
    def wrong(why: str) -> RequestError:
        return RequestError("bad_samples", f"{file}:{number}: {why}", hint=_HINT)

    try:
        data: object = json.loads(line)
    except (ValueError, RecursionError):
        raise wrong("expected a JSON object, found something else") from None
    if not isinstance(data, dict):
        raise wrong(f"expected a JSON object, found {json.dumps(data)[:40]}")
    keys, name = set(data) - {"id"}, data.get("id", f"line-{number}")
    if keys not in ({"prompt", "answer"}, {"text"}):
        raise wrong(f"expected the keys prompt and answer, or text, found {', '.join(sorted(data)) or 'none'}")
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise wrong("id: expected text or a number")
    for key in sorted(keys):
        if not isinstance(data[key], str) or not data[key].strip():
            raise wrong(f"{key}: expected text, found {json.dumps(data[key])[:40]}")
    if "text" in data:
        return Sample(str(name), "text", data["text"])
    return Sample(str(name), "yours", data["prompt"], data["answer"])
