"""How short logs ended, and why: signs that stand alone, signs that need others."""

# ruff: noqa: E501  # log lines are as long as engines print them

import pytest

from kvplan.explainer.explanation import of_blocks

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free."
VLLM = '  File "/usr/lib/python3/dist-packages/vllm/v1/worker/gpu_model_runner.py", line 7, in '
READY = "INFO:     Application startup complete."
LOADED = "INFO [gpu_model_runner.py:4820] Model loading took 14.99 GiB memory and 14.4 seconds"
TRACE = "Traceback (most recent call last):\nValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0."

CASES = [
    ("vllm", "unknown", None, LOADED),
    ("vllm", "ran", None, "GPU KV cache size: 476,016 tokens"),
    ("vllm", "ran", None, "Available KV cache memory: 46.80 GiB"),
    ("vllm", "refused", "KV601", "Available KV cache memory: -6.78 GiB"),
    ("vllm", "refused", "KV632", f"{LOADED}\n{TRACE}"),
    ("vllm", "ran", None, f"{LOADED}\n{READY}\n{TRACE}"),
    ("vllm", "ran", None, f"{LOADED}\n{TRACE}\n{READY}"),
    ("vllm", "oom", "KV607", f"Starting to load model x...\n{VLLM}load_model\n{OOM}"),
    ("vllm", "oom", "KV634", f"Starting to load model x...\n{LOADED}\n{VLLM}profile_run\n{OOM}"),
    ("vllm", "oom", "KV606", f"{VLLM}profile_run\n{VLLM}embed_multimodal\n{OOM}"),
    ("vllm", "oom", "KV602", f"{VLLM}_dummy_sampler_run\n{OOM}"),
    ("vllm", "oom", "KV603", f"{LOADED}\nCapturing CUDA graphs (decode, FULL):  50%\n{OOM}"),
    ("vllm", "oom", "KV610", f"{LOADED}\nCapturing CUDA graphs (decode, FULL): 100%\n{READY}\n{VLLM}execute_model\n{OOM}"),
    ("vllm", "ran", "KV613", "Sequence group 0 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space."),
    ("vllm", "refused", "KV605", "AssertionError: Error in memory profiling. Initial free memory 39909924864, current free memory 47541829632."),
    ("vllm", "refused", "KV614", f"{VLLM}x\nValueError: Total number of attention heads (40) must be divisible by tensor parallel size (3)."),
    ("transformers", "oom", "KV630", OOM),
    ("transformers", "oom", "KV629", f"  File transformers/models/llama/modeling_llama.py\nin eager_attention_forward\n{OOM}"),
    ("transformers", "oom", "KV607", f"in from_pretrained\n{OOM}"),
    ("llama.cpp", "oom", "KV619", "srv  update_slots: all slots are idle\nggml_cuda: CUDA error: out of memory"),
    ("llama.cpp", "oom", "KV615", "llama_model: CUDA0 model buffer size = 5.00 MiB\nallocating 9 MiB on device 0: cudaMalloc failed: out of memory"),
    ("llama.cpp", "oom", "KV616", "llama_kv_cache: CUDA0 KV buffer size = 5.00 MiB\nallocating 9 MiB on device 0: cudaMalloc failed: out of memory"),
    ("llama.cpp", "oom", "KV607", "offloaded 33/33 layers to GPU\nallocating 9 MiB on device 0: cudaMalloc failed: out of memory"),
    ("llama.cpp", "oom", "KV624", "llama_kv_cache: CPU KV buffer size = 5.00 MiB\n./run.sh: line 3:  4242 Killed"),
    ("llama.cpp", "refused", "KV632", "llama_model_load: error loading model: unknown model architecture: 'x'"),
    ("ollama", "oom", "KV630", 'msg="Listening on [::]:11434 (version 0.6.5)"\nError: llama runner process has terminated: cudaMalloc failed: out of memory'),
    ("sglang", "oom", "KV610", "[TP0] KV Cache is allocated. #tokens: 9, KV size: 7.51 GB\nRuntimeError: Prefill out of memory. Try to lower your batch size."),
    ("sglang", "refused", "KV633", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: 0.84"),
    ("tgi", "refused", "KV601", "text_generation_launcher: Not enough memory to handle 4096 prefill tokens. You need to decrease `--max-batch-prefill-tokens`"),
    ("tensorrt-llm", "oom", "KV607", "[TRT-LLM] [E] Executor creation failed due to insufficient GPU memory."),
    (None, "oom", "KV624", "Last State: Terminated\n  Reason: OOMKilled\n  Exit Code: 137"),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "outcome", "cause", "log"), CASES)
def test_endings(engine: str | None, outcome: str, cause: str | None, log: str) -> None:
    found = of_blocks([f"{log}\n".encode()])
    assert (found.engine, found.outcome, found.cause) == (engine, outcome, cause)


def test_the_reason_of_another_failure_is_said() -> None:
    found = of_blocks([f"{LOADED}\n{TRACE}\n".encode()])
    assert "ValueError: Bfloat16 is only supported" in found.findings[0].message
    assert "error" not in found.settings
