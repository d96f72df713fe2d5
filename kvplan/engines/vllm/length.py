"""How long a sequence may be: what vLLM makes of the config's limit, and of the user's wish."""

from typing import NamedTuple

from kvplan.core.model import ModelSpec
from kvplan.engines.vllm.rules import Rules

WITHOUT_A_KEY = 2048  # vllm 0.33 config/model.py, _get_and_verify_max_len: the config names no limit
_PART_OF_IT = ("default", "mrope", "proportional", "llama3", "su", "longrope")  # kinds whose configs hold the stretched number
_YARN = ("yarn", "deepseek_yarn", "deepseek_llama_scaling")


class Length(NamedTuple):
    """``most`` is what the engine accepts, None where it accepts any; ``default`` what it takes where nothing is said."""

    most: int | None
    default: int


def length(model: ModelSpec, rules: Rules) -> Length:
    """The model's limit as vLLM derives it: a linear or dynamic rope scaling multiplies it, newer kinds are part of it.

    Source: vllm 0.33.0 config/model.py, _get_and_verify_max_len; YaRN before 0.30: 0.28.0, the same.
    """
    limit = model.max_ctx_tokens
    if limit is None:
        return Length(None, WITHOUT_A_KEY)
    factor = 1.0
    for rope in model.rope:
        if rope.kind in _YARN:
            if rules.yarn_from_original and rope.kind == "yarn" and rope.original_ctx_tokens:
                limit, factor = rope.original_ctx_tokens, rope.factor
        elif rope.kind not in _PART_OF_IT and not rope.applied:
            factor = rope.factor
    most = int(limit * factor)
    short = next((rope.original_ctx_tokens for rope in model.rope if rope.kind == "longrope"), None)
    return Length(most, short or most)
