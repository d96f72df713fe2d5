"""What keeps the prefixes: an engine's pool of blocks by its estimate, one of a size that was said, or slots."""

from typing import Literal, NamedTuple

from kvplan.core.engine import Capacity
from kvplan.core.errors import RequestError
from kvplan.core.ledger import Interval
from kvplan.estimator import Estimate, answer
from kvplan.prefixes.asking import Asked
from kvplan.replay import Blocks, Shape, Slots

PoolFrom = Literal["estimate", "said", "endless"]
_POOLED = {"vllm": 16, "sglang": 1}
"""Engines with a pool, and tokens of a block where no estimate says it."""
_SLOTTED = ("llama.cpp", "ollama")
_DEFAULT_SLOTS = 4  # llama-server without -np; source: llama.cpp b11434 tools/server, -np auto
_NULL_BLOCKS = 1  # vLLM's block 0 is nobody's; source: v1/core/block_pool.py


class Serving(NamedTuple):
    """An engine with what it keeps.

    ``block_tokens`` is 1 where tokens are found one by one. ``pool_blocks`` has the bounds of the estimate, None where the pool has no
    end; ``n_slots`` is None for a pool. ``n_groups`` blocks are taken for each block of tokens. ``estimate`` is None without a model;
    ``commanded``: somebody said its settings.
    """

    engine: str
    version: str | None
    block_tokens: int
    pool_blocks: Interval | None
    pool_from: PoolFrom
    n_slots: int | None
    n_groups: int
    estimate: Estimate | None
    commanded: bool = False

    @property
    def limit_tokens(self) -> int | None:
        """The longest sequence that the model was made for, or that the settings allow where somebody said how much."""
        if self.estimate is None:
            return None
        settings = self.estimate.settings if self.commanded else {}
        said = settings.get("max_model_len", settings.get("context_length"))
        return said if isinstance(said, int) else self.estimate.model.max_ctx_tokens

    @property
    def shape(self) -> Shape:
        """The pool, as the best guess has it."""
        return Shape(self.block_tokens, None if self.pool_blocks is None else self.pool_blocks.best)

    @property
    def pool_tokens(self) -> int | None:
        """Tokens that the pool holds, None without end."""
        return None if self.pool_blocks is None else self.pool_blocks.best * self.block_tokens

    def cache(self) -> Blocks | Slots:
        """An empty cache of this kind."""
        return Blocks(self.shape) if self.n_slots is None else Slots(self.n_slots)


def served_by(asked: Asked, *, probe: bool, in_chat: bool = False) -> Serving:
    """What serves these requests. Raises RequestError for an engine that keeps no prefixes, and a model that leaves no room for any."""
    options = asked.options
    _check(asked)
    found = None
    if options.model is not None or options.command:
        engine = options.engine if options.engine or options.command else "vllm"
        found = answer(options._replace(engine=engine), probe=probe, elsewhere=False)
    name = found.engine if found else (options.engine or "vllm").partition("@")[0]
    version = found.version if found else None
    if name in _SLOTTED:
        return Serving(name, version, 1, None, "endless", asked.slots or _slots(asked, found), 1, found)
    if name == "transformers":
        if not in_chat:
            raise RequestError(
                "no_prefix_cache",
                "transformers keeps no prefix between calls: past_key_values are handed on by your own code",
                hint="--engine vllm, sglang or llama.cpp; --chat shows what handing them on saves",
            )
        return Serving(name, version, 1, None, "endless", None, 1, found)
    if name not in _POOLED:
        raise RequestError("not_modeled", f"what '{name}' keeps of prefixes is not modeled", hint="known: vllm, sglang, llama.cpp, ollama")
    said = bool(options.command or options.ctx)
    return _pool(asked, Serving(name, version, asked.block or _POOLED[name], None, "endless", None, 1, found, said))


def _check(asked: Asked) -> None:
    options = asked.options
    if options.model is None and not options.command and (options.gpu or options.budget):
        raise RequestError(
            "contradiction", "--gpu says where, and no --model says what leaves room there", hint="add --model, or say --pool-tokens"
        )
    name = (options.engine or "").partition("@")[0]
    if asked.slots is not None and name not in _SLOTTED and not options.command:
        raise RequestError("contradiction", "--slots are llama.cpp's", hint="add --engine llama.cpp")


def _slots(asked: Asked, found: Estimate | None) -> int:
    told = found.settings.get("n_seq_max") if found and (asked.options.command or asked.options.batch) else None
    return told if isinstance(told, int) else _DEFAULT_SLOTS


def _sized(asked: Asked, to: Serving) -> Serving:
    """With the pool that was said, if one was."""
    if asked.pool_tokens is None:
        return to
    n_blocks = asked.pool_tokens // to.block_tokens
    if not n_blocks:
        raise RequestError(
            "bad_number",
            f"--pool-tokens {asked.pool_tokens}: not one block of {to.block_tokens}",
            hint="a larger pool, or a smaller --block",
        )
    return to._replace(pool_blocks=Interval(n_blocks, n_blocks, n_blocks), pool_from="said")


def _pool(asked: Asked, to: Serving) -> Serving:
    """The pool that the estimate leaves, or that was said."""
    found, capacity = to.estimate, to.estimate.capacity if to.estimate else None
    if found is None or capacity is None or not capacity.block_tokens or not capacity.bytes_per_block:
        return _sized(asked, to)
    block = asked.block or capacity.block_tokens
    n_groups = max(1, -(-found.kv.bytes_per_token * capacity.block_tokens // capacity.bytes_per_block)) if to.engine == "vllm" else 1
    to = to._replace(block_tokens=block, n_groups=n_groups)
    tokens = _vllm_tokens(capacity, n_groups) if to.engine == "vllm" else capacity.kv_tokens
    if asked.pool_tokens is not None or tokens is None:
        return _sized(asked, to)
    pool = Interval(*(n // block for n in tokens))
    if not pool.best:
        raise RequestError(
            "no_pool",
            f"{found.model.id} leaves no room for a cache on {found.node.id or 'this budget'}",
            hint=f"{_way_out(found)}; or say --pool-tokens",
        )
    return to._replace(pool_blocks=pool, pool_from="estimate")


def _vllm_tokens(capacity: Capacity, n_groups: int) -> Interval | None:
    """Tokens of vLLM's blocks, less the one that is nobody's, shared by groups of layers that differ."""
    budgets, size, per = capacity.kv_budget, capacity.block_tokens, capacity.bytes_per_block
    if budgets is None or capacity.n_blocks is None or not size or not per:
        return None
    return Interval(*(max(0, n - _NULL_BLOCKS) // n_groups * size for n in (budgets.low // per, capacity.n_blocks, budgets.high // per)))


def _way_out(found: Estimate) -> str:
    if found.engine != "vllm":
        return "take a larger card, or fewer bits"
    return f"`kvplan recommend {found.model.id} --gpu {found.node.id or 'any'}` finds settings that do"
