"""The end of a step's graph: rows of logits, and the masks beside them. Measured on b11434."""

from collections.abc import Mapping

from kvplan.core.model import ModelSpec
from kvplan.engines.llamacpp.cache import Pool
from kvplan.engines.llamacpp.context import Context
from kvplan.engines.llamacpp.devices import CPU, Layout
from kvplan.engines.llamacpp.rows import Kind
from kvplan.engines.llamacpp.tables import names


def masks(context: Context, pools: Mapping[Kind, Pool]) -> list[int]:
    """Bytes of the masks, one for each cache of keys."""
    elem = 2 if context.flash_attn else 4
    return [pool.cells * context.n_tokens * elem for kind, pool in pools.items() if kind in ("full", "swa", "indexer")]


def logits(model: ModelSpec, context: Context, pools: Mapping[Kind, Pool], layout: Layout, n_copies: int) -> int:
    """The end of the graph: rows of logits, and what is there beside them; nothing where they fit where a mask was.

    Source: measured on b11434.
    """
    row = 4 * model.hidden_size
    rows = 4 * model.vocab_size * context.n_outputs
    given, whole = masks(context, pools), row * context.n_tokens
    if layout.output >= 0 and not layout.all_offloaded:  # the last layer's input, and the output's norm
        return rows + row * context.n_outputs
    if rows <= max(given, default=0):
        return 0
    beside = 5 if layout.output == CPU else 4 if n_copies == 1 else 9
    return n_copies * sum(given) + (beside + _hole(model, sum(given), whole)) * whole + 40 * context.n_tokens + rows


def _hole(model: ModelSpec, given: int, whole: int) -> int:
    """1 where the masks' memory is taken by what is too small for it: dense, gated feed-forwards behind a norm."""
    run = model.runs[-1]
    feeds, known = run.layer.ffns, names(model)[-1]
    mixer = run.layer.mixers[0] if run.layer.mixers else None
    if mixer is None or mixer.kind not in ("full", "sliding") or "attn_qkv" in known:
        return 0
    if len(feeds) != 1 or feeds[0].kind != "dense" or "ffn_gate" not in known:
        return 0
    inner = feeds[0].intermediate * whole // model.hidden_size
    least = 1 if mixer.n_kv_heads == mixer.n_heads else 2
    return 1 if least * whole <= given < (2 if "ffn_norm" in known else 1) * inner else 0
