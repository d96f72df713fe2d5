"""From settings back to Ollama's variables and parameters."""

import re
from collections.abc import Iterator

from kvplan.engines.llamacpp.rules import rules_for
from kvplan.engines.llamacpp.settings import ALL_LAYERS, AUTO_LAYERS, Settings

Words = Iterator[str]
_REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w.-]+(?<!\.gguf)(:[\w.-]+)?", re.ASCII)


def command(settings: Settings) -> tuple[str, ...]:
    """``OLLAMA_…=… ollama run MODEL num_batch=…``: what depends on the machine is said in full."""
    return (*_variables(settings), *_inherited(settings), "ollama", "run", _model(settings.model), *_parameters(settings))


def _model(name: str) -> str:
    """Ollama's own registry has other names: a repository of the Hub is said with its host."""
    return f"hf.co/{name}" if _REPOSITORY.fullmatch(name) else name


def _variables(settings: Settings) -> Words:
    yield f"OLLAMA_CONTEXT_LENGTH={settings.n_ctx // settings.n_parallel}"
    if settings.n_parallel != 1:
        yield f"OLLAMA_NUM_PARALLEL={settings.n_parallel}"
    if settings.type_k == settings.type_v != "f16":
        yield f"OLLAMA_KV_CACHE_TYPE={settings.type_k}"
    if settings.flash_attn != "auto":
        yield f"OLLAMA_FLASH_ATTENTION={int(settings.flash_attn == 'on')}"
    if settings.gpu_overhead_bytes:
        yield f"OLLAMA_GPU_OVERHEAD={settings.gpu_overhead_bytes}"


def _inherited(settings: Settings) -> Words:
    """Settings that Ollama has no name for: its runner reads llama.cpp's variables."""
    rules = rules_for(settings.version)[0]
    overrides = ",".join(f"{override.pattern}={override.buffer}" for override in settings.override_tensors)
    k, v = ("", "") if settings.type_k == settings.type_v else (settings.type_k, settings.type_v)
    for name, value, default in (
        *(("CACHE_RAM", settings.cache_ram_mib, rules.cache_ram_mib), ("CTX_CHECKPOINTS", settings.ctx_checkpoints, rules.checkpoints)),
        ("CHECKPOINT_MIN_SPACING_NT", settings.checkpoint_min_step, rules.checkpoint_step),
        ("FIT_TARGET", ",".join(map(str, settings.fit_target_mib)), "1024"),
        *(("FIT_CTX", settings.fit_ctx, 4096), ("FIT", int(settings.fit), 1), ("SWA_FULL", int(settings.swa_full), 0)),
        *(("KV_OFFLOAD", int(settings.offload_kqv), 1), ("REPACK", int(settings.repack), 1), ("NO_HOST", int(not settings.pinned_host), 0)),
        *(("KV_UNIFIED", int(settings.kv_unified), 0), ("CPU_MOE", int(settings.cpu_moe), 0), ("N_CPU_MOE", settings.n_cpu_moe, 0)),
        *(("N_CPU_FFN", settings.n_cpu_ffn, 0), ("OVERRIDE_TENSOR", overrides, "")),
        *(("TENSOR_SPLIT", ",".join(f"{share:g}" for share in settings.tensor_split), ""), ("MMPROJ", settings.mmproj or "", "")),
        *(("DEVICE", ",".join(settings.device_names or ()), ""), ("CACHE_TYPE_K", k, ""), ("CACHE_TYPE_V", v, "")),
        ("N_GPU_LAYERS", "all" if settings.n_gpu_layers == ALL_LAYERS else "", ""),
    ):
        if value != default:
            yield f"LLAMA_ARG_{name}={value}"


def _parameters(settings: Settings) -> Words:
    yield f"num_batch={settings.n_batch}"
    if settings.n_gpu_layers not in (AUTO_LAYERS, ALL_LAYERS):
        yield f"num_gpu={settings.n_gpu_layers}"
    if settings.split_mode == "none":
        yield f"main_gpu={settings.main_gpu}"
    if settings.load_mode in ("none", "mmap"):
        yield f"use_mmap={str(settings.load_mode == 'mmap').lower()}"
    if settings.drafting is not None:
        yield f"draft_num_predict={settings.drafting.n_max}"
    for adapter in settings.lora:
        yield f"adapter={adapter}"
