"""Changes of a Transformers run that may cure it, by the keyword arguments of from_pretrained() and generate()."""

from collections.abc import Mapping

from kvplan.core.ledger import Fix
from kvplan.explainer.case import Case
from kvplan.explainer.trying import tried

_OTHERS = ("vllm", "llama.cpp", "ollama", "sglang", "tensorrt-llm", "tgi")
_ROUNDED = 64  # tokens


def _of(case: Case, fix: Fix, changes: Mapping[str, str]) -> Fix | None:
    """The fix where the run may be one of Transformers."""
    return None if case.engine in _OTHERS else tried(case, fix, changes)


def smaller_batch(case: Case) -> Fix | None:
    """The largest batch that fits."""
    return _down(case, ("batch", "batch"), _capacity(case)[1])


def shorter(case: Case) -> Fix | None:
    """The longest prompt with its answer that fits."""
    most = _capacity(case)[0]
    return _down(case, ("ctx", "max_length"), most and (most // _ROUNDED * _ROUNDED or most))


def _down(case: Case, named: tuple[str, str], after: int | None) -> Fix | None:
    """From ``after`` down by halves: others may hold some of the card. ``named`` are the setting and what the user calls it."""
    asked = case.count(named[0])
    while asked is not None and after and after < asked:
        found = _of(case, Fix(named[1], str(asked), str(after)), {named[0]: str(after)})
        if found is not None:
            return found
        after //= 2
    return None


def _capacity(case: Case) -> tuple[int | None, int | None]:
    """The longest context and the largest batch, where they are known."""
    known = None if case.unknown else case.estimate()
    return (None, None) if known is None or known.capacity is None else (known.capacity.max_ctx_tokens, known.capacity.max_batch)


def without_scores(case: Case) -> Fix | None:
    """Attention that does not keep its scores: sdpa in place of eager, flash attention in place of sdpa with a mask."""
    before, after = ("sdpa", "flash_attention_2") if case.ending.sign == "sdpa" else ("eager", "sdpa")
    return _of(case, Fix("attn_implementation", before, after), {"attn_implementation": after})


def last_logits(case: Case) -> Fix | None:
    """Logits of the last token alone."""
    return _of(case, Fix("logits_to_keep", "0", "1"), {"forward": "generate"})


def static_cache(case: Case) -> Fix | None:
    """A cache that is allocated once."""
    return _of(case, Fix("cache_implementation", "dynamic", "static"), {"cache_implementation": "static"})


def quantized_cache(case: Case) -> Fix | None:
    """A cache in four bits."""
    return _of(case, Fix("cache_implementation", "dynamic", "quantized"), {"cache_implementation": "quantized"})


def expandable(case: Case) -> Fix | None:
    """Segments that grow, so that no memory lies in pieces."""
    unused = case.size("reserved but unallocated")
    fix = Fix("PYTORCH_ALLOC_CONF", "", "expandable_segments:True", None if unused is None else -unused)
    if (unused or 0) > (case.size("tried to allocate") or 0):  # what lies in pieces is enough, whatever the estimate is
        return None if case.engine in ("llama.cpp", "ollama") else fix
    return _of(case, fix, {"expandable_segments": "True"})


def eight_bits(case: Case) -> Fix | None:
    """Weights quantized while they are loaded; where they had been loaded, if that is known to help."""
    return _of(case, Fix("load_in_8bit", "False", "True"), {"quantized": "bnb_8bit"}) if _may_be_weights(case) else None


def four_bits(case: Case) -> Fix | None:
    """Weights in four bits."""
    return _of(case, Fix("load_in_4bit", "False", "True"), {"quantized": "nf4"}) if _may_be_weights(case) else None


def _may_be_weights(case: Case) -> bool:
    return case.ending.sign == "loading" or not case.unknown
