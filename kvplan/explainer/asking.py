"""A start's settings as a request to the estimator, in its engine's own words."""

import math
from collections.abc import Callable, Mapping

from kvplan.estimator import Options

VLLM_FLAGS = {
    "max_model_len": "--max-model-len",
    "gpu_memory_utilization": "--gpu-memory-utilization",
    "tensor_parallel_size": "--tensor-parallel-size",
    "pipeline_parallel_size": "--pipeline-parallel-size",
    "data_parallel_size": "--data-parallel-size",
    "kv_cache_dtype": "--kv-cache-dtype",
    "max_num_seqs": "--max-num-seqs",
    "max_num_batched_tokens": "--max-num-batched-tokens",
    "dtype": "--dtype",
    "enforce_eager": "--enforce-eager",
}
SGLANG_FLAGS = {
    "tp_size": "--tp-size",
    "pp_size": "--pp-size",
    "dp_size": "--dp-size",
    "mem_fraction_static": "--mem-fraction-static",
    "context_length": "--context-length",
    "max_running_requests": "--max-running-requests",
    "max_total_tokens": "--max-total-tokens",
    "chunked_prefill_size": "--chunked-prefill-size",
    "page_size": "--page-size",
    "kv_cache_dtype": "--kv-cache-dtype",
    "dtype": "--dtype",
    "disable_cuda_graph": "--disable-cuda-graph",
    "disable_radix_cache": "--disable-radix-cache",
    "enable_dp_attention": "--enable-dp-attention",
}
LLAMA_FLAGS = {
    "n_ctx": "-c",
    "n_seq_max": "-np",
    "n_batch": "-b",
    "n_ubatch": "-ub",
    "type_k": "-ctk",
    "type_v": "-ctv",
    "flash_attn": "-fa",
    "n_gpu_layers": "-ngl",
}
_TORCH = ("attn_implementation", "cache_implementation", "forward", "expandable_segments")
_FLASH = {"on": "1", "off": "0"}


def options(engine: str, model: str, settings: Mapping[str, str], gpu: str | None) -> Options:
    """The request for ``model`` on as many of ``gpu`` as the settings say. ``engine`` is one of ENGINES."""
    return _SPOKEN[engine](model, settings)._replace(gpu=_cards(gpu, settings))


def _cards(gpu: str | None, settings: Mapping[str, str]) -> str | None:
    """As many of that card as the model is split over."""
    apart = "dp_size" if settings.get("enable_dp_attention") != "True" else ""  # else its replicas share the ranks
    names = ("tp_size", "pp_size", apart, "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
    sizes = (settings.get(name, "1") for name in names)
    n_gpus = math.prod(int(size) for size in sizes if size.isdigit())
    return f"{gpu}:{n_gpus}" if gpu is not None and n_gpus > 1 else gpu


def _flags(known: Mapping[str, str], settings: Mapping[str, str]) -> tuple[str, ...]:
    words: list[str] = []
    for name, flag in known.items():
        value = settings.get(name)
        if value is None or value in ("auto", "False", "false"):
            continue
        words += [flag] if value in ("True", "true") else [flag, value]
    return tuple(words)


def _vllm(model: str, settings: Mapping[str, str]) -> Options:
    return Options(command=("vllm", "serve", model, *_flags(VLLM_FLAGS, settings)))


def _sglang(model: str, settings: Mapping[str, str]) -> Options:
    return Options(command=("sglang", "serve", "--model-path", model, *_flags(SGLANG_FLAGS, settings)))


def _llama(model: str, settings: Mapping[str, str]) -> Options:
    """``kv_unified`` is only said where the log prints it: older builds have no such flag."""
    unified = {"true": ("-kvu",), "false": ("-no-kvu",)}.get(settings.get("kv_unified", ""), ())
    return Options(command=("llama-server", "-m", model, *_flags(LLAMA_FLAGS, settings), *unified))


def _ollama(model: str, settings: Mapping[str, str]) -> Options:
    """Its runner is given the context of all slots at once; what a user says is that of one."""
    slots = settings.get("n_seq_max", "")
    n_slots = int(slots) if slots.isdigit() and int(slots) else 1
    words = [f"OLLAMA_NUM_PARALLEL={n_slots}"]
    words += [f"OLLAMA_KV_CACHE_TYPE={settings['type_k']}"] if "type_k" in settings else []
    words += [f"OLLAMA_FLASH_ATTENTION={_FLASH[said]}"] if (said := settings.get("flash_attn", "")) in _FLASH else []
    words += ["ollama", "run", model]
    if (n_ctx := settings.get("n_ctx", "")).isdigit():
        words.append(f"num_ctx={int(n_ctx) // n_slots}")
    words += [f"{name}={value}" for name, key in (("num_batch", "n_batch"), ("num_gpu", "n_gpu_layers")) if (value := settings.get(key))]
    return Options(command=tuple(words))


def _torch(model: str, settings: Mapping[str, str]) -> Options:
    """The prompt and the batch are what the user says of them, as no traceback does."""
    words = (f"{name}={settings[name]}" for name in _TORCH if name in settings)
    command = ("transformers", model, *words)
    return Options(command=command, ctx=settings.get("ctx"), batch=settings.get("batch"), dtype=settings.get("quantized"))


_SPOKEN: Mapping[str, Callable[[str, Mapping[str, str]], Options]] = {
    "vllm": _vllm,
    "sglang": _sglang,
    "llama.cpp": _llama,
    "ollama": _ollama,
    "transformers": _torch,
}
ENGINES = tuple(_SPOKEN)
