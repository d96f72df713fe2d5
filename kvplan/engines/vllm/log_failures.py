"""What vLLM says when it does not start, or stops, for want of memory; and where in its code a traceback was."""

from kvplan.core.logs import Shape

ENGINE = "vllm"

_CHECK = "vllm 0.33.0 v1/core/kv_cache_planning.py, _check_enough_kv_cache_memory"
_V0_CHECK = "vllm 0.6.4 worker/worker.py, raise_if_cache_size_invalid"

REFUSALS = (
    Shape(
        "max seq len ({=max_model_len|int}), ({KV cache needed|size} KV cache is needed, which is larger than the available KV cache "
        "memory ({available KV cache memory|size})",
        _CHECK,
        "refused",
        "pool_below_one_request",
    ),
    Shape(
        "max seq len ({=max_model_len|int}), {KV cache needed|size} KV cache is needed", "vllm 0.9.2", "refused", "pool_below_one_request"
    ),
    Shape("KV cache is needed, which is larger than the available KV cache memory", _CHECK, "refused", "pool_below_one_request"),
    Shape("the estimated maximum model length is {estimated maximum model length|tokens}", _CHECK),
    Shape(
        "max seq len ({=max_model_len|int}) is larger than the maximum number of tokens that can be stored in KV cache "
        "({tokens that the pool holds|tokens})",
        _V0_CHECK,
        "refused",
        "pool_below_one_request",
    ),
    Shape("No available memory for the cache blocks", _CHECK, "refused", "no_pool"),
    Shape("Cannot auto-fit max_model_len: not enough GPU memory", _CHECK, "refused", "no_pool"),
    Shape(
        "Free memory on device {*}({free at start|size/}/{total memory|size}) on startup is less than desired GPU memory utilization "
        "({utilization|share}, {requested memory|size})",
        "vllm 0.19.0 v1/worker/utils.py, request_memory",
        "refused",
        "not_free",
    ),
    Shape("on startup is less than desired GPU memory utilization", "vllm 0.9.2 v1/worker/gpu_worker.py", "refused", "not_free"),
    Shape(
        "Error in memory profiling. Initial free memory {initial free memory|size}, current free memory {current free memory|size}",
        "vllm 0.19.0 v1/worker/gpu_worker.py, determine_available_memory",
        "refused",
        "released_while_profiling",
    ),
    Shape(
        "Error in memory profiling. Initial free memory {initial free memory|bytes}, current free memory {current free memory|bytes}",
        "vllm 0.8.2 v1/worker/gpu_worker.py",
        "refused",
        "released_while_profiling",
    ),
    Shape("Error in memory profiling. Initial used memory", "vllm 0.8.2 worker/worker.py", "refused", "released_while_profiling"),
    Shape(
        "max_num_seqs ({max_num_seqs|requests}) exceeds available Mamba cache blocks ({available Mamba cache blocks|blocks})",
        "vllm 0.20.0 config/compilation.py",
        "refused",
        "state_blocks",
    ),
    Shape(
        "User-specified max_model_len ({max_model_len asked|tokens}) is greater than the derived max_model_len "
        "({*}={derived max_model_len|tokens}",
        "vllm 0.19.0 config/model.py, _get_and_verify_max_len",
        "refused",
        "beyond_the_model",
    ),
    Shape("{size|number} is not divisible by {tensor parallel size|ranks}", "vllm 0.19.0 distributed/utils.py", "refused", "not_divisible"),
    Shape(
        "attention heads ({attention heads|heads}) must be divisible by tensor parallel size ({tensor parallel size|ranks})",
        "vllm 0.19.0 config/model.py, verify_with_parallel_config",
        "refused",
        "not_divisible",
    ),
    Shape("does not recognize this architecture", "transformers 5.24 models/auto", "refused", "unknown_architecture"),
    Shape("DP adjusted local rank {rank|rank} is out of bounds", "vllm 0.19.0 v1/worker/gpu_worker.py", "refused", "too_few_gpus"),
    Shape("Engine core initialization failed", "vllm 0.19.0 v1/engine/utils.py, wait_for_engine_startup", "refused", "other"),
    Shape("EngineCore failed to start", "vllm 0.19.0 v1/engine/core.py, run_engine_core", "refused", "other"),
    Shape("Engine process failed to start", "vllm 0.6.4 entrypoints/openai/api_server.py", "refused", "other"),
    Shape("EngineCore encountered a fatal error", "vllm 0.19.0 v1/engine/core.py, run_engine_core", "refused", "other"),
)

OUT_OF_MEMORY = (
    Shape(
        "out of memory occurred when warming up sampler with {dummy requests|requests} dummy requests",
        "vllm 0.19.0 v1/worker/gpu_model_runner.py, _dummy_sampler_run",
        "oom",
        "sampler_warm_up",
    ),
    Shape("out of memory occurred when warming up pooler", "vllm 0.19.0 v1/worker/gpu_model_runner.py", "oom", "sampler_warm_up"),
)

FRAMES = (
    Shape("_dummy_sampler_run", "vllm 0.19.0 v1/worker/gpu_model_runner.py", "frame", "sampler_warm_up"),
    Shape("in capture_model", "vllm 0.19.0 v1/worker/gpu_model_runner.py", "frame", "graph_capture"),
    Shape("in _capture_cudagraphs", "vllm 0.19.0 v1/worker/gpu_model_runner.py", "frame", "graph_capture"),
    Shape("in capture_graph", "vllm 0.20.0 v1/worker/gpu/cudagraph_utils.py", "frame", "graph_capture"),
    Shape("torch.cuda.graph(", "torch 2.13 cuda/graphs.py", "frame", "graph_capture"),
    Shape("in profile_run", "vllm 0.19.0 v1/worker/gpu_model_runner.py", "frame", "profile"),
    Shape("in determine_num_available_blocks", "vllm 0.6.4 worker/worker.py", "frame", "profile"),
    Shape("in determine_available_memory", "vllm 0.19.0 v1/worker/gpu_worker.py", "frame", "profile"),
    Shape("in get_multimodal_embeddings", "vllm 0.9.2 model_executor/models", "frame", "multimodal"),
    Shape("in embed_multimodal", "vllm 0.19.0 model_executor/models", "frame", "multimodal"),
    Shape("_execute_mm_encoder", "vllm 0.19.0 v1/worker/gpu_model_runner.py", "frame", "multimodal"),
    Shape("in load_model", "vllm 0.19.0 v1/worker/gpu_model_runner.py", "frame", "loading"),
    Shape("in load_weights", "vllm 0.19.0 model_executor/models", "frame", "loading"),
    Shape("in create_weights", "vllm 0.19.0 model_executor/layers", "frame", "loading"),
    Shape("in initialize_model", "vllm 0.19.0 model_executor/model_loader/utils.py", "frame", "loading"),
    Shape("in process_weights_after_loading", "vllm 0.19.0 model_executor/model_loader/utils.py", "frame", "loading"),
    Shape("Starting to load model {=model|word}", "vllm 0.19.0 v1/worker/gpu_model_runner.py", "frame", "loading"),
    Shape("in execute_model", "vllm 0.19.0 v1/worker/gpu_worker.py", "frame", "serving"),
    Shape("in initialize_kv_cache", "vllm 0.19.0 v1/worker/gpu_model_runner.py", "frame", "pool"),
)

SHAPES = (*REFUSALS, *OUT_OF_MEMORY, *FRAMES)
