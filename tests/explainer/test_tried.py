"""Cures of llama.cpp, Ollama and Transformers are tried in the estimator; where that can't be, they say so."""

import json
from pathlib import Path

from kvplan.explainer.case import Said
from kvplan.explainer.explanation import Explanation, explain, of_blocks
from kvplan.render import explanation

LOGS = Path(__file__).parent / "logs"
PLACES = "/usr/lib/python3/dist-packages/transformers/models/llama/modeling_llama.py"
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {} MiB. GPU 0 has a total capacity of 23.53 GiB of which 300.00 MiB is "
    "free. Process 4242 has 23.20 GiB memory in use. Of the allocated memory 22.30 GiB is allocated by PyTorch, and 500.00 MiB is reserved "
    "by PyTorch but unallocated."
)
SLOTS = """build: 7000 (2bb3597e) with cc (Ubuntu 13.3.0) 13.3.0 for x86_64-linux-gnu
llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 4090) - 24000 MiB free
llama_model_loader: loaded meta data with 33 key-value pairs and 291 tensors from /m/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf (version GGUF V3)
load_tensors: offloaded 33/33 layers to GPU
print_info: n_ctx_train      = 131072
llama_context: n_seq_max     = 4
llama_context: n_ctx         = 16384
llama_context: kv_unified    = false
srv    load_model: initializing slots, n_slots = 4
main: server is listening on http://0.0.0.0:8080
srv    send_error: task id = 1, error: request ({} tokens) exceeds the available context size (4096 tokens), try increasing it
"""  # noqa: E501
OLLAMA = """time=x level=INFO source=routes.go:1 msg="Listening on [::]:11434 (version 0.6.5)"
time=x level=INFO source=types.go:1 msg="inference compute" id=GPU-1 library=cuda name="NVIDIA GeForce RTX 4090" total="23.5 GiB" available="23.1 GiB"
time=x level=INFO source=server.go:1 msg="starting llama server" cmd="/bin/ollama runner --model /b/sha256-6 --ctx-size 8192 --batch-size 512 --n-gpu-layers 33 --parallel 4"
print_info: file type   = Q4_K - Medium
print_info: general.name     = Meta Llama 3.1 8B Instruct
load_tensors: offloaded 33/33 layers to GPU
load_tensors:        CUDA0 model buffer size =  4403.49 MiB
load_tensors:   CPU_Mapped model buffer size =   281.81 MiB
llama_context: n_ubatch      = 512
llama_kv_cache_unified:      CUDA0 KV buffer size =  1024.00 MiB
llama_context:      CUDA0 compute buffer size =   560.00 MiB
"""  # noqa: E501


def changes(found: Explanation) -> list[tuple[str, str]]:
    return [(fix.flag, fix.after) for fix in found.fixes]


def torch(frame: str, said: Said, *, tried: int = 512) -> Explanation:
    return of_blocks([f'  File "{PLACES}", line 210, in forward\n    {frame}\n{OOM.format(tried)}\n'.encode()], said)


def test_a_cache_in_more_bits_than_fit_is_not_proposed() -> None:
    found = explain(str(LOGS / "llamacpp-b5000-kv-oom.log"))
    assert changes(found) == [("-c", "51968"), ("-ctk q4_0 -ctv", "q4_0")]
    assert not any(fix.unchecked for fix in found.fixes)


def test_what_can_not_be_tried_says_why() -> None:
    log = (LOGS / "llamacpp-b5000-kv-oom.log").read_text(encoding="utf-8")
    found = of_blocks([log.replace("Meta-Llama-3.1-8B-Instruct", "Somebody-s-Own").encode()])
    assert {fix.unchecked for fix in found.fixes} == {"the model is not known here"}
    assert "(not checked: the model is not known here)" in explanation.text(found, paint=lambda words, style: words)
    assert json.loads(explanation.as_json(found))["fixes"][0]["unchecked"] == "the model is not known here"
    assert of_blocks([log.replace("RTX 3060", "RTX 9999").encode()]).fixes[0].unchecked == "the card is not known here"


def test_slots() -> None:
    assert changes(of_blocks([SLOTS.format(9000).encode()])) == [("-np", "1"), ("--kv-unified", "on"), ("-c", "65536")]
    long = of_blocks([SLOTS.format(20000).encode()])
    assert changes(long) == [("-c", "80128")]  # one slot of 16,384 would not hold it either
    assert (long.fixes[0].effect_bytes or 0) > 63_744 * 2**17


def test_transformers_with_what_ran() -> None:
    cat = "key_states = torch.cat([past_key_value[0], key_states], dim=2)"
    found = torch(cat, Said(gpu="rtx-4090", model="llama-3.1-8b", ctx="8192", batch="8"))
    assert (found.engine, found.cause) == ("transformers", "KV628")
    by_flag = {fix.flag: fix for fix in found.fixes}
    assert int(by_flag["batch"].after) < 8
    assert int(by_flag["max_length"].after) < 8192
    assert all(fix.effect_bytes and fix.effect_bytes < 0 and not fix.unchecked for fix in found.fixes)
    assert [row.term for row in found.ledger] == ["allocated", "reserved", "process"]
    assert all(row.estimated_bytes for row in found.ledger)
    bare = torch(cat, Said(gpu="rtx-4090", model="llama-3.1-8b"))
    assert all("--ctx" in fix.unchecked for fix in bare.fixes)
    assert "4,096 tokens x 1" in bare.ledger[0].why


def test_scores_and_logits() -> None:
    scores = torch(
        "attn_weights = torch.matmul(query_states, key_states)", Said(gpu="rtx-4090", model="llama-3.1-8b", ctx="12000", batch="1")
    )
    assert scores.cause == "KV629"
    assert changes(scores)[0] == ("attn_implementation", "sdpa")
    assert (scores.fixes[0].effect_bytes or 0) < -(2**29)
    logits = torch("logits = self.lm_head(hidden_states)", Said(gpu="rtx-4090", model="llama-3.1-8b", ctx="16000", batch="1"))
    assert logits.cause == "KV627"
    assert changes(logits)[0] == ("logits_to_keep", "1")


def test_weights_that_do_not_fit_are_quantized() -> None:
    found = torch("return t.to(device)", Said(gpu="rtx-4090", model="llama-3.1-70b", ctx="4096"), tried=448)
    assert found.cause == "KV607"
    assert changes(found) == []  # not even in four bits on this card
    assert changes(torch("return t.to(device)", Said(gpu="rtx-4090", model="llama-2-13b", ctx="2048"), tried=448)) == [
        ("load_in_8bit", "True"),
        ("load_in_4bit", "True"),
    ]


def test_ollama_beside_its_estimate() -> None:
    found = of_blocks([OLLAMA.encode()])
    assert found.engine == "ollama"
    rows = {row.term: (row.printed_bytes, row.estimated_bytes) for row in found.ledger}
    assert rows["kv_cache"] == (2**30, 2**30)
    printed, estimated = rows["weights"]
    assert printed
    assert estimated
    assert abs(estimated / printed - 1) < 0.01
    assert rows["compute_buffer"][1]


def test_ollamas_words() -> None:
    failed = (
        "llama_context: n_ctx         = 131072\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 16384.00 MiB on device 0: cudaMalloc failed: out of memory\n"
        "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\n"
    )
    log = OLLAMA[: OLLAMA.index("llama_context")].replace("--parallel 4", "--parallel 2").replace("RTX 4090", "RTX 3060")
    log = log.replace('23.5 GiB" available="23.1', '11.6 GiB" available="11.4').replace("--ctx-size 8192", "--ctx-size 131072")
    found = of_blocks([(log + failed).encode()])
    assert (found.engine, found.cause) == ("ollama", "KV615")
    assert found.fixes[0].flag == "num_ctx"
    assert found.fixes[0].before == "65536"
    assert 4096 < int(found.fixes[0].after) < 32768
    assert found.fixes[-1].flag == "OLLAMA_KV_CACHE_TYPE"
    assert not any(fix.unchecked for fix in found.fixes)
