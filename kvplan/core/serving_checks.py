"""What servers with tensor parallelism refuse alike, each in its own words, and what they should be told alike."""

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.core.device import Node
from kvplan.core.ledger import Finding, Interval, Refusal
from kvplan.core.model import ModelSpec
from kvplan.core.pooled import Rank, sized
from kvplan.core.splitting import head_counts
from kvplan.core.units import GIB


def split(model: ModelSpec, node: Node, tp: int, n_devices: int, *, attention_tp: int | None = None) -> tuple[Refusal, ...]:
    """No to heads that can't be shared out evenly, and to more GPUs than there are.

    Source: sglang 0.5.23 srt/models/llama.py, LlamaAttention (assertions); text-generation-inference 3.3.7 models/flash_causal_lm.py;
    TensorRT-LLM 1.1 tensorrt_llm/mapping.py.
    """
    if node.source == "flag" and node.gpus and n_devices > len(node.gpus):
        return (Refusal("KV353", "config", f"{n_devices} ranks need as many GPUs, and {len(node.gpus)} are there"),)
    heads, kv_heads = head_counts(model)
    ways = tp if attention_tp is None else attention_tp
    if heads % ways:
        return (Refusal("KV352", "config", f"{heads} attention heads can't be shared out evenly over {ways} ranks"),)
    if kv_heads and (kv_heads % ways if kv_heads >= ways else ways % kv_heads):
        return (Refusal("KV352", "config", f"{kv_heads} KV heads can neither be shared out nor repeated evenly over {ways} ranks"),)
    return ()


def too_large(loaded: Interval, taken: Interval, node: Node) -> tuple[Refusal, ...]:
    """Weights that are more than the smallest card has beside what CUDA takes of it."""
    cards = [place.usable_bytes or 0 for place in node.places() if place.id != "host"] if node.gpus else []
    if not cards or loaded.best <= min(cards) - taken.best:
        return ()
    text = f"CUDA out of memory: a rank's weights take {loaded.best / GIB:.2f} GiB of a card that has {min(cards) / GIB:.2f} GiB"
    return (Refusal("KV354", "load", text),)


def states(model: ModelSpec) -> tuple[Refusal, ...]:
    """No to mixers that none of these servers runs."""
    strange = next((m.kind for run in model.runs for m in run.layer.mixers if m.kind in ("rwkv", "rg_lru")), None)
    return () if strange is None else (Refusal("KV355", "config", f"no class of this engine runs {strange} layers"),)


class Longest(NamedTuple):
    """A context as the command says it, None where it does not, and by which flag; what the engine does where its pool holds less, and
    what helps."""

    asked: int | None
    flag: str
    then: str
    hint: str


def short(longest: Longest, ranks: tuple[Rank, ...]) -> Iterator[Finding]:
    """A context that was asked for and that the pool does not hold."""
    asked, found = longest.asked, sized(ranks, 1)
    if asked is None or ranks[0].budget is None or not found.tokens:
        return
    holds = ranks[0].pool.longest(found.tokens, found.slots, asked)
    if holds < asked:
        message = f"{longest.flag} {asked}: the pool holds sequences of up to {holds:,} tokens; {longest.then}"
        yield Finding("KV356", "warning", message, longest.hint)
