"""What SGLang chooses by the card: tokens of a chunk, the largest captured batch, the share for weights and pool."""

from typing import NamedTuple

from kvplan.core.device import Node
from kvplan.core.model import ModelSpec
from kvplan.core.roles import TOWERS
from kvplan.core.units import MIB
from kvplan.engines.sglang.rules import Rules

_GIB = 1024  # of MiB
_FEW = 4  # GPUs up to which fewer batches are captured
WHOLE_PROMPTS = 16384  # tokens of a pass where prompts are not cut: max_prefill_tokens
_WITHOUT = 0.88  # the share where no card is known


class Chosen(NamedTuple):
    """Tokens of a chunk and the largest captured batch."""

    chunk_tokens: int
    largest_batch: int


class Asked(NamedTuple):
    """What of the settings the share depends on. ``drafts`` names the way of drafting, None for none."""

    tp: int
    pp: int
    attention_dp: int
    chunk_tokens: int
    largest_batch: int
    drafts: str | None


def card_mib(node: Node) -> int | None:
    """The memory of the smallest card as nvidia-smi has it; None where no card is known."""
    return min((gpu.driver_bytes // MIB for gpu in node.gpus), default=None)


def chosen(rules: Rules, card: int | None, tp: int) -> Chosen:
    """The table's row of the card. Source: sglang 0.5.23 srt/arg_groups/memory_hook.py, handle_gpu_memory_settings."""
    if card is None:
        return Chosen(4096, 160)
    _, chunk, few, many = next(row for row in rules.chunks if row[0] is None or card < row[0])
    return Chosen(chunk, few if tp < _FEW else many)


def fraction(rules: Rules, card: int | None, asked: Asked, model: ModelSpec) -> float:
    """mem_fraction_static where nobody says it.

    Source: sglang 0.4.3, 0.4.7.post1, 0.5.3.post3 to 0.5.18 srt/server_args.py; 0.5.23 srt/arg_groups/memory_hook.py.
    """
    if rules.fraction == "ranks":
        return next(share for least, share in ((16, 0.79), (8, 0.81), (4, 0.85), (2, 0.87), (1, 0.88)) if asked.tp * asked.pp >= least)
    if card is None:
        return _WITHOUT
    reserved = _by_card(card, asked) if rules.fraction == "card" else _by_use(rules, card, asked, model)
    return round(round((card - reserved - _drafting(rules, asked)) / card, 3) * _with_towers(model), 3)


def _by_card(card: int, asked: Asked) -> float:
    ranks = asked.tp * asked.pp
    found = 2.8 + ranks / 10 if card < 35 * _GIB else 9.5 + ranks / 2 if card < 90 * _GIB else 12 + ranks / 2 if card < 160 * _GIB else 32.0
    return (found + (4 if asked.attention_dp > 1 else 0)) * _GIB


def _by_use(rules: Rules, card: int, asked: Asked, model: ModelSpec) -> float:
    """Half a GiB, 1.5 MiB a token of a chunk, 2 MiB a captured sequence, more for many ranks; 10 GiB on large cards at least."""
    tokens = asked.chunk_tokens if asked.chunk_tokens > 0 else WHOLE_PROMPTS
    found = 512 + max(tokens, 2048) * 1.5 + asked.largest_batch * 2 + asked.tp * asked.pp / 8 * _GIB
    if asked.attention_dp > 1:
        found += asked.largest_batch * asked.attention_dp * (4.5 if asked.largest_batch > 300 else 3)
    if rules.prefill_graphs:
        found += 1536 if _latent(model) else n_prefill_graphs(asked.chunk_tokens) * 8
    return max(found, 10 * _GIB) if card > 60 * _GIB else found


def n_prefill_graphs(chunk_tokens: int) -> int:
    """Sizes of passes over prompts that are captured. Source: sglang 0.5.23 cuda_graph_hook.py, generate_prefill_cuda_graph_batch_sizes."""
    steps = ((4, 33, 4), (48, 257, 16), (288, 513, 32), (576, 1025, 64), (1280, 4097, 256), (4608, chunk_tokens + 1, 512))
    return sum(len(range(first, min(end, chunk_tokens + 1), by)) for first, end, by in steps)


def _drafting(rules: Rules, asked: Asked) -> float:
    """What is set aside for a drafter before its weights were counted with the rest."""
    if asked.drafts is None or asked.drafts == "NGRAM" or not rules.drafting_mib:
        return 0
    return 6 * _GIB if asked.drafts == "STANDALONE" and rules.fraction == "use" else rules.drafting_mib


def _with_towers(model: ModelSpec) -> float:
    """Models with an encoder of images leave more; a larger one than ViT-L up to a fifth, which is not followed."""
    return 0.95 if any(group.role in TOWERS for group in model.weights) else 1.0


def _latent(model: ModelSpec) -> bool:
    return any(mixer.kind == "mla" for run in model.runs for mixer in run.layer.mixers)
