"""Speculative decoding, as the flags of any version ask for it."""

from kvplan.core.errors import RequestError
from kvplan.core.model import LayerRun, ModelSpec
from kvplan.engines.vllm.classes import FIRST_NEXT_LAYER
from kvplan.engines.vllm.said import Said, text, whole
from kvplan.engines.vllm.settings import Speculative

READ_ON = ("eagle", "eagle3", "mtp", "dflash", "dspark")
"""Methods that draft from the model's own states. Source: vllm 0.33.0 config/speculative.py, use_eagle."""
WITHOUT_A_MODEL = ("ngram", "ngram_gpu", "suffix", "extract_hidden_states", "custom_class")
_BY_PATH = (("eagle-", "eagle"), ("eagle3", "eagle3"), ("dflash", "dflash"), ("dspark", "dspark"), ("medusa", "medusa"))
_CONFIG = "speculative-config"


def speculative(said: Said, model: ModelSpec | None) -> Speculative | None:
    """What the flags ask for, None for no speculation. ``model`` is None where only the drafter's name is wanted.

    The drafter's tensor parallelism is 0 where it is the target's. Raises RequestError where the number of drafted tokens is
    missing, or the same thing is said twice. Source: vllm 0.33.0 config/speculative.py, SpeculativeConfig.__post_init__;
    engine/arg_utils.py, create_speculative_config.
    """
    found = said.json(_CONFIG)
    for flag, key in (("spec-method", "method"), ("spec-model", "model"), ("spec-tokens", "num_speculative_tokens")):
        if flag in said and key in found:
            raise RequestError("contradiction", f"vllm: --{flag} and --{_CONFIG}['{key}'] are mutually exclusive")
    name = text(found, "model", _CONFIG) or said.word("spec-model") or said.word("speculative-model")
    method = text(found, "method", _CONFIG) or said.word("spec-method")
    tokens = whole(found, "num_speculative_tokens", _CONFIG) or said.count("spec-tokens") or said.count("num-speculative-tokens")
    if not found and name is None and method is None and tokens is None:
        return None
    method = _method(method, name)
    if method in WITHOUT_A_MODEL or (method == "mtp" and (model is None or model.mtp)):
        name = None
    elif name is None and method != "mtp":
        raise RequestError("bad_setting", "vllm: num_speculative_tokens was provided but without speculative model.")
    tp = whole(found, "draft_tensor_parallel_size", _CONFIG) or said.count("speculative-draft-tensor-parallel-size")
    return Speculative(method, tokens or _predicted(method, model), name, tp or 0)


def _method(method: str | None, name: str | None) -> str:
    """As vLLM detects it: the drafter's path decides where nothing else does."""
    if method is not None:
        return {"[ngram]": "ngram"}.get(method, "mtp" if method.endswith("_mtp") else method)
    if name in ("ngram", "[ngram]"):
        return "ngram"
    low = (name or "").lower()
    return next((kind for part, kind in _BY_PATH if part in low), "draft_model" if name else "mtp")


def _predicted(method: str, model: ModelSpec | None) -> int:
    """What the drafter's own config predicts at once."""
    if model is None:
        return 1
    if method == "mtp" and depth(model):
        return depth(model)
    raise RequestError(
        "bad_setting",
        "vllm: num_speculative_tokens must be provided with speculative model unless the draft model config contains an n_predict "
        "parameter.",
        hint=f'--{_CONFIG} \'{{"method": "{method}", "num_speculative_tokens": 3}}\'',
    )


def next_layers(model: ModelSpec) -> tuple[LayerRun, ...]:
    """The model's own next-token layers, as far as vLLM builds them."""
    if model.architecture in FIRST_NEXT_LAYER:
        return tuple(run._replace(n_layers=1) for run in model.mtp[:1])
    return model.mtp


def depth(model: ModelSpec) -> int:
    """How many tokens ahead these layers were trained for: those that mix tokens, as some models put experts in layers of their own."""
    return sum(run.n_layers for run in next_layers(model) if run.layer.mixers)


def retained_tokens(model: ModelSpec, drafter: Speculative | None) -> int:
    """Tokens that windows keep beyond their own because several next-token layers read on from each other.

    Source: vllm 0.33.0 config/vllm.py, num_prefill_lookahead_tokens; v1/core/kv_cache_planning.py, get_global_kv_cache_groups.
    """
    if drafter is None or drafter.method != "mtp" or min(depth(model), drafter.n_tokens) < 2:
        return 0
    return drafter.n_tokens - 1
