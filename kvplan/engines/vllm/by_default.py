"""What vLLM turns on by itself once the rest is settled."""

from kvplan.engines.vllm.rules import Rules
from kvplan.engines.vllm.settings import Settings

_ON_V1_ALONE = ("suffix", "custom_class")
_OVERLAPPING = ("eagle", "eagle3", "mtp", "draft_model", "dspark", "dflash", "ngram_gpu")


def v2_runner(settings: Settings, rules: Rules) -> bool:
    """Whether the V2 model runner serves models that it takes.

    Source: vllm 0.33.0 config/vllm.py, use_v2_model_runner, _get_v2_model_runner_unsupported_features.
    """
    drafter = settings.speculative
    return rules.runner != "v1" and (drafter is None or drafter.method not in _ON_V1_ALONE)


def async_scheduling(settings: Settings, rules: Rules) -> bool:
    """Whether the next step is planned while one runs.

    Source: vllm 0.14.1 and 0.33.0 config/vllm.py, __post_init__.
    """
    if not rules.async_scheduling or (settings.pp > 1 and not rules.async_pp):
        return False
    return settings.v2_runner or settings.speculative is None or settings.speculative.method in _OVERLAPPING
