"""What llama.cpp says when it can't allocate, or will not."""

from kvplan.core.logs import Shape

ENGINE = "llama.cpp"

_CUDA = "llama.cpp b11434 ggml/src/ggml-cuda/ggml-cuda.cu, ggml_backend_cuda_buffer_type_alloc_buffer"
_ALLOC = "llama.cpp b11434 ggml/src/ggml-alloc.c"
_INIT = "llama.cpp b11434 src/llama.cpp, llama_init_from_model"

REFUSALS = (
    Shape("quantized V cache requires flash_attn to be enabled", _INIT, "refused", "quantized_v"),
    Shape(
        "quantized V cache was requested, but this requires Flash Attention",
        "llama.cpp b7000 src/llama-context.cpp",
        "refused",
        "quantized_v",
    ),
    Shape("V cache quantization requires flash_attn", "llama.cpp b3500 src/llama.cpp", "refused", "quantized_v"),
    Shape("GGML_ASSERT(", "llama.cpp b11434 ggml/include/ggml.h", "refused", "other"),
    Shape("exiting due to model loading error", "llama.cpp b11434 tools/server/server.cpp", "refused", "other"),
    Shape("failed to create context with model", "llama.cpp b2554 common/common.cpp", "refused", "other"),
    Shape("failed to load model", "llama.cpp b2554 common/common.cpp", "refused", "other"),
    Shape("error loading model:", "llama.cpp b11434 src/llama.cpp", "refused", "other"),
    Shape("error: invalid argument:", "llama.cpp b11434 common/arg.cpp", "refused", "other"),
    Shape("error: unknown argument:", "llama.cpp b2554 common/common.cpp", "refused", "other"),
    Shape("unable to load model", "ik_llama.cpp 2025-03 examples/server/server.cpp", "refused", "other"),
)

OUT_OF_MEMORY = (
    Shape("allocating {failed allocation|size} on device {=device|int}: cudaMalloc failed: out of memory", _CUDA, "oom", "buffer"),
    Shape("cudaMalloc failed: out of memory", _CUDA, "oom", "buffer"),
    Shape("insufficient memory (attempted to allocate {failed allocation|size})", "llama.cpp b11434 ggml/src/ggml.c", "oom", "buffer"),
    Shape("buffer of size {failed allocation|bytes}", _ALLOC, "oom", "buffer"),
    Shape("failed to allocate buffer for kv cache", "llama.cpp b11434 src/llama-kv-cache.cpp", "oom", "kv_buffer"),
    Shape("failed to allocate buffer for rs cache", "llama.cpp b11434 src/llama-memory-recurrent.cpp", "oom", "kv_buffer"),
    Shape("llama_kv_cache_init() failed", "llama.cpp b3500 src/llama.cpp", "oom", "kv_buffer"),
    Shape("failed to allocate compute buffers", "llama.cpp b2554 llama.cpp", "oom", "compute_buffer"),
    Shape("failed to allocate compute pp buffers", "llama.cpp b11434 src/llama-context.cpp, sched_reserve", "oom", "compute_buffer"),
    Shape("failed to allocate compute {*} buffers", "llama.cpp b11434 src/llama-context.cpp, sched_reserve", "oom", "compute_buffer"),
    Shape("ggml_gallocr_reserve_n: failed to allocate", "llama.cpp b5000 ggml/src/ggml-alloc.c", "oom", "compute_buffer"),
    Shape("ggml_gallocr_reserve_n_impl: failed to allocate", _ALLOC, "oom", "compute_buffer"),
    Shape("unable to allocate {=buffer|buffer} buffer", "llama.cpp b11434 src/llama-model.cpp, load_tensors", "oom", "weights_buffer"),
    Shape("error loading model: failed to allocate buffer", "ik_llama.cpp 2025-05 src/llama.cpp", "oom", "weights_buffer"),
    Shape(
        "error: failed to allocate buffer, size = {failed allocation|size}",
        "llama.cpp b5000 ggml/src/ggml-metal/ggml-metal.m",
        "oom",
        "buffer",
    ),
    Shape(
        "Device memory allocation of size {failed allocation|bytes} failed",
        "llama.cpp b5000 ggml/src/ggml-vulkan/ggml-vulkan.cpp",
        "oom",
        "buffer",
    ),
    Shape("CUDA error {*}: out of memory", "llama.cpp b1500 ggml-cuda.cu", "oom", "run_time"),
    Shape("CUDA error: out of memory", "llama.cpp b11434 ggml/src/ggml-cuda/ggml-cuda.cu", "oom", "run_time"),
    Shape("ErrorOutOfDeviceMemory", "llama.cpp b11434 ggml/src/ggml-vulkan/ggml-vulkan.cpp", "oom", "buffer"),
    Shape("kIOGPUCommandBufferCallbackErrorOutOfMemory", "llama.cpp b11434 ggml/src/ggml-metal/ggml-metal.m", "oom", "run_time"),
)

FIT = (
    Shape("failed to fit params to free device memory", "llama.cpp b9849 src/llama.cpp", "warned", "fit"),
    Shape("already set by user{*}abort", "llama.cpp b11434 common/fit.cpp", "warned", "fit"),
    Shape("encountered an error while trying to fit params to free device memory", "llama.cpp b11434 common/fit.cpp", "warned", "fit"),
)

SHAPES = (*REFUSALS, *OUT_OF_MEMORY, *FIT)
