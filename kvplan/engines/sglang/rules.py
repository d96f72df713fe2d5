"""What differs between versions of SGLang; a new version is a new ``Rules``."""

from functools import cache
from typing import Literal, NamedTuple

from kvplan.core.versions import rules_at
from kvplan.engines.sglang.versions import VERSIONS


class Rules(NamedTuple):
    """How a version behaves from ``since`` on.

    ``fraction``: mem_fraction_static follows the parallel size, the card, or what chunks and graphs are reckoned to use. ``chunks``
    are the cards by their MiB (below), tokens of a chunk and largest captured batch on fewer than four GPUs and on more. ``indexers``
    are the layers whose keys to pick by are kept. ``hybrids`` are classes whose windows have a pool of their own. ``prefill_graphs``:
    passes over prompts are captured too. ``fp8_sparse``: sparse latents are fp8 on Blackwell unless said otherwise, and there
    ``raw_sparse`` without scales. ``drafting_mib`` is set aside for a drafter.
    """

    since: str
    source: str
    fraction: Literal["ranks", "card", "use"]
    chunks: tuple[tuple[int | None, int, int, int], ...]
    indexers: Literal["none", "own", "all"] = "none"
    hybrids: frozenset[str] = frozenset()
    prefill_graphs: bool = False
    fp8_sparse: bool = False
    raw_sparse: bool = False
    drafting_mib: int = 0


_GIB = 1024  # of MiB
_SMALL = ((25_000, 2048, 8, 80), (None, 8192, 160, 160))
_BY_CARD = ((35 * _GIB, 2048, 8, 80), (160 * _GIB, 8192, 160, 160), (None, 16384, 160, 160))


def _by_use(second: tuple[int, int, int]) -> tuple[tuple[int | None, int, int, int], ...]:
    large = (8192, 256, 512)
    return (
        (20 * _GIB, 2048, 8, 8),
        (35 * _GIB, *second),
        (60 * _GIB, 4096, 32, 160),
        (160 * _GIB, *large),
        (None, 16384, 512, 512),
    )


_WINDOWED = ("Llama4ForConditionalGeneration", "GptOssForCausalLM", "MiMoV2FlashForCausalLM", "Step3p5ForCausalLM")
_GEMMA_4 = ("Gemma4ForCausalLM", "Gemma4ForConditionalGeneration", "Gemma4UnifiedForConditionalGeneration", "LagunaForCausalLM")
_MUSE = ("MellumForCausalLM", "MuseGlimmerForCausalLM", "MuseGlimmerForConditionalGeneration", "InklingForConditionalGeneration")

_0_4_3 = Rules("0.4.3", "sglang 0.4.3 srt/server_args.py, model_executor/model_runner.py", fraction="ranks", chunks=_SMALL)
_0_4_7 = _0_4_3._replace(
    since="0.4.7", fraction="card", chunks=_BY_CARD, drafting_mib=2 * _GIB, source="sglang 0.4.7.post1 srt/server_args.py"
)
_0_5_3 = _0_4_7._replace(
    since="0.5.3",
    fraction="use",
    chunks=_by_use((2048, 16, 80)),
    indexers="all",
    source="sglang 0.5.3.post3 srt/server_args.py, _handle_gpu_memory_settings; model_executor/model_runner.py",
)
_0_5_6 = _0_5_3._replace(since="0.5.6", chunks=_by_use((2048, 24, 80)), fp8_sparse=True, source="sglang 0.5.6.post2 srt/server_args.py")
_0_5_9 = _0_5_6._replace(
    since="0.5.9", hybrids=frozenset(_WINDOWED), raw_sparse=True, source="sglang 0.5.9 srt/model_executor/model_runner_kv_cache_mixin.py"
)
_0_5_13 = _0_5_9._replace(
    since="0.5.13",
    hybrids=_0_5_9.hybrids.union(_GEMMA_4),
    prefill_graphs=True,
    drafting_mib=4 * _GIB,
    source="sglang 0.5.13 srt/model_executor/pool_configurator.py, srt/server_args.py",
)
_0_5_18 = _0_5_13._replace(
    since="0.5.18",
    hybrids=_0_5_13.hybrids.union(_MUSE),
    indexers="own",
    drafting_mib=0,
    source="sglang 0.5.18 srt/model_executor/pool_configurator.py, srt/server_args.py",
)
_0_5_23 = _0_5_18._replace(since="0.5.23", chunks=_by_use((4096, 48, 160)), source="sglang 0.5.23 srt/arg_groups/memory_hook.py")

RULES = (_0_4_3, _0_4_7, _0_5_3, _0_5_6, _0_5_9, _0_5_13, _0_5_18, _0_5_23)


@cache
def rules_for(version: str) -> tuple[Rules, bool]:
    """The rules of ``version``, and whether it is newer than every modeled one (then the newest rules are used).

    Raises RequestError for a version older than the table, or for text that is no version.
    """
    return rules_at(version.removeprefix("v"), RULES, engine="sglang", known=VERSIONS)
