"""Logs made from the figures that public logs printed, each in the format string of its engine at about that version."""

# ruff: noqa: E501  # log lines are as long as engines print them

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

Record = Mapping[str, object]


class Line(NamedTuple):
    """A line of a log, and the figures that are to be found on it."""

    text: str
    figures: tuple[float, ...]


def lines_of(record: Record) -> list[Line]:
    """The log of one record; figures that no engine prints (a UI's, nvidia-smi's) are left out."""
    printed = record["printed"]
    assert isinstance(printed, dict)
    make = {"vLLM": _vllm, "SGLang": _sglang, "TGI": _tgi, "TensorRT-LLM": _tensorrt, "ollama": _ollama, "transformers": _torch}
    return list(make.get(str(record["engine"]), _llama)(record, printed))


def _vllm(record: Record, printed: Mapping[str, object]) -> Iterator[Line]:
    """vllm 0.6.4 and 0.7.3 worker/worker.py; 0.10.2 to 0.22.1 v1/worker/gpu_worker.py, gpu_model_runner.py, v1/core/kv_cache_utils.py."""
    version = str(record["version"]).split()[0]
    if version[0].isdigit():
        yield Line(f"INFO [core.py:105] Initializing a V1 LLM engine (v{version}) with config: model='{record['model']}', dtype=auto", ())
    else:
        yield Line(f"INFO [core.py:105] Initializing an LLM engine with config: model='{record['model']}', dtype=auto", ())
    for key, value in printed.items():
        if key in _VLLM_LINES:
            assert isinstance(value, (int, float))
            yield Line("INFO 04-22 00:04:20 [worker.py:1] " + _VLLM_LINES[key].format(_shown(value)), (float(value),))
        elif key == "Maximum concurrency":
            assert isinstance(value, dict)
            text = f"INFO [kv_cache_utils.py:1324] Maximum concurrency for {value['tokens']:,} tokens per request: {value['x']:.2f}x"
            yield Line(text, (float(value["x"]),))
        elif key == "Actual usage":
            assert isinstance(value, dict)
            parts = [value.get(name, 0) for name in ("weight", "peak activation", "non-torch memory", "CUDAGraph memory")]
            text = "DEBUG [gpu_worker.py:661] Actual usage is {} GiB for weight, {} GiB for peak activation, {} GiB for non-torch memory, "
            yield Line((text + "and {} GiB for CUDAGraph memory.").format(*parts), tuple(map(float, parts)))
    yield from _ended(record, printed)


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) and value < 10**8 else str(value)


_VLLM_LINES = {
    "Model loading took (GiB)": "Model loading took {} GiB memory and 14.43 seconds",
    "Model loading took (GB)": "Model loading took {} GB and 14.43 seconds",
    "Loading model weights took (GB)": "Loading model weights took {} GB",
    "model weights take (GiB)": "model weights take {}GiB; non_torch_memory takes",
    "non_torch_memory takes (GiB)": "non_torch_memory takes {}GiB; PyTorch",
    "PyTorch activation peak memory takes (GiB)": "PyTorch activation peak memory takes {}GiB; the rest",
    "the rest of the memory reserved for KV Cache (GiB)": "the rest of the memory reserved for KV Cache is {}GiB.",
    "total_gpu_memory (GiB)": "total_gpu_memory={}GiB, initial",
    "initial_memory_usage (GiB)": "initial_memory_usage={}GiB, peak",
    "peak_torch_memory (GiB)": "peak_torch_memory={}GiB, memory",
    "memory_usage_post_profile (GiB)": "memory_usage_post_profile={}GiB, non",
    "# GPU blocks": "# GPU blocks: {}, # CPU blocks: 0",
    "Available KV cache memory (GiB)": "Available KV cache memory: {} GiB",
    "GPU KV cache size (tokens)": "GPU KV cache size: {} tokens",
    "Total non KV cache memory (GiB)": "Memory profiling takes 17.96 seconds. Total non KV cache memory: {}GiB;",
    "torch peak memory increase (GiB)": "torch peak memory increase: {}GiB;",
    "non-torch forward increase memory (GiB)": "non-torch forward increase memory: {}GiB;",
    "weights memory (GiB)": "weights memory: {}GiB.",
    "Requested memory (GiB)": "worker requested memory: {}GiB",
    "Estimated CUDA graph memory (GiB)": "Estimated CUDA graph memory: {} GiB total",
    "Graph capturing took (GiB)": "Graph capturing finished in 3 secs, took {} GiB",
    "CUDAGraph memory (GiB)": "Graph capturing finished in 3 secs, took {} GiB",
    "Encoder cache budget (tokens)": "Encoder cache will be initialized with a budget of {} tokens, and profiled with 1 image items",
    "Padding mamba page size (%)": "Padding mamba page size by {}% to ensure that mamba page size and attention page size are exactly equal.",
    "Setting attention block size": "Setting attention block size to {} tokens to ensure that attention page size is >= mamba page size.",
    "padding layers": "Add {} padding layers, may waste at most 15.38% KV cache memory",
    "num_gpu_blocks": "vllm cache_config_info with initialization after num_gpu_blocks is: {}",
    "kv-cache-memory to fit into requested (bytes)": "config with `--kv-cache-memory={}` (57.05 GiB) to fit into requested memory,",
    "kv-cache-memory to fully utilize (bytes)": "or `--kv-cache-memory={}` (60.5 GiB) to fully utilize gpu memory.",
    "kv cache memory in use (bytes)": "Current kv cache memory in use is {} bytes.",
    "checkpoint size (GiB)": "Checkpoint size: {} GiB. Available RAM: 200.00 GiB.",
}


def _ended(record: Record, printed: Mapping[str, object]) -> Iterator[Line]:
    """How it ended: the engine's own words where the record has them, else those of the failure that it describes."""
    outcome = str(record["outcome"])
    for known, texts in _ENDS:
        if known in outcome:
            fields = {key.split(" (")[0]: value for key, value in printed.items() if isinstance(value, (int, float))}
            yield from (Line(text.format(outcome=outcome.partition(": ")[2], fields=fields, printed=printed), ()) for text in texts)
            return
    if record.get("outcome_class") == "ran" or outcome.startswith("ran"):
        yield Line("INFO:     Application startup complete.", ())


_OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 6 has a total capacity of 44.53 GiB of which 448.00 KiB is free."
_ENDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("warming up sampler", ("ERROR [core.py:1108] RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please",)),
    ("graph capture", ('  File "vllm/worker/model_runner.py", line 1434, in capture_model', _OOM)),
    ("creating MoE layers", ('  File "vllm/model_executor/layers/fused_moe/layer.py", line 90, in create_weights', _OOM)),
    ("in the profile run", ('  File "vllm/worker/worker.py", line 200, in determine_num_available_blocks', _OOM)),
    ("OOM on V1 above", ('  File "vllm/v1/worker/gpu_model_runner.py", line 200, in profile_run', _OOM)),
    ("in service", ("Connected", '  File "text_generation_server/models/flash_causal_lm.py", in generate_token', _OOM)),
    ("after warm-up passed", ("Connected", '  File "text_generation_server/models/flash_causal_lm.py", in generate_token', _OOM)),
    ("OutOfMemoryError", ("    attn_weights = torch.matmul(query, key_states.transpose(2, 3)) * scaling",)),
    ("larger than the maximum number of tokens", ("ValueError: {outcome}. Try increasing `gpu_memory_utilization`",)),
    ("max seq len (16000)", ("ValueError: The model's max seq len (16000) is larger than the maximum number of tokens that can be stored in KV cache (2368).",)),
    (
        "KV cache is needed",
        (
            "ValueError: To serve at least one request with the models's max seq len (131072), ({fields[KV cache needed]:.2f} GiB KV cache is "
            "needed, which is larger than the available KV cache memory ({fields[Available KV cache memory]} GiB). Based on the available "
            "memory, the estimated maximum model length is {fields[estimated maximum model length]}.",
        ),
    ),
    ("Mamba cache blocks", ("{outcome}",)),
    ("Free memory on device", ("{outcome}",)),
    ("No available memory", ("ValueError: {outcome}. Try increasing `gpu_memory_utilization`",)),
    ("page cache", ("NVIDIA Thor  On", "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`")),
    ("negative KV", ("NVIDIA GB10  On", "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`")),
    ("refused", ("{outcome}",)),
    ("GGML_ASSERT", ("ggml/src/ggml-backend.cpp:1204: GGML_ASSERT(n_inputs < GGML_SCHED_MAX_SPLIT_INPUTS) failed",)),
    ("CUDA out of memory reported", ("CUDA error: out of memory",)),
)  # fmt: skip


def _sglang(record: Record, printed: Mapping[str, object]) -> Iterator[Line]:
    """sglang 0.5 srt/model_executor/model_runner.py, srt/mem_cache/memory_pool.py, srt/managers/scheduler.py."""
    templates = {
        "KV Cache is allocated #tokens": "KV Cache is allocated. #tokens: {}, KV size: 7.51 GB",
        "KV Cache is allocated #tokens (swa pool)": "KV Cache is allocated. #tokens: {}, KV size: 7.51 GB",
        "K size (GB)": "KV Cache is allocated. #tokens: 1, K size: {} GB, V size: 1.00 GB",
        "V size (GB)": "KV Cache is allocated. #tokens: 1, K size: 1.00 GB, V size: {} GB",
        "KV size (GB)": "KV Cache is allocated. #tokens: 1, KV size: {} GB",
        "Load weight end avail mem (GB)": "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem={} GB, mem usage=15.54 GB.",
        "Load weight end mem usage (GB)": "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=6.09 GB, mem usage={} GB.",
        "Memory pool end avail mem (GB)": "Memory pool end. avail mem={} GB",
        "avail mem after pools (GB)": "Memory pool end. avail mem={} GB",
        "Capture cuda graph begin avail mem (GB)": "Capture cuda graph begin. This can take up to several minutes. avail mem={} GB",
        "cuda graph mem usage (GB)": "Capture cuda graph end. Time elapsed: 8.38 s. mem usage={} GB. avail mem=1.00 GB.",
        "avail mem after graph capture (GB)": "Capture cuda graph end. Time elapsed: 8.38 s. mem usage=1.00 GB. avail mem={} GB.",
        "available_gpu_mem (GB)": "max_total_num_tokens=1, chunked_prefill_size=2048, context_len=4096, available_gpu_mem={} GB",
        "conv_state size (GB)": "Mamba Cache is allocated. max_mamba_cache_size: 84, conv_state size: {}GB, ssm_state size: 1.00GB ",
        "ssm_state size (GB)": "Mamba Cache is allocated. max_mamba_cache_size: 84, conv_state size: 1.00GB, ssm_state size: {}GB ",
        "max_mamba_cache_size": "Mamba Cache is allocated. max_mamba_cache_size: {}, conv_state size: 0.44GB",
        "full_layer_tokens": "Use Sliding window memory pool. full_layer_tokens={}, swa_layer_tokens=1",
        "swa_layer_tokens": "Use Sliding window memory pool. full_layer_tokens=1, swa_layer_tokens={}",
    }
    yield from _simply(printed, templates, "[2026-01-06 17:18:28 TP0] ")


def _tgi(record: Record, printed: Mapping[str, object]) -> Iterator[Line]:
    """text-generation-inference 2.2 router/src/server.rs, with its JSON log."""
    template = '{{"timestamp":"2024-03-09T05:08:19Z","level":"INFO","message":"Setting max batch total tokens to {}","target":"text_generation_router"}}'
    templates = {
        "Setting max batch total tokens to": template,
        "memory in use at failure (GiB)": "this process has {} GiB memory in use. text_generation_launcher",
        "allocated by PyTorch (GiB)": "Of the allocated memory {} GiB is allocated by PyTorch",
    }
    yield from _simply(printed, templates, "")
    yield Line("2024-03-09T05:08:19Z ERROR text_generation_launcher: Method Prefill encountered an error.", ())
    yield from _ended(record, printed)


def _tensorrt(record: Record, printed: Mapping[str, object]) -> Iterator[Line]:
    """tensorrt-llm 0.12 cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp."""
    templates = {
        "Allocated GiB for max tokens in paged KV cache": "[MemUsageChange] Allocated {} GiB for max tokens in paged KV cache (3731744).",
        "max tokens in paged KV cache": "[MemUsageChange] Allocated 78.30 GiB for max tokens in paged KV cache ({}).",
        "primary blocks": "Number of blocks in KV cache primary pool: {}",
    }
    yield from _simply(printed, templates, "[TensorRT-LLM][INFO] ")


def _simply(printed: Mapping[str, object], templates: Mapping[str, str], head: str) -> Iterator[Line]:
    for key, value in printed.items():
        if key in templates and isinstance(value, (int, float)):
            yield Line(head + templates[key].format(value), (float(value),))


def _ollama(record: Record, printed: Mapping[str, object]) -> Iterator[Line]:
    """ollama 0.6.5 llm/memory.go, LogValue; 0.12.11 ml/device.go, BackendMemory.Log."""
    yield Line('time=2025-02-21T12:07:55Z level=INFO source=routes.go:1187 msg="Listening on [::]:11434 (version 0.6.5)"', ())
    for key, value in printed.items():
        if not isinstance(value, (int, float)):
            continue
        size, exact = _human(value)
        if key.startswith(("memory.", "projector.")):
            text = f'time=2025-02-21T12:07:55Z level=INFO source=server.go:138 msg=offload library=cuda {key}="{size}" layers.split=""'
        elif key.startswith("layers."):
            text, exact = f"time=2025-02-21T12:07:55Z level=INFO msg=offload library=cuda {key}={value}", float(value)
        elif key.startswith(("model weights ", "kv cache ", "compute graph ")) and not key.endswith("total"):
            what, _, device = key.rpartition(" ")
            text = f'time=2025-10-22T02:17:58Z level=DEBUG source=device.go:206 msg="{what}" device={device} size="{size}"'
        elif key == "total memory":
            text = f'time=2025-10-22T02:17:58Z level=DEBUG source=device.go:238 msg="total memory" size="{size}"'
        else:
            continue
        yield Line(text, (exact,))
    yield from _llama(record, printed)


def _human(mib: float) -> tuple[str, float]:
    """As format.HumanBytes2 has it: one decimal, in GiB from 1024 MiB on."""
    return (f"{mib / 1024:.1f} GiB", round(mib / 1024, 1)) if mib >= 1024 else (f"{mib:.1f} MiB", round(mib, 1))


def _llama(record: Record, printed: Mapping[str, object]) -> Iterator[Line]:
    """llama.cpp b2554 llama.cpp; b11434 src/llama-model.cpp, llama-kv-cache.cpp, llama-memory-recurrent.cpp, llama-context.cpp."""
    for key, value in printed.items():
        text = _llama_line(key)
        if text is not None and isinstance(value, (int, float)):
            yield Line(text.format(value), (float(value),))
    yield from _ended(record, printed)


def _llama_line(key: str) -> str | None:
    for known, make in _LLAMA_LINES:
        if known in key:
            return make(key.split()[0])
    return None


_SIZE = "llama_kv_cache: size = {:7.2f} MiB ( 65536 cells,  16 layers,  1/1 seqs), K (f16):    1.00 MiB, V (f16):    1.00 MiB"
_LLAMA_LINES: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("model buffer size", lambda device: f"load_tensors: {device:>12} model buffer size = {{:8.2f}} MiB"),
    ("KV buffer size", lambda device: f"llama_kv_cache_init: {device:>10} KV buffer size = {{:8.2f}} MiB"),
    ("RS buffer size", lambda device: f"llama_memory_recurrent: {device:>10} RS buffer size = {{:8.2f}} MiB"),
    ("compute buffer size", lambda device: f"llama_context: {device:>10} compute buffer size = {{:8.2f}} MiB"),
    ("output buffer size", lambda device: f"llama_context: {device:>10}  output buffer size = {{:8.2f}} MiB"),
    ("input buffer size", lambda device: f"llama_new_context_with_model: {device:>10} input buffer size   = {{:8.2f}} MiB"),
    ("buffer size", lambda device: f"llm_load_tensors: {device:>10} buffer size = {{:8.2f}} MiB"),
    ("KV self size", lambda device: "llama_new_context_with_model: KV self size  = {:7.2f} MiB, K (f16):    1.00 MiB, V (f16):    1.00 MiB"),
    ("llama_kv_cache_unified size", lambda device: "llama_kv_cache_unified: size = {:7.2f} MiB ( 32768 cells,  28 layers,  1 seqs)"),
    ("llama_kv_cache size", lambda device: _SIZE),
    ("SWA KV", lambda device: _SIZE),
    ("KV total", lambda device: _SIZE),
    ("total KV MiB", lambda device: _SIZE),
    ("size (", lambda device: _SIZE),
    ("llama_memory_recurrent size", lambda device: "llama_memory_recurrent: size = {:7.2f} MiB ( 1 cells, 64 layers, 1 seqs), R (f32): 1.0 MiB"),
    ("R (f32)", lambda device: "llama_memory_recurrent: size = 448.88 MiB (     1 cells,  64 layers,  1 seqs), R (f32): {:7.2f} MiB, S (f32):  1.00 MiB"),
    ("S (f32)", lambda device: "llama_memory_recurrent: size = 448.88 MiB (     1 cells,  64 layers,  1 seqs), R (f32):  1.00 MiB, S (f32): {:7.2f} MiB"),
    ("K (q", lambda device: "llama_kv_cache: size = 2.00 MiB (     1 cells,  64 layers,  1/1 seqs), K (q5_1): {:7.2f} MiB, V (q8_0):    1.00 MiB"),
    ("V (q", lambda device: "llama_kv_cache: size = 2.00 MiB (     1 cells,  64 layers,  1/1 seqs), K (q5_1):    1.00 MiB, V (q8_0): {:7.2f} MiB"),
    ("estimated MTP context", lambda device: "srv    load_model: [spec] estimated memory usage of MTP context is {:.2f} MiB"),
    ("fit projected", lambda device: "common_params_fit_impl: projected to use {} MiB of device memory vs. 23665 MiB of free device memory"),
    ("fit free", lambda device: "common_params_fit_impl: projected to use 5856 MiB of device memory vs. {} MiB of free device memory"),
    ("one checkpoint", lambda device: "slot update_slots: id  0 | task 7 | created context checkpoint 1 of 32 (pos_min = 0, pos_max = 545, n_tokens = 546, size = {:.3f} MiB)"),
    ("prompt cache limit", lambda device: "srv    load_model: prompt cache is enabled, size limit: {} MiB"),
    ("prompt cache MiB", lambda device: "srv  update:  - cache state: 3 prompts, {:.3f} MiB (limits: 8192.000 MiB, 32768 tokens, 68068 est)"),
)  # fmt: skip


def _torch(record: Record, printed: Mapping[str, object]) -> Iterator[Line]:
    """torch 2.5 c10/cuda/CUDACachingAllocator.cpp; AutoAWQ's table; what scripts print of max_memory_allocated."""
    yield from _ended(record, printed)
    value = printed.get
    if "tried to allocate GiB" in printed:
        text = (
            f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {value('tried to allocate GiB')} GiB. GPU 0 has a total capacity of "
            f"{value('total capacity GiB')} GiB of which {value('free GiB')} GiB is free. Process 4242 has {value('process GiB')} GiB memory in "
            f"use. Of the allocated memory {value('allocated by PyTorch GiB')} GiB is allocated by PyTorch, and "
            f"{value('reserved unallocated GiB')} GiB is reserved by PyTorch but unallocated."
        )
        yield Line(text, tuple(float(str(number)) for number in printed.values()))
    if "max_memory_allocated (GiB->MiB)" in printed:
        yield Line(
            f"Max memory allocated: {value('max_memory_allocated (GiB->MiB)')} MiB", (float(str(value("max_memory_allocated (GiB->MiB)"))),)
        )
    if "Memory (VRAM) GB" in printed:
        gb = float(str(value("Memory (VRAM) GB")))
        yield Line(
            f"|            1 |               32 |              32 |            71.46 |           109.71 | {gb:.2f} GB (5.66%) |", (gb,)
        )
