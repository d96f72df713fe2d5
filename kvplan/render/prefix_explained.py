"""How the figures of a replay come about."""

from collections.abc import Iterator

from kvplan.core.engine import Capacity
from kvplan.prefixes import Prefix
from kvplan.prefixes.serving import Serving


def explanation(found: Prefix) -> str:
    """The rules, with the numbers that they have here."""
    return "\n".join(["how it is counted", *(f"  {line}" for line in _lines(found))])


def _pool(serving: Serving, capacity: Capacity) -> str:
    if serving.engine != "vllm":
        return f"pool: {serving.pool_tokens:,} tokens of the estimate"
    groups = f", of {serving.n_groups} groups of layers" if serving.n_groups > 1 else ""
    return f"pool: {capacity.n_blocks:,} blocks of the estimate less the null block{groups}"


def _lines(found: Prefix) -> Iterator[str]:
    serving, block = found.serving, found.serving.block_tokens
    if serving.n_slots is not None:
        yield "a request takes the slot whose last prompt has over a tenth of its tokens, else the oldest; the common beginning is found"
        yield "source: llama.cpp tools/server, --slot-prompt-similarity"
    else:
        yield f"found of a prompt of n tokens: the full blocks that it begins with, at most floor((n − 1) / {block:,}) · {block:,} tokens"
        yield "a block is known by its parent and its tokens; those used longest ago go first, of one request its tail before its head"
        yield "one request after the other, in the order of the log; hit rate = tokens found / prompt tokens"
        yield "source: vLLM docs/design/prefix_caching.md; sglang's tree of tokens is blocks of one token"
    if serving.pool_from == "estimate" and serving.estimate is not None and serving.estimate.capacity is not None:
        yield _pool(serving, serving.estimate.capacity)
    if found.warmth is not None and found.warmth.warm is not None:
        seen, pool = found.warmth, serving.pool_tokens or 0
        yield f"warm sessions: ({pool:,} − {seen.shared_tokens:,}) / {seen.tokens_per_session:,} = {seen.warm:,}"
    if serving.n_slots is None:
        yield "pools of other sizes, from the same replay: each finds what fewer blocks were used since than it has (Mattson et al. 1970)"
    if found.savings.flops is not None:
        yield "operations: 2 · active parameters · tokens, and attention over what each token sees"
    if found.chat is not None and found.chat.kept is not None and found.chat.kept.load_s is not None:
        yield "from the host's memory: bytes over 50 to 95 % of the bus (PCIe, 16 lanes, one way); computed: a prompt of that length"
    if found.breaks is not None:
        yield "breaks: each request beside the earlier one that it is most like; a difference counts where 64 signs are alike behind it"
        yield "mended: the same requests once more, with these pieces at the end of the prompt, or in one order or form"
