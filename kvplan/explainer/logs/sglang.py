"""SGLang's log: its GB are GiB."""

from kvplan.core.logs import Shape

ENGINE = "sglang"
_RUNNER = "sglang 0.5 srt/model_executor/model_runner.py"
_POOL = "sglang 0.5 srt/mem_cache/memory_pool.py"

SHAPES = (
    Shape("server_args=ServerArgs({=namespace|rest}", "sglang 0.5 srt/server_args.py", "start"),
    Shape("Load weight begin. avail mem={free before weights|GiB} GB", _RUNNER),
    Shape("Load weight end. {*}avail mem={free after weights|GiB} GB, mem usage={weights|GiB} GB", f"{_RUNNER}, load_model"),
    Shape("Load weight end. {*}avail mem={free after weights|GiB} GB", "sglang 0.4 srt/model_executor/model_runner.py"),
    Shape("KV Cache is allocated. {*}#tokens: {KV cache|tokens}", f"{_POOL}", "pool"),
    Shape("K size: {K|GiB} GB, V size: {V|GiB} GB", _POOL),
    Shape("#tokens: {*} KV size: {KV size|GiB} GB", f"{_POOL}, MLATokenToKVPool"),
    Shape("SWAKVPool mem usage: {KV size|GiB} GB, swa size: {window pool|tokens}, full size: {full pool|tokens}", _POOL),
    Shape("max_mamba_cache_size: {state slots|slots}", f"{_POOL}, MambaPool"),
    Shape("conv_state size: {conv state|GiB}GB", f"{_POOL}, MambaPool"),
    Shape("conv_state size: {conv state|GiB} GB", f"{_POOL}, MambaPool"),
    Shape("ssm_state size: {SSM state|GiB}GB", f"{_POOL}, MambaPool"),
    Shape("ssm_state size: {SSM state|GiB} GB", f"{_POOL}, MambaPool"),
    Shape("full_layer_tokens={full pool|tokens}", f"{_RUNNER}"),
    Shape("swa_layer_tokens={window pool|tokens}", f"{_RUNNER}"),
    Shape("full_layer_tokens: {full pool|tokens}, swa_layer_tokens: {window pool|tokens}", f"{_RUNNER}"),
    Shape("Memory pool end. avail mem={free after pools|GiB} GB", _RUNNER, "pool"),
    Shape("graph begin. {*}avail mem={free before graphs|GiB} GB", _RUNNER, "frame", "graph_capture"),
    Shape("graph end. {*}mem usage={graphs|GiB} GB", _RUNNER, "pool"),
    Shape("graph end. {*}avail mem={free after graphs|GiB} GB", _RUNNER, "pool"),
    Shape("max_total_num_tokens={KV cache|tokens}", "sglang 0.5 srt/managers/scheduler.py", "pool"),
    Shape("max_running_requests={max running requests|requests}", "sglang 0.5 srt/managers/scheduler.py"),
    Shape("context_len={=context_length|int}", "sglang 0.5 srt/managers/scheduler.py"),
    Shape("available_gpu_mem={free at the end|GiB} GB", "sglang 0.5 srt/managers/scheduler.py"),
    Shape("Not enough memory. Please try to increase --mem-fraction-static", _RUNNER, "refused", "mem_fraction"),
    Shape("Please try to increase --mem-fraction-static", _RUNNER, "refused", "mem_fraction"),
    Shape("Capture cuda graph failed", "sglang 0.5 srt/model_executor/cuda_graph_runner.py", "oom", "graph_capture"),
    Shape("The server is fired up and ready to roll", "sglang 0.5 srt/entrypoints/http_server.py", "ready"),
    Shape("KV cache pool is full. Retract requests", "sglang 0.5 srt/managers/scheduler.py", "warned", "preempted"),
    Shape("token usage: {token usage|share}", "sglang 0.5 srt/managers/scheduler_metrics_mixin.py", "pool"),
    Shape("Prefill out of memory", "sglang 0.4 srt/managers/schedule_batch.py", "oom", "serving"),
    Shape("Decode out of memory", "sglang 0.4 srt/managers/schedule_batch.py", "oom", "serving"),
    Shape("--mem-fraction-static. Current value: {=mem_fraction_static|float}", _RUNNER),
    Shape("sglang/srt/", "a traceback", "frame"),
)
