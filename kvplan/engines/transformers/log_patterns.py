"""What PyTorch and Transformers print when memory runs out, and the frames of a traceback that say where."""

from kvplan.core.logs import Shape

ENGINE = "transformers"

_CUDA = "torch 2.13 c10/cuda/CUDACachingAllocator.cpp, malloc"
_OLD = "torch 2.1 c10/cuda/CUDACachingAllocator.cpp, malloc"
_OLDER = "torch 1.13 c10/cuda/CUDACachingAllocator.cpp, malloc"
_MPS = "torch 2.5 aten/src/ATen/mps/MPSAllocator.mm"
_LLAMA = "transformers 5.24 models/llama/modeling_llama.py"

OUT_OF_MEMORY = (
    Shape("out of memory. Tried to allocate {tried to allocate|size}", _CUDA, "oom", "torch"),
    Shape("has a total capacity of {total memory|size}", _CUDA),
    Shape("has a total capacty of {total memory|size}", _OLD),
    Shape("of which {free memory|size} is free", _CUDA),
    Shape("this process has {process memory|size} memory in use", _CUDA),
    Shape("allocated memory {allocated by PyTorch|size} is allocated by PyTorch", _CUDA),
    Shape("with {private pools|size} allocated in private pools", _CUDA),
    Shape("and {reserved but unallocated|size} is reserved by PyTorch but unallocated", _CUDA),
    Shape("{total memory|size} total capacity;", _OLDER),
    Shape("{allocated by PyTorch|size} already allocated;", _OLDER),
    Shape("{free memory|size} free;", _OLDER),
    Shape("{reserved by PyTorch|size} reserved in total by PyTorch", _OLDER),
    Shape("Process {*} has {process memory|size} memory in use", _CUDA),
    Shape("you tried to allocate {tried to allocate|bytes} bytes", "torch 2.13 c10/core/impl/alloc_cpu.cpp, alloc_cpu", "oom", "torch"),
    Shape("CUDA error: out of memory", "torch 2.13 c10/cuda/CUDAException.cpp", "oom", "torch"),
    Shape("MPS allocated: {allocated by PyTorch|size}", _MPS),
    Shape("other allocations: {other allocations|size}", _MPS),
    Shape("max allowed: {total memory|size}", _MPS),
    Shape("torch.cuda.OutOfMemoryError", "torch 2.3 cuda/__init__.py", "oom", "torch"),
    Shape("torch.OutOfMemoryError", "torch 2.5 __init__.py", "oom", "torch"),
)

FRAMES = (
    Shape("torch.cat([self.", "transformers 5.24 cache_utils.py, DynamicLayer.update", "frame", "cat"),
    Shape("torch.cat([past_", "transformers 4.30 models/llama/modeling_llama.py", "frame", "cat"),
    Shape("torch.cat((past_", "transformers 4.30 models/gptj/modeling_gptj.py", "frame", "cat"),
    Shape("lm_head(", _LLAMA, "frame", "logits"),
    Shape("logits.float()", "transformers 4.44 models/llama/modeling_llama.py", "frame", "logits"),
    Shape("logits = logits.to(torch.float32)", "transformers 4.45 generation/utils.py", "frame", "logits"),
    Shape("in eager_attention_forward", _LLAMA, "frame", "scores"),
    Shape("attn_weights = torch.matmul", _LLAMA, "frame", "scores"),
    Shape("attn_weights = nn.functional.softmax", _LLAMA, "frame", "scores"),
    Shape("attention_scores = ", "transformers 5.24 models/bert/modeling_bert.py", "frame", "scores"),
    Shape("scaled_dot_product_attention(", "transformers 5.24 integrations/sdpa_attention.py", "frame", "sdpa"),
    Shape("in from_pretrained", "transformers 5.24 modeling_utils.py", "frame", "loading"),
    Shape("in _load_state_dict_into_meta_model", "transformers 4.45 modeling_utils.py", "frame", "loading"),
    Shape("set_module_tensor_to_device", "accelerate 1.0 utils/modeling.py", "frame", "loading"),
    Shape("torch.empty((out_features, in_features)", "torch 2.13 nn/modules/linear.py", "frame", "loading"),
    Shape(".cuda()", "a script", "frame", "loading"),
    Shape('.to("cuda")', "a script", "frame", "loading"),
    Shape("model.to(", "a script", "frame", "loading"),
    Shape("return t.to(", "torch 2.13 nn/modules/module.py, Module.to", "frame", "loading"),
    Shape("in generate_token", "text-generation-inference 2.2 server/models/flash_causal_lm.py", "frame", "serving"),
    Shape("in generate", "transformers 5.24 generation/utils.py", "frame", "serving"),
    Shape("transformers/models/{=model_type|path}/modeling_", "a traceback", "frame"),
    Shape("Loading checkpoint shards: 100%", "transformers 5.24 modeling_utils.py"),
)

MEASURED = (
    Shape("max_memory_allocated: {peak allocated|size}", "torch.cuda.max_memory_allocated as scripts print it", "pool"),
    Shape("Max memory allocated: {peak allocated|size}", "torch.cuda.max_memory_allocated as scripts print it", "pool"),
    Shape("| {peak allocated|size} ({share of the card|%}%)", "AutoAWQ 0.2 examples/benchmark.py, its table", "pool"),
    Shape("Memory (VRAM): {peak allocated|size}", "AutoAWQ 0.2 examples/benchmark.py", "pool"),
)

SHAPES = (*OUT_OF_MEMORY, *FRAMES, *MEASURED)
