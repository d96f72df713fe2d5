"""A prompt and the tokens after it, forward by forward, the way generate() runs them."""

import contextlib
import inspect

import torch
import transformers

from kvplan.verifier.child.held import cache_bytes
from kvplan.verifier.record import Job

# Up to 5.23 the cache went by other names; 5.24 calls it `cache` in every model.
_CACHE_NAMES = ("cache", "past_key_values", "cache_params")


class Loop:
    """What lives from one forward to the next: the cache, the tokens so far, the last logits."""

    def __init__(self, job: Job, module: "torch.nn.Module", device: str) -> None:
        """A random prompt on ``device``, and an empty cache, or none where the job wants none.

        Raises ValueError for a model whose forward takes no cache.
        """
        self._module = module
        self._config = module.config.get_text_config(decoder=True)
        self._uses_cache = job.use_cache
        self._generates = job.forward == "generate"
        self._cache_name = cache_name(module) if job.use_cache else None
        self._cache = _cache(job, module) if job.use_cache else None
        self._given = _arguments(module, job)
        self._ids = torch.randint(0, self._config.vocab_size, (job.batch, job.prompt_tokens), device=torch.device(device))
        self._next = self._ids
        self._padding = Padding(self._ids) if job.padded else None
        self._logits: torch.Tensor | None = None
        self._scores: torch.Tensor | None = None

    def held(self) -> tuple[int, int]:
        """Bytes of keys, values and the like, and of recurrent states."""
        return cache_bytes(self._cache)

    def decoding(self) -> "contextlib.AbstractContextManager[object]":
        """What generate() enters after the prefill, a plain forward not: on a GPU it gathers experts per token instead of grouping them."""
        enter = getattr(self._module, "_optimize_model_for_decode", None) if self._generates else None
        return enter() if enter else contextlib.nullcontext()

    def prefill(self) -> None:
        """One forward over the prompt."""
        self._forward()

    def decode(self) -> None:
        """The most likely next token, chosen in float32 as generate() does, and one forward over it; over all without a cache."""
        assert self._logits is not None
        self._scores = self._logits[:, -1].to(copy=True, dtype=torch.float32)  # those of the step before die only now
        chosen = torch.argmax(self._scores, dim=-1)[:, None]
        self._ids = torch.cat([self._ids, chosen], dim=-1)
        self._next = chosen if self._uses_cache else self._ids
        self._logits = None
        if self._padding:
            self._padding.grow()
        self._forward()

    def _forward(self) -> None:
        given = self._given | ({self._cache_name: self._cache} if self._cache_name else {})
        if self._padding:
            given |= self._padding.arguments(self._module, self._next.shape[-1])
        found = self._module(input_ids=self._next, **given)
        self._logits = found.logits
        if self._cache_name and self._cache is None:
            self._cache = found[self._cache_name]


class Padding:
    """What generate() makes of a batch whose first sequence is half as long as the others: a mask, and positions of each sequence.

    Source: transformers 5.24 generation/utils.py, _prepare_position_ids_for_generation and _update_model_kwargs_for_generation.
    """

    def __init__(self, ids: "torch.Tensor") -> None:
        """``ids`` are those of the prompt."""
        self._mask = torch.ones_like(ids)
        self._mask[0, : (ids.shape[-1] + 1) // 2] = 0
        self._positions = (self._mask.cumsum(-1) - 1).masked_fill(self._mask == 0, 0)

    def grow(self) -> None:
        """One more token in each sequence."""
        self._mask = torch.cat([self._mask, self._mask.new_ones((self._mask.shape[0], 1))], dim=-1)
        self._positions = torch.cat([self._positions, self._positions[:, -1:] + 1], dim=-1)

    def arguments(self, module: "torch.nn.Module", n_tokens: int) -> dict[str, object]:
        """What a forward over the last ``n_tokens`` is given of them, as far as it takes it."""
        takes = inspect.signature(module.forward).parameters
        whole = n_tokens == self._positions.shape[-1]
        given = {"attention_mask": self._mask, "position_ids": self._positions if whole else self._positions[:, -n_tokens:].clone()}
        return {name: tensor for name, tensor in given.items() if name in takes}


def _arguments(module: "torch.nn.Module", job: Job) -> dict[str, object]:
    takes = inspect.signature(module.forward).parameters
    last_only = job.forward == "generate" and "logits_to_keep" in takes
    return {"use_cache": job.use_cache, **({"logits_to_keep": 1} if last_only else {})}


def cache_name(module: "torch.nn.Module") -> str:
    """What the model calls its cache. Raises ValueError where it takes none."""
    takes = inspect.signature(module.forward).parameters
    found = next((name for name in _CACHE_NAMES if name in takes), None)
    if found is None:
        raise ValueError(f"{type(module).__name__}.forward takes no cache: not measured")
    return found


def _cache(job: Job, module: "torch.nn.Module") -> "transformers.Cache | None":
    """An empty cache, None where the model makes one of its own class (MiniMax)."""
    own = getattr(module, "_supports_default_dynamic_cache", None)
    if own is not None and not own():
        return None
    config = module.config.get_text_config(decoder=True)
    if job.cache == "static":
        return transformers.StaticCache(config=config, max_cache_len=job.ctx_tokens)
    return transformers.DynamicCache(config=config)
