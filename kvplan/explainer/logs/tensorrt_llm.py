"""TensorRT-LLM's log: exact bytes of its paged cache."""

from kvplan.core.logs import Shape

ENGINE = "tensorrt-llm"
_CACHE = "tensorrt-llm 0.12 cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp"

SHAPES = (
    Shape("TensorRT-LLM version: {=version|version}", "tensorrt-llm 1.0 __init__.py", "start"),
    Shape("Allocated {KV cache|size} for max tokens in paged KV cache ({KV cache tokens|tokens})", _CACHE, "pool"),
    Shape("Number of blocks in KV cache primary pool: {primary blocks|blocks}", _CACHE),
    Shape("Number of tokens per block: {block|tokens}", _CACHE),
    Shape("Max KV cache pages per sequence: {pages per sequence|blocks}", _CACHE),
    Shape("Allocated {runtime buffers|size} GPU memory for runtime buffers", "tensorrt-llm 0.12 cpp/tensorrt_llm/runtime"),
    Shape("Allocated {decoder|size} GPU memory for decoder", "tensorrt-llm 0.12 cpp/tensorrt_llm/runtime"),
    Shape("Allocated {execution context|size} for execution context memory", "tensorrt-llm 0.12 cpp/tensorrt_llm/runtime"),
    Shape("Loaded engine size: {engine|size}", "tensorrt-llm 0.12 cpp/tensorrt_llm/runtime"),
    Shape("Memory used after loading model weights (inside torch) in memory usage profiling: {weights|size}", "tensorrt-llm 1.0 _util.py"),
    Shape("(outside torch) in memory usage profiling: {non-torch memory|size}", "tensorrt-llm 1.0 _torch/pyexecutor/_util.py"),
    Shape(
        "during inference (inside torch) in memory usage profiling: {activation peak|size}", "tensorrt-llm 1.0 _torch/pyexecutor/_util.py"
    ),
    Shape("NCCL and CUDA graphs) in memory usage profiling: {outside torch|size}", "tensorrt-llm 1.0 _torch/pyexecutor/_util.py"),
    Shape(
        "Peak memory during memory usage profiling (torch + non-torch): {peak memory|size}, available KV cache memory when calculating "
        "max tokens: {available KV cache memory|size}",
        "tensorrt-llm 1.0 _torch/pyexecutor/_util.py",
    ),
    Shape("fraction is set {free fraction|share}, kv size is {KV cache a token|bytes}", "tensorrt-llm 1.0 _torch/pyexecutor/_util.py"),
    Shape("device total memory {total memory|size}", "tensorrt-llm 1.0 _torch/pyexecutor/_util.py"),
    Shape("for max tokens ({KV cache tokens|tokens})", "tensorrt-llm 1.1 resource manager", "pool"),
    Shape("Allocated {KV cache|size} for max tokens (", "tensorrt-llm 1.1 resource manager", "pool"),
    Shape("Executor creation failed due to insufficient GPU memory", "tensorrt-llm 1.2 py_executor_creator.py", "oom", "loading"),
    Shape("Estimated max memory in KV cache : {KV cache|size}", "tensorrt-llm 0.20 _torch/pyexecutor/_util.py"),
    Shape("max_seq_len={=max_seq_len|int}, max_num_requests={=max_num_requests|int}", "tensorrt-llm 0.17 _torch/pyexecutor"),
    Shape("Engine loaded and ready to serve", "tensorrt-llm 0.17", "ready"),
    Shape("[TensorRT-LLM]", "tensorrt-llm 0.12 cpp logger"),
    Shape("[TRT-LLM]", "tensorrt-llm 0.12 logger.py"),
    Shape("tensorrt_llm/", "a traceback", "frame"),
)
