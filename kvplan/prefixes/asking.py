"""What is asked of a log, or of a made-up chat."""

from typing import TYPE_CHECKING, NamedTuple

from kvplan.core.errors import RequestError
from kvplan.core.units import parse_count
from kvplan.estimator import Options

if TYPE_CHECKING:
    from typing import TypedDict

    class Keywords(TypedDict, total=False):
        """The options of ``kvplan.prefix`` beside those of an estimate."""

        block: int | str
        pool_tokens: int | str
        slots: int | str
        tokenizer: str
        rendering: str
        skip_bad: bool


RENDERINGS = ("plain", "template")


class Asked(NamedTuple):
    """A model on an engine and a card (``options``), or a pool by its size, and how a log is read.

    ``block`` are tokens in a block, ``pool_tokens`` those of the pool, ``slots`` those of llama.cpp's server; None where nothing was said.
    """

    options: Options = Options()
    block: int | None = None
    pool_tokens: int | None = None
    slots: int | None = None
    tokenizer: str | None = None
    rendering: str = "template"
    skip_bad: bool = False


def asked(options: Options, said: "Keywords") -> Asked:
    """The question in these words. Raises RequestError for a count that is none, or a rendering that nobody knows."""
    counts = {name: _count(name, said.get(name)) for name in ("block", "pool_tokens", "slots")}
    rendering = said.get("rendering") or "template"
    if rendering not in RENDERINGS:
        raise RequestError("usage", f"--rendering: expected plain or template, found '{rendering}'", hint="template is the default")
    return Asked(options, **counts, tokenizer=said.get("tokenizer"), rendering=rendering, skip_bad=bool(said.get("skip_bad")))


def _count(name: str, value: object) -> int | None:
    return None if value is None else parse_count(str(value), option=f"--{name.replace('_', '-')}")
