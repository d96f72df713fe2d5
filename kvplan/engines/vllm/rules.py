"""What differs between versions of vLLM; a new version is a new ``Rules``."""

from functools import cache

from kvplan.core.versions import rules_at
from kvplan.engines.vllm.behavior import Rules as Rules
from kvplan.engines.vllm.versions import VERSIONS, release

_V0 = Rules("0.6.0", "vllm 0.6.6 config.py", v1=False, profile="0.6", names_longest=False, swap_space_gib=4.0, float32_in_half=True)
_0_8 = _V0._replace(
    since="0.8.0",
    v1=True,
    swap_space_gib=0.0,
    names_longest=True,
    small_a100=False,
    profile="0.9",
    words="plain",
    latent_blocks=(64, 0),
    source="vllm 0.8.5 engine/arg_utils.py, is_v1_default",
)
_0_9 = _0_8._replace(
    since="0.9.0",
    small_a100=True,
    float32_in_half=False,
    group_ratio=1.0,
    transfers_together="all",
    source="vllm 0.9.2 engine/arg_utils.py, _set_default_args_v1; v1/core/kv_cache_utils.py",
)
_0_10 = _0_9._replace(
    since="0.10.0",
    latent_blocks=(64, 128),
    chunks_together="always",
    source="vllm 0.10.2 platforms/cuda.py, check_and_update_config; config/__init__.py",
)
_0_11 = _0_10._replace(since="0.11.0", packs_sparse=True, source="vllm 0.11.0 model_executor/models/config.py, DeepseekV32ForCausalLM")
_0_12 = _0_11._replace(
    since="0.12.0",
    packs_sparse=False,
    graph_step=16,
    clips_batch=True,
    mamba_cache="all",
    group_ratio=1.25,
    source="vllm 0.12.0 config/vllm.py, _set_cudagraph_sizes; v1/core/kv_cache_utils.py",
)
_0_14 = _0_12._replace(
    since="0.14.0",
    async_scheduling=True,
    auto_fit=True,
    needs_by_group=True,
    words="docs",
    chunks_together="drafted",
    source="vllm 0.14.1 config/vllm.py, async_scheduling; v1/core/kv_cache_utils.py",
)
_0_15 = _0_14._replace(
    since="0.15.0", mamba_cache="either", async_pp=True, source="vllm 0.16.0 model_executor/models/config.py, MambaModelConfig"
)
_0_17 = _0_15._replace(
    since="0.17.0", profile="0.17", latent_blocks=(64, 64), source="vllm 0.17.1 v1/worker/gpu_model_runner.py, _dummy_sampler_run"
)
_0_18 = _0_17._replace(
    since="0.18.0",
    estimates_graphs="off",
    latent_blocks=(0, 0),
    has_v2=True,
    group_ratio=1.5,
    source="vllm 0.18.1 envs.py, VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS",
)
_0_20 = _0_18._replace(
    since="0.20.0",
    batched_experts=True,
    gpu_memory_utilization=0.92,
    estimates_graphs="on",
    profile="0.20",
    source="vllm 0.20.0 config/cache.py, envs.py",
)
_0_20_2 = _0_20._replace(since="0.20.2", tokens_by_concurrency=True, source="vllm 0.20.2 v1/core/kv_cache_utils.py, printed tokens")
_0_22 = _0_20_2._replace(
    since="0.22.0",
    words="cpu",
    transfers_together="some",
    source="vllm 0.22.1 v1/core/kv_cache_utils.py, config/vllm.py; 0.21 was not read",
)
_0_24 = _0_22._replace(since="0.24.0", runner="dense", source="vllm 0.24.0 config/vllm.py, _is_default_v2_model_runner_model")
_0_26 = _0_24._replace(
    since="0.26.0",
    reserves_in_flight=True,
    hybrid_prefix_caching=True,
    source="vllm 0.26.0 config/vllm.py, max_in_flight_tokens; config/model.py, is_prefix_caching_supported",
)
_0_27 = _0_26._replace(
    since="0.27.0",
    large_gpu=True,
    wide_graphs=True,
    one_capacity_line=True,
    retains_for_drafts=True,
    mamba_cache="align",
    source="vllm 0.28.0 engine/arg_utils.py, get_batch_defaults; model_executor/models/config.py; 0.27 was not read",
)
_0_29 = _0_27._replace(
    since="0.29.0",
    runner="any",
    exports_states=True,
    reserves_null_block=True,
    fp8_on_blackwell=True,
    decode_graphs=True,
    profile="0.29",
    source="vllm 0.29.0 v1/core/kv_cache_utils.py, _check_enough_kv_cache_memory; config/vllm.py, use_v2_model_runner",
)
_0_30 = _0_29._replace(
    since="0.30.0", yarn_from_original=False, source="vllm 0.31.0 config/model.py, _get_and_verify_max_len; 0.30 was not read"
)
_0_33 = _0_30._replace(
    since="0.33.0", small_gb10=True, matches_cache_type=True, source="vllm 0.33.0 engine/arg_utils.py, config/vllm.py; 0.32 was not read"
)

RULES = (_V0, _0_8, _0_9, _0_10, _0_11, _0_12, _0_14, _0_15, _0_17, _0_18, _0_20, _0_20_2, _0_22, _0_24, _0_26, _0_27, _0_29, _0_30, _0_33)


@cache
def rules_for(version: str) -> tuple[Rules, bool]:
    """The rules of ``version``, and whether it is newer than every modeled one (then the newest rules are used).

    Raises RequestError for a version older than the table, or for text that is no version.
    """
    return rules_at(version.removeprefix("v"), RULES, engine="vllm", known=VERSIONS)


def engine_rules(version: str, *, v1: bool | None = None) -> Rules:
    """The rules of ``version`` where VLLM_USE_V1 chose the engine: 0.7 to 0.10 hold both.

    Raises RequestError as ``rules_for`` does.
    """
    rules, _ = rules_for(version)
    if v1 is None or v1 == rules.v1 or release(version) >= _ONE_ENGINE or (v1 and release(version) < _FIRST_V1):
        return rules
    return (_0_8 if v1 else _V0)._replace(since=rules.since)


_FIRST_V1, _ONE_ENGINE = (0, 7, 0), (0, 11, 0)  # vllm 0.11.0 removed V0 and with it VLLM_USE_V1
