"""The lines of vLLM's log that tell where memory went, from V0 to the V2 model runner."""

from kvplan.core.logs import Shape

ENGINE = "vllm"

_RUNNER = "vllm 0.19.0 v1/worker/gpu_model_runner.py"
_WORKER = "vllm 0.19.0 v1/worker/gpu_worker.py"
_CACHE = "vllm 0.33.0 v1/core/kv_cache_utils.py"
_V0 = "vllm 0.7.3 worker/worker.py, determine_num_available_blocks"
_V064 = "vllm 0.6.4 worker/worker.py, determine_num_available_blocks"

STARTS = (
    Shape("▀▄▀ █  version {=version|version}", "vllm 0.19.0 entrypoints/utils.py, the banner", "start", "banner"),
    Shape("vLLM API server version {=version|version}", "vllm 0.6.4 entrypoints/openai/api_server.py, run_server", "start", "banner"),
    Shape("Initializing a V1 LLM engine (v{=version|version}) with config: {=config|rest}", "vllm 0.11.0 v1/engine/core.py", "start"),
    Shape("Initializing an LLM engine (v{=version|version}) with config: {=config|rest}", "vllm 0.5.4 engine/llm_engine.py", "start"),
    Shape("Initializing a V0 LLM engine (v{=version|version}) with config: {=config|rest}", "vllm 0.8.2 engine/llm_engine.py", "start"),
    Shape("Initializing an LLM engine with config: {=config|rest}", "vllm 0.2.7 engine/llm_engine.py", "start"),
    Shape("non-default args: {=args|rest}", "vllm 0.19.0 entrypoints/utils.py, log_non_default_args"),
    Shape("args: Namespace({=namespace|rest}", "vllm 0.6.4 entrypoints/openai/api_server.py, run_server"),
    Shape("Using max model len {=max_model_len|int}", "vllm 0.19.0 config/model.py"),
    Shape("Chunked prefill is enabled with max_num_batched_tokens={=max_num_batched_tokens|int}", "vllm 0.19.0 config/scheduler.py"),
    Shape("init engine (profile, create kv cache, warmup model) took {startup|seconds}", "vllm 0.9.2 v1/engine/core.py", "ready"),
    Shape('packages/vllm/{*}", line', "a traceback", "frame"),
)

WEIGHTS = (
    Shape("Model loading took {weights|size}", f"{_RUNNER}, load_model"),
    Shape("Loading model weights took {weights|size}", "vllm 0.6.4 worker/model_runner.py, load_model"),
    Shape("Peak GPU memory after loading weights: {peak while loading|size}", "vllm 0.19.0 model_executor/model_loader/base_loader.py"),
    Shape("checkpoint size: {checkpoint size|size}", "vllm 0.20 model_executor/model_loader/weight_utils.py"),
    Shape("Checkpoint size: {checkpoint size|size}", "vllm 0.20 model_executor/model_loader/weight_utils.py"),
)

BUDGET = (
    Shape("free_memory={free at start|size}, total_memory={total memory|size}", "vllm 0.19.0 utils/mem_utils.py, MemorySnapshot"),
    Shape("non_torch_memory={non-torch at start|size}, timestamp", "vllm 0.19.0 utils/mem_utils.py, MemorySnapshot"),
    Shape("worker requested memory: {requested memory|size}", f"{_WORKER}, init_device"),
    Shape("Initial free memory: {initial free memory|size}; Requested", f"{_WORKER}, determine_available_memory"),
    Shape("Requested memory: {=gpu_memory_utilization|float} (util), {requested memory|size}", f"{_WORKER}, determine_available_memory"),
    Shape("Initial free memory: {initial free memory|size}, free memory: {free memory|size}", "vllm 0.9.2 v1/worker/gpu_worker.py"),
    Shape("requested GPU memory: {requested memory|size}", "vllm 0.9.2 v1/worker/gpu_worker.py"),
    Shape(
        "Free memory after profiling: {free after profiling|size} (total), {free within requested|size} (within requested)",
        f"{_WORKER}, determine_available_memory",
    ),
    Shape("Total non KV cache memory: {total non-KV memory|size}", "vllm 0.19.0 utils/mem_utils.py, MemoryProfilingResult"),
    Shape("torch peak memory increase: {torch peak memory increase|size}", "vllm 0.19.0 utils/mem_utils.py, MemoryProfilingResult"),
    Shape("non-torch forward increase memory: {non-torch forward increase|size}", "vllm 0.19.0 utils/mem_utils.py, MemoryProfilingResult"),
    Shape("weights memory: {weights memory|size}", "vllm 0.19.0 utils/mem_utils.py, MemoryProfilingResult"),
    Shape("Estimated CUDA graph memory: {estimated graphs|size} total", f"{_RUNNER}, profile_cudagraph_memory"),
    Shape("Estimated CUDA graph memory: {estimated graphs|size}", "vllm 0.22.1 v1/worker/gpu_model_runner.py"),
    Shape("Desired GPU memory utilization is ({=gpu_memory_utilization|float}, {requested memory|size})", f"{_WORKER}, warm up"),
    Shape("Free memory on device {*}({free at start|size/}/{total memory|size}) on startup. Desired", f"{_WORKER}, warm up"),
    Shape("{weights memory|size} for weight", f"{_WORKER}, compile_or_warm_up_model"),
    Shape("{torch peak memory increase|size} for peak activation", f"{_WORKER}, compile_or_warm_up_model"),
    Shape("{non-torch forward increase|size} for non-torch memory", f"{_WORKER}, compile_or_warm_up_model"),
    Shape("{graphs|size} for CUDAGraph memory", f"{_WORKER}, compile_or_warm_up_model"),
    Shape("CUDA graph pool memory: {graphs|size} (actual), {estimated graphs|size} (estimated)", "vllm 0.20.0 v1/worker/gpu_worker.py"),
    Shape("--kv-cache-memory={kv-cache-memory within requested|bytes}` ({*}) to fit into requested memory", f"{_WORKER}, warm up"),
    Shape("or `--kv-cache-memory={kv-cache-memory at most|bytes}`", f"{_WORKER}, warm up"),
    Shape("Current kv cache memory in use is {KV cache in use|size}", f"{_WORKER}, warm up"),
    Shape("kv cache memory in use is {KV cache in use|bytes} bytes", "vllm 0.10.2 v1/worker/gpu_worker.py"),
    Shape("reserved {KV cache in use|size} memory for KV Cache as specified by kv_cache_memory_bytes", "vllm 0.22.1 gpu_worker.py"),
    Shape("Explicitly set ({KV cache space set|GiB}/{node memory|GiB}) GiB for KV cache", "vllm 0.25.1 v1/worker/cpu_worker.py"),
    Shape("Graph capturing finished in {*} secs, took {graphs|size}", f"{_RUNNER}, capture_model", "pool"),
    Shape("Encoder cache will be initialized with a budget of {encoder cache budget|tokens} tokens", f"{_RUNNER}, profile_run"),
    Shape("profiled with {encoder items|items}", f"{_RUNNER}, profile_run"),
    Shape("Capturing CUDA graph shapes", "vllm 0.8.2 worker/model_runner.py, capture_model", "frame", "graph_capture"),
    Shape("Capturing cudagraphs for decoding", "vllm 0.7.3 worker/model_runner.py, capture_model", "frame", "graph_capture"),
    Shape("Capturing the model for CUDA graphs", "vllm 0.5.4 worker/model_runner.py, capture_model", "frame", "graph_capture"),
    Shape("Capturing CUDA graphs", "vllm 0.11.0 v1/worker/gpu_model_runner.py, _capture_cudagraphs", "frame", "graph_capture"),
    Shape("Profiling CUDA graph memory", f"{_RUNNER}, profile_cudagraph_memory", "frame", "profile"),
)

POOL = (
    Shape("Available KV cache memory: {available KV cache memory|size}", f"{_WORKER}, determine_available_memory"),
    Shape("GPU KV cache size: {GPU KV cache size|tokens} tokens", f"{_CACHE}, update_kv_cache_capacity", "pool"),
    Shape("CPU KV cache size: {CPU KV cache size|tokens} tokens", f"{_CACHE}, update_kv_cache_capacity", "pool"),
    Shape("Maximum concurrency for {=max_model_len|int} tokens per request: {maximum concurrency|x}x", f"{_CACHE}", "pool"),
    Shape("# {*} blocks: {GPU blocks|blocks}, # CPU blocks: {CPU blocks|blocks}", "vllm 0.8.2 executor/executor_base.py", "pool"),
    Shape("num_gpu_blocks = {GPU blocks|blocks}", "vllm 0.9.2 v1/worker/tpu_worker.py", "pool"),
    Shape("num_gpu_blocks is: {GPU blocks|blocks}", "vllm 0.19.0 v1/metrics/loggers.py", "pool"),
    Shape("Multiplying the GPU KV cache size by the dcp_world_size {=decode_context_parallel_size|int}", "vllm 0.11.1 kv_cache_utils.py"),
    Shape("Setting attention block size to {attention block size|tokens} tokens", "vllm 0.19.0 platforms/interface.py"),
    Shape("Padding mamba page size by {mamba page padding|%}%", "vllm 0.19.0 platforms/interface.py"),
    Shape("Add {padding layers|layers} padding layers, may waste at most {padding at most|%}%", f"{_CACHE}"),
    Shape("Auto-fit max_model_len: reduced from {*} to {=max_model_len|int} to fit", f"{_CACHE}, _auto_fit_max_model_len"),
)

V0 = (
    Shape(
        "total_gpu_memory ({total memory|size}) x gpu_memory_utilization ({=gpu_memory_utilization|float}) = {requested memory|size}", _V0
    ),
    Shape("model weights take {weights|size};", _V0),
    Shape("non_torch_memory takes {non-torch memory|size};", _V0),
    Shape("PyTorch activation peak memory takes {activation peak|size};", _V0),
    Shape("the rest of the memory reserved for KV Cache is {available KV cache memory|size}", _V0),
    Shape("total_gpu_memory={total memory|size}", _V064),
    Shape("initial_memory_usage={memory before profiling|size}", _V064),
    Shape("peak_torch_memory={torch peak memory|size}", _V064),
    Shape("memory_usage_post_profile={memory after profiling|size}", _V064),
    Shape("non_torch_memory={non-torch memory|size}, kv_cache_size={available KV cache memory|size}", _V064),
    Shape("kv_cache_size={available KV cache memory|size}, gpu_memory_utilization={=gpu_memory_utilization|float}", _V064),
)

SERVICE = (
    Shape("Avg prompt throughput: {prompt throughput|tokens/s} tokens/s", "vllm 0.19.0 v1/metrics/loggers.py", "pool"),
    Shape("Avg generation throughput: {generation throughput|tokens/s} tokens/s", "vllm 0.19.0 v1/metrics/loggers.py", "pool"),
    Shape("Running: {running|requests} reqs, Waiting: {waiting|requests} reqs", "vllm 0.19.0 v1/metrics/loggers.py"),
    Shape("GPU KV cache usage: {KV cache usage|%}%", "vllm 0.19.0 v1/metrics/loggers.py"),
    Shape("Prefix cache hit rate: {prefix cache hit rate|%}%", "vllm 0.19.0 v1/metrics/loggers.py"),
    Shape("is preempted by PreemptionMode", "vllm 0.6.4 core/scheduler.py, _preempt", "warned", "preempted"),
    Shape("total_num_cumulative_preemption={preemptions|preemptions}", "vllm 0.6.4 core/scheduler.py", "warned", "preempted"),
    Shape("Preemptions: {preemptions|preemptions}", "vllm 0.22.1 v1/metrics/loggers.py", "warned", "preempted"),
)

SHAPES = (*STARTS, *WEIGHTS, *BUDGET, *POOL, *V0, *SERVICE)
