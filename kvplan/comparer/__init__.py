"""Estimates side by side: where the bytes differ, and what that does to context and concurrency."""

from typing import TYPE_CHECKING, NamedTuple

from kvplan.comparer.differences import Change, Row, changes, rows
from kvplan.comparer.sides import Side, sides
from kvplan.core.errors import RequestError
from kvplan.estimator import Estimate, answer
from kvplan.estimator.options import in_words

if TYPE_CHECKING:
    from typing import Unpack

    from kvplan.estimator.options import Keywords

__all__ = ["Change", "Comparison", "Row", "Side", "compare", "compared", "sides"]


class Comparison(NamedTuple):
    """``answers`` stand in the order of ``sides``; ``rows`` are bytes by term on the fullest place of each, ``changes`` what each side
    gives beside the first."""

    sides: tuple[Side, ...]
    answers: tuple[Estimate, ...]
    rows: tuple[Row, ...]
    changes: tuple[Change, ...]


def compare(*models: str, **options: "Unpack[Keywords]") -> Comparison:
    """Side by side: ``compare("qwen3-8b", "llama-3.1-8b", gpu="l4")``, ``compare("qwen3-8b", engine="vllm@0.19.0,vllm@0.33.0")``.

    Options are those of ``estimate``; lists with commas in engine, gpu, dtype, kv_dtype, ctx, batch and tp make more sides. Raises
    KvplanError for a wrong request, also where there is one side only.
    """
    return compared(sides(in_words("", options), models, ()))


def compared(asked: tuple[Side, ...]) -> Comparison:
    """The answers to ``asked``, and how they differ. Raises RequestError for fewer than two."""
    if len(asked) < 2:
        raise RequestError(
            "usage", "one side only: nothing to compare", hint="name two models, or a list: --engine vllm@0.19.0,vllm@0.33.0"
        )
    answers = tuple(answer(side.options) for side in asked)
    return Comparison(_told_apart(asked, answers), answers, rows(answers), changes(answers))


def _told_apart(asked: tuple[Side, ...], answers: tuple[Estimate, ...]) -> tuple[Side, ...]:
    """The sides; commands, which are told by their number, with the engine and version that they name where those differ."""
    engines = [f"{found.engine}@{found.version}" for found in answers]
    if len({side.options.command for side in asked}) == 1 or len(set(engines)) == 1 or any(side.options.engine for side in asked):
        return asked
    return tuple(side._replace(label=f"{side.label} · {engine}") for side, engine in zip(asked, engines, strict=True))
