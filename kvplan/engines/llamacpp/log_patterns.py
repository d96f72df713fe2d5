"""The lines of llama.cpp's log that tell where memory went, from llama_new_context_with_model to b11434; ik_llama.cpp prints alike."""

from kvplan.core.logs import Shape

ENGINE = "llama.cpp"

_LOAD = "llama.cpp b11434 src/llama-model.cpp, load_tensors"
_CONTEXT = "llama.cpp b11434 src/llama-context.cpp"
_CACHE = "llama.cpp b11434 src/llama-kv-cache.cpp"
_OLD = "llama.cpp b2554 llama.cpp, llama_new_context_with_model"
_IK = "ik_llama.cpp 2025-02 src/llama.cpp"
_FIT = "llama.cpp b11434 common/fit.cpp"
_BREAKDOWN = "llama.cpp b11434 src/llama-context.cpp, llama_memory_breakdown_print"
_SERVER = "llama.cpp b11434 tools/server/server-context.cpp"

STARTS = (
    Shape("llama_server: initializing", "llama.cpp b11434 tools/server/server.cpp", "start"),
    Shape("build: {=build|int} ({*}) with", "llama.cpp b5000 common/common.cpp", "start"),
    Shape("build_info: b{=build|int}-", "llama.cpp b11434 common/common.cpp", "start"),
    Shape("build = {=build|int} (", "llama.cpp b2554 examples/main/main.cpp", "start"),
    Shape("common_params_print_info: build {=build|int} (", "llama.cpp b11434 common/common.cpp"),
    Shape("INFO [{*}main] build info{*}build={=build|int}", "ik_llama.cpp 2025-03 examples/server/server.cpp", "start"),
    Shape("loading model '{=model|quoted}", "llama.cpp b11434 tools/server/server-context.cpp, load_model"),
    Shape("loaded meta data with {*} from {=model|word}", "llama.cpp b11434 src/llama-model-loader.cpp"),
    Shape("Device {*}: {=gpu|name}, compute capability", "llama.cpp b11434 ggml/src/ggml-cuda/ggml-cuda.cu"),
    Shape("using device {*} ({=gpu|until)}) {*}- {device free|size} free", "llama.cpp b11434 src/llama.cpp"),
    Shape("- CUDA{*}: {=gpu|until(}({device memory|size}, {device free|size} free)", "llama.cpp b11434 common/common.cpp"),
    Shape("- Vulkan{*}: {=gpu|until(}({device memory|size}, {device free|size} free)", "llama.cpp b11434 common/common.cpp"),
    Shape("- ROCm{*}: {=gpu|until(}({device memory|size}, {device free|size} free)", "llama.cpp b11434 common/common.cpp"),
    Shape("- CPU{*}: {=cpu|until(}({host memory|size}, {host free|size} free)", "llama.cpp b11434 common/common.cpp"),
    Shape("recommendedMaxWorkingSetSize = {device memory|size}", "llama.cpp b5000 ggml/src/ggml-metal/ggml-metal.m"),
    Shape("VRAM: {device memory|size}", "llama.cpp b11434 ggml/src/ggml-cuda/ggml-cuda.cu, HIP"),
    Shape("llama_server: model loaded", "llama.cpp b11434 tools/server/server.cpp", "ready"),
    Shape("main: model loaded", "llama.cpp b5000 tools/server/server.cpp", "ready"),
    Shape("server is listening on", "llama.cpp b5000 tools/server/server.cpp", "ready"),
    Shape("listening on http", "llama.cpp b11434 tools/server/server.cpp", "ready"),
    Shape("all slots are idle", "llama.cpp b2554 examples/server/server.cpp", "ready"),
    Shape("eval time = {*} ms / {*} runs", "llama.cpp b11434 src/llama-context.cpp, perf print", "ready"),
)

MODEL = (
    Shape("model size = {model size|size}", "llama.cpp b2554 llama.cpp, llm_load_print_meta"),
    Shape("file size = {model size|size}", "llama.cpp b11434 src/llama-model.cpp, print_info"),
    Shape("repeating layers = {repeating layers|size}", "ik_llama.cpp 2025-02 src/llama.cpp"),
    Shape("model params = {parameters|B}", "llama.cpp b11434 src/llama-model.cpp, print_info"),
    Shape("general.name = {=name|rest}", "llama.cpp b11434 src/llama-model.cpp, print_info"),
    Shape("model ftype = {=ftype|rest}", "llama.cpp b2554 llama.cpp"),
    Shape("file type = {=ftype|rest}", "llama.cpp b11434 src/llama-model.cpp"),
    Shape("arch = {=arch|word}", "llama.cpp b11434 src/llama-model.cpp"),
    Shape("n_ctx_train = {n_ctx_train|tokens}", "llama.cpp b11434 src/llama-model.cpp, print_info"),
    Shape("n_layer = {=n_layer|int}", "llama.cpp b11434 src/llama-model.cpp, print_info"),
    Shape("offloaded {layers offloaded|layers}/{=n_offloadable|int} layers to GPU", _LOAD),
    Shape("buffer type overriden to CPU", "llama.cpp b5000 src/llama-model.cpp", "frame", "overrides"),
    Shape("{=buffer|buffer} model buffer size = {model buffer|size}", _LOAD),
    Shape("{=buffer|buffer} buffer size = {buffer|size}", "llama.cpp b2554 llama.cpp, llm_load_tensors"),
)

CONTEXT = (
    Shape("n_seq_max = {=n_seq_max|int}", f"{_CONTEXT}, constructor"),
    Shape("slot, n_ctx = {n_ctx_slot|tokens}", _SERVER),
    Shape("{*}context{*}: n_ctx = {n_ctx|tokens}", f"{_CONTEXT}, constructor"),
    Shape("n_ctx_seq = {n_ctx_seq|tokens}", f"{_CONTEXT}, constructor"),
    Shape("n_ctx_per_seq = {n_ctx_seq|tokens}", "llama.cpp b5000 src/llama-context.cpp"),
    Shape("n_batch = {n_batch|tokens}", f"{_CONTEXT}, constructor"),
    Shape("n_ubatch = {n_ubatch|tokens}", f"{_CONTEXT}, constructor"),
    Shape("flash_attn = {=flash_attn|word}", f"{_CONTEXT}, constructor"),
    Shape("kv_unified = {=kv_unified|word}", f"{_CONTEXT}, constructor"),
    Shape("mla_attn = {=mla_attn|int}", f"{_IK}, llama_new_context_with_model"),
    Shape("({n_ctx_seq|tokens}) > n_ctx_train ({n_ctx_train|tokens})", f"{_CONTEXT}", "warned", "beyond_training"),
    Shape("({n_ctx_seq|tokens}) < n_ctx_train ({n_ctx_train|tokens})", f"{_CONTEXT}"),
    Shape("{=buffer|buffer} output buffer size = {output buffer|size}", f"{_CONTEXT}, output_reserve"),
    Shape("{=buffer|buffer} input buffer size = {input buffer|size}", _OLD),
    Shape("{=buffer|buffer} KV buffer size = {KV buffer|size}", _CACHE, "pool"),
    Shape("{=buffer|buffer} RS buffer size = {RS buffer|size}", "llama.cpp b11434 src/llama-memory-recurrent.cpp", "pool"),
    Shape("{=buffer|buffer} compute buffer size = {compute buffer|size}", f"{_CONTEXT}, sched_reserve", "pool"),
    Shape("KV self size = {KV cache|size}", _OLD, "pool"),
    Shape("c^KV ({=type_k|until)}): {KV latent|size}", _IK),
    Shape("llama_kv_cache: size = {KV cache|size}", _CACHE, "pool"),
    Shape("llama_kv_cache_unified: size = {KV cache|size}", "llama.cpp b5500 src/llama-kv-cache-unified.cpp", "pool"),
    Shape("llama_kv_cache_unified: KV self size = {KV cache|size}", "llama.cpp b5200 src/llama-kv-cache.cpp", "pool"),
    Shape("llama_memory_recurrent: size = {recurrent state|size}", "llama.cpp b11434 src/llama-memory-recurrent.cpp", "pool"),
    Shape("size = {KV cache|size} ( {cells|cells} cells", _CACHE, "pool"),
    Shape("K ({=type_k|until)}): {K|size}", _CACHE),
    Shape("V ({=type_v|until)}): {V|size}", _CACHE),
    Shape("R (f32): {R|size}", "llama.cpp b11434 src/llama-memory-recurrent.cpp"),
    Shape("S (f32): {S|size}", "llama.cpp b11434 src/llama-memory-recurrent.cpp"),
    Shape("pipeline parallelism enabled (n_copies={=n_copies|int})", _OLD),
)

FIT = (
    Shape("projected to use {projected host memory|size} of host memory vs. {host memory|size} of total host memory", _FIT),
    Shape("projected to use {projected device memory|size} of device memory vs. {device free|size} of free device memory", _FIT),
    Shape("projected to use {projected device memory|size} vs. {device free|size} of free device memory", _FIT),
    Shape("will leave {left|number} >= {margin|size}", _FIT),
    Shape("memory usage of mmproj is {projector|size}", "llama.cpp b9849 tools/server/server-context.cpp"),
    Shape("estimated memory usage of MTP context is {draft context|size}", "llama.cpp b9849 tools/server/server-context.cpp"),
    Shape("- Host {*}| {host breakdown|MiB} = {host model|MiB} + {host context|MiB} + {host compute|MiB}", _BREAKDOWN, "pool"),
    Shape(
        "| {device total|MiB} = {device free|MiB} + ({device self|MiB} = {device model|MiB} + {device context|MiB} + {device compute|MiB}) "
        "+ {device unaccounted|MiB}",
        _BREAKDOWN,
        "pool",
    ),
)

SERVICE = (
    Shape("| {throughput|t/s} ± {spread|t/s} |", "llama.cpp b11434 tools/llama-bench/llama-bench.cpp", "pool"),
    Shape("n_slots = {slots|slots}", f"{_SERVER}, load_model"),
    Shape("n_ctx_slot = {n_ctx_slot|tokens}", f"{_SERVER}, load_model"),
    Shape("task.n_tokens = {request tokens|tokens}", f"{_SERVER}"),
    Shape("prompt cache is enabled, size limit: {prompt cache limit|size}", f"{_SERVER}, load_model"),
    Shape(
        "cache state: {*} prompts, {*}{prompt cache|size} (limits: {prompt cache limit|size}",
        "llama.cpp b9849 tools/server/server-task.cpp",
    ),
    Shape("context checkpoint {*} size = {checkpoint|size}", f"{_SERVER}"),
    Shape("context checkpoints enabled, max = {checkpoints|checkpoints}", f"{_SERVER}"),
    Shape(
        "request ({request tokens|tokens} tokens) exceeds the available context size ({available context|tokens} tokens)",
        f"{_SERVER}, send_error",
        "warned",
        "slot_too_small",
    ),
    Shape("the request exceeds the available context size", "llama.cpp b5000 tools/server/server.cpp", "warned", "slot_too_small"),
)

SHAPES = (*STARTS, *MODEL, *CONTEXT, *FIT, *SERVICE)
