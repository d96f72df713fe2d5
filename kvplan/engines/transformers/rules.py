"""What differs between versions of Transformers; a new version is a new ``Rules``."""

from functools import cache
from typing import Literal, NamedTuple

from kvplan.core.versions import rules_at

Experts = Literal["loop", "copies", "copy", "grouped"]


class Rules(NamedTuple):
    """Behavior from version ``since`` on.

    ``caches``: what generate() takes. ``float32_logits``: the output row is made in float32 once more; ``last_logits``: generate()
    asks for that of the last position alone; ``keeps_outputs``: it holds what a step returned, a tuple of the cache among it, while
    the next one runs. ``bool_masks``: masks are of yes and no, not of numbers; ``masks_static``: a prompt into a static cache has
    one. ``windows_static``: families whose cache is made at the start where nobody chooses one, its windows no longer than they need
    (HybridCache). ``reads_groups``: SDPA is left to read keys in groups where there is no mask, else they are repeated. ``drops``: windows
    forget. ``latent``: latent attention caches its latent, else keys and values of every head.

    ``experts``: one after the other in a loop, or in grouped products, with more or fewer copies of their inputs on the way;
    ``gathers``: generate() copies their weights for each token that it decodes.

    ``fp8_cache``: QuantizedCache has an fp8 backend. ``packs_queries``: in decode under a mask, query heads are grouped
    by KV head instead of repeating keys and values. ``keeps_router``: the routers of all families that compute routing in
    float32 are kept in it, too. ``off_by`` are hundredths that peaks beside the weights may be off by
    because forms are of newer code: families came to the common cache and attention one by one.
    """

    since: str
    source: str
    caches: tuple[str, ...] = ("dynamic", "static")
    float32_logits: bool = True
    last_logits: bool = False
    keeps_outputs: bool = True
    bool_masks: bool = False
    masks_static: bool = True
    reads_groups: bool = False
    drops: bool = False
    latent: bool = False
    experts: Experts = "loop"
    gathers: bool = False
    fp8_cache: bool = False
    packs_queries: bool = False
    keeps_router: bool = False
    windows_static: tuple[str, ...] = ()
    off_by: int = 40

    def usual(self, model_type: str) -> dict[str, str]:
        """Settings of such a family where nobody says any, beside those of all."""
        return {"cache_implementation": "hybrid"} if model_type in self.windows_static else {}


_4_40 = Rules("4.40.0", "transformers 4.40.2 models/llama/modeling_llama.py, logits.float(); generation/utils.py, _sample; cache_utils.py")
_4_42 = _4_40._replace(
    since="4.42.0",
    caches=("dynamic", "static", "quantized"),
    keeps_outputs=False,
    windows_static=("gemma2",),
    source="transformers 4.42.4 generation/utils.py, _supports_default_dynamic_cache, del outputs; models/gemma2, cache_implementation",
)
_4_45 = _4_42._replace(since="4.45.0", last_logits=True, source="transformers 4.45.2 models/llama/modeling_llama.py, num_logits_to_keep")
_4_48 = _4_45._replace(
    since="4.48.0",
    float32_logits=False,
    windows_static=("gemma2", "cohere2", "gemma3", "gemma3_text"),
    source="transformers 4.48.3 models/llama/modeling_llama.py, models/cohere2; 4.50.3 models/gemma3; 4.46 and 4.47 were not read",
)
_4_53 = _4_48._replace(since="4.53.0", bool_masks=True, source="transformers 4.53.3 masking_utils.py; 4.51 and 4.52 were not read")
_4_54 = _4_53._replace(since="4.54.0", reads_groups=True, source="transformers 4.54.1 integrations/sdpa_attention.py, use_gqa_in_sdpa")
_4_56 = _4_54._replace(
    since="4.56.0", drops=True, windows_static=(), off_by=10, source="transformers 4.56.2 cache_utils.py, DynamicSlidingWindowLayer"
)
_5_0 = _4_56._replace(
    since="5.0.0", experts="copies", gathers=True, source="transformers 5.0.0 integrations/moe.py, grouped_mm_experts_forward"
)
_5_4 = _5_0._replace(since="5.4.0", experts="copy", source="transformers 5.4.0 integrations/moe.py; 5.3 was not read")
_5_6 = _5_4._replace(since="5.6.0", experts="grouped", source="transformers 5.6.2 integrations/moe.py; 5.5 was not read")
_5_14 = _5_6._replace(since="5.14.0", masks_static=False, source="transformers 5.14.1 masking_utils.py; 5.11 to 5.13 were not read")
_5_16 = _5_14._replace(
    since="5.16.0",
    latent=True,
    source="transformers 5.16.1 models/deepseek_v3/modeling_deepseek_v3.py; 5.15 was not read",
)
_5_17 = _5_16._replace(
    since="5.17.0", off_by=0, source="transformers 5.17.0 cache_utils.py, integrations/sdpa_attention.py, integrations/moe.py"
)
_5_21 = _5_17._replace(since="5.21.0", fp8_cache=True, source="transformers 5.21.0 cache_utils.py, Fp8QuantizedLayer")
_5_23 = _5_21._replace(since="5.23.0", packs_queries=True, source="transformers 5.23.0 integrations/sdpa_attention.py, pack_gqa")
_5_24 = _5_23._replace(since="5.24.0", keeps_router=True, source="transformers 5.24.0 models/deepseek_v3, _keep_in_fp32_modules_strict")

RULES = (_4_40, _4_42, _4_45, _4_48, _4_53, _4_54, _4_56, _5_0, _5_4, _5_6, _5_14, _5_16, _5_17, _5_21, _5_23, _5_24)
VERSIONS = (
    *(rules.since for rules in RULES if rules.off_by),
    *("5.17.0", "5.18.0", "5.19.0", "5.20.0", "5.21.0", "5.22.0", "5.23.0", "5.24.0"),
)


@cache
def rules_for(version: str) -> tuple[Rules, bool]:
    """The rules of ``version``, and whether it is newer than every modeled one (then the newest rules are used).

    Raises RequestError for a version older than the table, or for text that is no version.
    """
    return rules_at(version, RULES, engine="transformers", known=VERSIONS)
