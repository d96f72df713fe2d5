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
        self._cache = _cache(job, self._config) if job.use_cache else None
        self._given = _arguments(module, job) | ({cache_name(module): self._cache} if job.use_cache else {})
        self._ids = torch.randint(0, self._config.vocab_size, (job.batch, job.prompt_tokens), device=torch.device(device))
        self._next = self._ids
        self._logits: torch.Tensor | None = None

    def held(self) -> tuple[int, int]:
        """Bytes of keys, values and the like, and of recurrent states."""
        return cache_bytes(self._cache)

    def decoding(self) -> "contextlib.AbstractContextManager[object]":
        """What generate() enters after the prefill: on a GPU it gathers experts per token instead of grouping them."""
        enter = getattr(self._module, "_optimize_model_for_decode", None)
        return enter() if enter else contextlib.nullcontext()

    def prefill(self) -> None:
        """One forward over the prompt."""
        self._forward()

    def decode(self) -> None:
        """The most likely next token, chosen in float32 as generate() does, and one forward over it; over all without a cache."""
        assert self._logits is not None
        scores = self._logits[:, -1].to(copy=True, dtype=torch.float32)
        chosen = torch.argmax(scores, dim=-1)[:, None]
        self._ids = torch.cat([self._ids, chosen], dim=-1)
        self._next = chosen if self._uses_cache else self._ids
        self._logits = None
        self._forward()

    def _forward(self) -> None:
        self._logits = self._module(input_ids=self._next, **self._given).logits


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


def _cache(job: Job, config: "transformers.PreTrainedConfig") -> "transformers.Cache":
    if job.cache == "static":
        return transformers.StaticCache(config=config, max_cache_len=job.ctx_tokens)
    return transformers.DynamicCache(config=config)
