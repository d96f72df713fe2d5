"""What a cache of prefixes finds of real requests, what breaks it, what that costs; and the same of made-up chats."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kvplan.core.ledger import Finding
from kvplan.estimator import Options
from kvplan.prefixes import findings, summing
from kvplan.prefixes.answer import LogRead, Prefix
from kvplan.prefixes.asking import Asked, asked
from kvplan.prefixes.chat import Chat, Turn, requests, spec
from kvplan.prefixes.keeping import kept
from kvplan.prefixes.log import Log
from kvplan.prefixes.replaying import Replay
from kvplan.prefixes.request import Request
from kvplan.prefixes.saving import savings
from kvplan.prefixes.serving import Serving, served_by
from kvplan.prefixes.tokens import BYTES, tokens_by
from kvplan.replay import Blocks

if TYPE_CHECKING:
    from typing import Unpack

    from kvplan.estimator.options import Keywords as EstimateKeywords
    from kvplan.prefixes.asking import Keywords

    class All(EstimateKeywords, Keywords, total=False):
        """Every option of ``kvplan.prefix``."""

        model: str
        chat: str


Watched = Callable[[Iterable[Request]], Iterable[Request]]
__all__ = ["Asked", "Prefix", "of_chat", "of_log", "prefix"]

_OWN = ("block", "pool_tokens", "slots", "tokenizer", "rendering", "skip_bad")


def prefix(path: str | None = None, **options: "Unpack[All]") -> Prefix:
    """What a cache of prefixes finds of a log: ``prefix("requests.jsonl", model="llama-3.1-8b", gpu="l4")``, or of a made-up chat:
    ``prefix(chat="turns=20,user=200,answer=300,edit=5@3")``.

    Options are those of an estimate, and block, pool_tokens, slots, tokenizer, rendering, skip_bad. The answer has ``hit_rate`` (of prompt
    tokens), ``hit_tokens``, ``savings`` (operations, seconds to the first token), ``curve`` and ``thrash_tokens``, ``warmth`` (sessions)
    and ``breaks``. No hardware is probed. Raises KvplanError for a wrong request, a bad line of the log among them.
    """
    own = {name: value for name, value in options.items() if name in _OWN}
    chat = options.get("chat")
    rest = {name: str(value) for name, value in options.items() if name not in (*_OWN, "chat") and value is not None}
    unknown = next((name for name in rest if name not in Options._fields), None)
    if unknown is not None:
        raise TypeError(f"prefix() has no option '{unknown}'")
    question = asked(Options(command=(), **rest), own)  # type: ignore[arg-type]  # text by name, which the check above holds
    if (path is None) == (chat is None):
        raise TypeError("prefix() takes a file of requests or chat=, and one of them")
    return of_chat(str(chat), question) if path is None else of_log(path, question)


def of_log(path: str, question: Asked, *, probe: bool = False, watched: Watched = iter) -> Prefix:
    """The answer for a file of requests, ``-`` for stdin; ``watched`` hands requests on and may tell how far it is.

    Raises RequestError like its parts.
    """
    served = served_by(question, probe=probe)
    log = Log(path, skip_bad=question.skip_bad)
    words = tokens_by(question.tokenizer, question.options.model, templated=question.rendering == "template")
    replay = Replay(words, served.cache()).feed(watched(log))
    kinds = {kind: replay.kinds[kind] for kind in ("chat", "text", "ids")}
    read = LogRead(log.name, log.n_lines, log.n_skipped, kinds, replay.n_answered, words.how, words.source, words.rendering)
    breaks = summing.breaks(replay, served)
    said = (*findings.of_log(log, replay), *findings.of_breaks(breaks.causes if breaks else ()))
    return _answer(replay, served, said)._replace(log=read, breaks=breaks)


def of_chat(said: str, question: Asked, *, probe: bool = False) -> Prefix:
    """The answer for the chats that ``said`` describes. Raises RequestError like its parts."""
    asked_for = spec(said)
    served = served_by(question, probe=probe, in_chat=True)
    replay = Replay(BYTES, served.cache())
    sums = {turn: [0, 0, 0] for turn in range(1, asked_for.turns + 1)}
    end = 0
    for sent in requests(asked_for):
        hits = replay.serve(sent.request)
        n_prompt = len(sent.request.ids or b"") // 4
        added = (n_prompt, hits or 0, sent.before - sent.unchanged)
        sums[sent.turn] = [a + b for a, b in zip(sums[sent.turn], added, strict=True)]
        end = n_prompt + asked_for.answer
    turns = tuple(Turn(turn, *three) for turn, three in sums.items())
    chat = Chat(asked_for, turns, kept(served.estimate, end) if served.estimate else None)
    return _answer(replay, served, ())._replace(chat=chat)


def _answer(replay: Replay, served: Serving, said: Iterable[Finding]) -> Prefix:
    """What a log and a chat have in common."""
    pooled = isinstance(replay.cache, Blocks) and replay.n_requests > 0
    thrash = summing.thrash_blocks(replay.cache) * served.block_tokens if isinstance(replay.cache, Blocks) and pooled else None
    pool = served.pool_blocks
    return Prefix(
        log=None,
        chat=None,
        serving=served,
        n_requests=replay.n_requests,
        n_too_long=replay.n_too_long,
        prompt_tokens=replay.prompt_tokens,
        hit_tokens=replay.hit_tokens,
        output_tokens=replay.output_tokens,
        hit_rate=replay.hit_rate,
        hit_range=(summing.rate(replay, pool.low), summing.rate(replay, pool.high)) if pool is not None and pooled else None,
        endless_rate=replay.endless / max(1, replay.prompt_tokens),
        thrash_tokens=thrash,
        curve=summing.curve(replay, pool) if pooled else (),
        warmth=summing.warmth(replay, served),
        savings=savings(replay.pairs, served.estimate),
        breaks=None,
        findings=(*findings.of_cache(replay, served, thrash), *said, *findings.of_engine(replay, served)),
    )
