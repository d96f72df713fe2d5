"""What keeps the prefixes: an engine's pool of blocks by its estimate, one of a size that was said, or slots."""

from typing import Literal, NamedTuple

from kvplan.core.errors import RequestError
from kvplan.core.ledger import Interval
from kvplan.estimator import Estimate, Options, answer
from kvplan.prefixes.asking import Asked
from kvplan.replay import Blocks, Shape, Slots

PoolFrom = Literal["estimate", "said", "endless"]
_SGLANG = "sglang"
_SLOTTED = ("llama.cpp", "ollama")
_DEFAULT_SLOTS = 4  # llama-server without -np; source: llama.cpp b11434 tools/server, -np auto
_DEFAULT_BLOCK = 16
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
        said = self.estimate.settings.get("max_model_len") if self.commanded else None
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
    if (options.engine or "").partition("@")[0] == _SGLANG:
        return _sized(asked, Serving(_SGLANG, None, asked.block or 1, None, "endless", None, 1, _model_alone(options)))
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
    if name != "vllm":
        raise RequestError("unknown_engine", f"unknown engine '{name}'", hint="known here: vllm, sglang, llama.cpp, ollama")
    said = bool(options.command or options.ctx)
    return _pool(asked, Serving(name, version, asked.block or _DEFAULT_BLOCK, None, "endless", None, 1, found, said))


def _check(asked: Asked) -> None:
    options = asked.options
    if options.model is None and not options.command and (options.gpu or options.budget):
        raise RequestError(
            "contradiction", "--gpu says where, and no --model says what leaves room there", hint="add --model, or say --pool-tokens"
        )
    name = (options.engine or "").partition("@")[0]
    if asked.slots is not None and name not in _SLOTTED and not options.command:
        raise RequestError("contradiction", "--slots are llama.cpp's", hint="add --engine llama.cpp")


def _model_alone(options: Options) -> Estimate | None:
    """What counts a model's operations where its engine is not modeled."""
    if options.model is None:
        return None
    if options.gpu or options.budget or options.command:
        raise RequestError(
            "contradiction", "sglang's pool is not modeled", hint="say its size: --pool-tokens, as its log prints max_total_num_tokens"
        )
    return answer(options._replace(engine="vllm"), elsewhere=False)


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
    """vLLM's pool: blocks that the estimate leaves, less the one that is nobody's, shared by groups of layers that differ."""
    found, capacity = to.estimate, to.estimate.capacity if to.estimate else None
    if found is None or capacity is None or not capacity.block_tokens or not capacity.bytes_per_block:
        return _sized(asked, to)
    block = asked.block or capacity.block_tokens
    n_groups = max(1, -(-found.kv.bytes_per_token * capacity.block_tokens // capacity.bytes_per_block))
    to = to._replace(block_tokens=block, n_groups=n_groups)
    if asked.pool_tokens is not None or capacity.kv_budget is None or capacity.n_blocks is None:
        return _sized(asked, to)
    budgets = capacity.kv_budget
    size, per = capacity.block_tokens, capacity.bytes_per_block

    def blocks(n_blocks: int) -> int:
        return max(0, n_blocks - _NULL_BLOCKS) // n_groups * size // block

    pool = Interval(blocks(budgets.low // per), blocks(capacity.n_blocks), blocks(budgets.high // per))
    if not pool.best:
        raise RequestError(
            "no_pool",
            f"{found.model.id} leaves no room for a cache on {found.node.id or 'this budget'}",
            hint=f"`kvplan recommend {found.model.id} --gpu {found.node.id or 'any'}` finds settings that do; or say --pool-tokens",
        )
    return to._replace(pool_blocks=pool, pool_from="estimate")
