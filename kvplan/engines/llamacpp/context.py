"""The context as llama.cpp resolves it: tokens, slots, batches, flash attention."""

from typing import NamedTuple

from kvplan.core.model import ModelSpec
from kvplan.core.units import ceil_div, ceil_to
from kvplan.engines.llamacpp.rules import Rules, rules_for
from kvplan.engines.llamacpp.settings import Settings

_CELL_PAD, _PLAIN_CELL_PAD = 256, 32
_DEFAULT_CTX = 4096  # of configs that limit nothing
_LIBRARY = ("completion", "bench", "perplexity")


class Context(NamedTuple):
    """Sizes in tokens: ``n_ctx`` of all slots together, ``n_ctx_seq`` of one, ``n_tokens`` of the largest batch that a graph is
    reserved for. ``n_streams`` is 1 where all slots share one cache. ``n_outputs`` are rows of logits in that graph, ``n_kept``
    rows in the output buffer. ``n_rollback`` are states kept beside the last one, per sequence. Cells of a cache are multiples of
    ``cell_pad``."""

    n_ctx: int
    n_ctx_seq: int
    n_seq_max: int
    n_streams: int
    n_batch: int
    n_ubatch: int
    n_tokens: int
    n_outputs: int
    n_kept: int
    n_rollback: int
    flash_attn: bool
    cell_pad: int


class Manner(NamedTuple):
    """What of a context neither its length nor its slots change. ``every_row``: a batch may ask for logits of each token, as tools do;
    a server asks for one row for each slot and each of its ``drafted`` tokens."""

    rules: Rules
    causal: bool
    every_row: bool
    drafted: int
    n_rollback: int
    flash_attn: bool
    cell_pad: int


def manner(model: ModelSpec, settings: Settings) -> Manner:
    """How contexts of these settings are made, whatever their sizes."""
    rules, flash = rules_for(settings.version)[0], flash_attn(model, settings)
    return Manner(
        rules=rules,
        causal=causal(model),
        every_row=settings.app in _LIBRARY or settings.embeddings or not rules.row_per_slot,
        drafted=settings.drafting.n_max if settings.drafting else 0,
        n_rollback=rollback(model, settings),
        flash_attn=flash,
        cell_pad=_cell_pad(rules, flash_attn=flash),
    )


def resolved(model: ModelSpec, settings: Settings, known: Manner | None = None) -> Context:
    """The context of ``settings``, of which ``known`` may be the manner.

    Source: llama.cpp b11434 src/llama-context.cpp, llama_context::llama_context; tools/server/server.cpp (n_outputs_max).
    """
    rules, causes, every_row, drafted, n_rollback, flash, cell_pad = known or manner(model, settings)
    asked, n_seq = settings.n_ctx or model.max_ctx_tokens or _DEFAULT_CTX, settings.n_parallel
    n_batch = min(asked, settings.n_batch) if causes else settings.n_batch
    n_ubatch = min(n_batch, settings.n_ubatch or n_batch)
    padded = ceil_to(asked, rules.ctx_pad)
    each = ceil_div(padded, n_seq) if rules.cell_pad == "flash_attn" else max(1, padded // n_seq)  # rounded up where cells are padded alone
    n_ctx_seq = padded if settings.kv_unified else ceil_to(each, rules.ctx_pad)
    n_tokens = ceil_to(min(asked, n_ubatch), n_seq)
    return Context(
        n_ctx=padded if settings.kv_unified else max(padded, n_ctx_seq * n_seq),
        n_ctx_seq=n_ctx_seq,
        n_seq_max=n_seq,
        n_streams=1 if settings.kv_unified else n_seq,
        n_batch=n_batch,
        n_ubatch=n_ubatch,
        n_tokens=n_tokens,
        n_outputs=min(n_tokens, n_batch if every_row else min(n_batch, n_seq * (1 + drafted))),
        n_kept=n_seq,
        n_rollback=n_rollback,
        flash_attn=flash,
        cell_pad=cell_pad,
    )


def _cell_pad(rules: Rules, *, flash_attn: bool) -> int:
    match rules.cell_pad:
        case "never":
            return 1
        case "flash_attn" if not flash_attn:
            return _PLAIN_CELL_PAD
        case _:
            return _CELL_PAD


def causal(model: ModelSpec) -> bool:
    """Whether tokens see earlier ones alone; models without any cache are encoders."""
    return any(run.layer.mixers for run in model.runs)


def flash_attn(model: ModelSpec, settings: Settings) -> bool:
    """Whether flash attention runs: ``auto`` is on wherever it can. Grok's attention has none: llama-context.cpp."""
    return settings.flash_attn != "off" and model.model_type not in _WITHOUT_FLASH


_WITHOUT_FLASH = ("grok",)
_ROLLS_BACK = ("qwen35", "qwen35moe", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe", "kimi-k3")
"""Architectures whose states can go back some tokens. Source: llama.cpp b11434 src/llama-arch.cpp, llm_arch_supports_rs_rollback."""
_BACK = ("draft-mtp", "draft-eagle3", "draft-dflash")


def rollback(model: ModelSpec, settings: Settings) -> int:
    """States kept for drafted tokens that may be rejected."""
    drafting = settings.drafting
    if drafting is None or model.model_type not in _ROLLS_BACK or not any(kind in _BACK for kind in drafting.kinds):
        return 0
    return drafting.n_max
