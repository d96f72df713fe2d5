"""What is kept from step to step, as flags and defaults have it: the pool, its types and blocks, prefixes, states."""

from typing import Literal

from kvplan.core.model import ModelSpec
from kvplan.engines.vllm.apart import hybrid_manager
from kvplan.engines.vllm.backends import traits
from kvplan.engines.vllm.rules import Rules
from kvplan.engines.vllm.said import Said
from kvplan.engines.vllm.settings import Settings
from kvplan.engines.vllm.types import kv_type

Mode = Literal["none", "align", "all"]
_ATTENTION = {"full", "sliding", "chunked", "mla", "cross", "compressed"}
_STATES_OF_BLOCKS = ("mamba1", "mamba2")  # layers that can keep the state of every block


def caching(settings: Settings, said: Said, rules: Rules, model: ModelSpec) -> Settings:
    """The pool and what lies in it."""
    found = traits(model)
    mode: Mode = "none"
    prefixes = said.switch("enable-prefix-caching")
    if prefixes is None:
        prefixes = rules.v1 and found.attends and not found.cross and (not found.keeps_state or rules.hybrid_prefix_caching)
    if found.keeps_state and prefixes:
        mode = _mamba_mode(said, rules, model)
        prefixes = mode != "none"
    asked = said.word("kv-cache-dtype")
    return settings._replace(
        gpu_memory_utilization=said.real("gpu-memory-utilization", rules.gpu_memory_utilization),
        kv_cache_memory_bytes=said.count("kv-cache-memory-bytes") or None,
        num_gpu_blocks_override=said.count("num-gpu-blocks-override"),
        kv_cache_dtype=kv_type(asked),
        block_size=said.count("block-size"),
        prefix_caching=prefixes,
        hybrid_manager=hybrid_manager(said, rules, model, settings.speculative),
        mamba_cache_mode=mode,
        mamba_block_size=said.count("mamba-block-size"),
        mamba_cache_dtype=said.word("mamba-cache-dtype") or "auto",
        mamba_ssm_cache_dtype=said.word("mamba-ssm-cache-dtype") or "auto",
        sliding_window=not said.on("disable-sliding-window"),
    )


def _mamba_mode(said: Said, rules: Rules, model: ModelSpec) -> Mode:
    """Source: vllm 0.28.0 and 0.33.0 model_executor/models/config.py, MambaModelConfig; which layers: SupportsMambaPrefixCaching."""
    states = {mixer.kind for run in model.runs for mixer in run.layer.mixers} - _ATTENTION
    every = states <= {*_STATES_OF_BLOCKS}
    if rules.mamba_cache == "align":
        return "align"
    if rules.mamba_cache == "either":
        asked = said.word("mamba-cache-mode")
        return "all" if every and asked != "align" else "align"
    return "all" if rules.mamba_cache == "all" and every else "none"
