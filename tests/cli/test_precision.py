"""--dtype: a type to load in, or a checkpoint on paper."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.configs import LLAMA
from tests.running import Run, refused

# Llama-2-7B, arXiv:2307.09288: 32 layers with 7 projections; embeddings, head and norms stay in float16
PROJECTIONS = 32 * (4 * 4096 * 4096 + 3 * 4096 * 11008)
REST = 2 * (6_738_415_616 - PROJECTIONS)
INT4 = REST + PROJECTIONS // 2 + 2 * PROJECTIONS // 128 + 16 * 7 * 32  # compressed-tensors: scales, and each shape as two int64


def weights(answer: dict[str, Any]) -> int:
    return sum(int(entry["bytes"]) for entry in answer["entries"] if entry["term"] == "weights")


def test_int4_is_a_checkpoint_on_paper(kvplan: Run) -> None:
    answer = json.loads(kvplan("estimate", "llama-2-7b", "--ctx", "4096", "--dtype", "int4", "--json").out)
    assert weights(answer) == INT4
    entry = next(entry for entry in answer["entries"] if entry["term"] == "weights")
    assert (entry["basis"], entry["low_bytes"] < INT4 < entry["high_bytes"]) == ("modeled", True)
    assert answer["model"]["n_params"] == 6_738_415_616
    assert (answer["engine"]["settings"]["dtype"], answer["kv"]["k_dtype"]) == ("float16", "float16")
    assert [found["rule"] for found in answer["findings"]] == ["KV025"]


def test_int4_in_words(kvplan: Run) -> None:
    _, out, err = kvplan("estimate", "llama-2-7b", "--ctx", "4096", "--batch", "8", "--dtype", "int4", "--budget", "24GiB")
    heading, _, first, *_ = out.splitlines()
    assert heading == "llama-2-7b · transformers 5.24.0 · int4 weights · fp16 kv · 4,096 tokens × 8"
    assert first.split() == ["weights", "3.60", "GiB", "modeled", "3.56", "–", "3.67"]
    assert err == (
        "note[KV025]: --dtype int4 is a checkpoint on paper: projections of the layers in 4-bit groups of 128 with a scale in float16 each"
        "; embeddings, output projection, norms, routers and towers stay float16\n"
        "  hint: look for such a checkpoint, or make it with llm-compressor's W4A16\n"
    )


def test_file_types_of_llama_cpp_are_refused_with_transformers(kvplan: Run) -> None:
    assert refused(kvplan, "estimate", "llama-2-7b", "--dtype", "Q4_K_M") == (
        "error: --dtype Q4_K_M: a GGUF file's type, which transformers does not keep packed\n"
        "hint: --engine llama.cpp runs it as it lies; with transformers say nf4, fp4, nf4_double, bnb_8bit, fp8, fp8_block, "
        "nvfp4, mxfp4, int4, int8, awq, gptq, gptq_int8\n"
    )


def test_the_engines_own_dtype_is_a_type_to_load_in(kvplan: Run) -> None:
    err = refused(kvplan, "estimate", "--", "transformers", "llama-2-7b", "dtype=int4")
    assert "dtype=int4: from_pretrained loads in float32" in err
    assert "kvplan's own --dtype int4" in err


def test_the_command_beside_the_scheme_gives_the_answer_back(kvplan: Run) -> None:
    first = json.loads(kvplan("estimate", "llama-2-7b", "--dtype", "awq", "--json").out)
    command = first["engine"]["command"]
    again = json.loads(kvplan("estimate", "--dtype", "awq", "--json", "--", *command).out)
    assert "dtype=float16" in command
    assert (again["engine"], weights(again)) == (first["engine"], weights(first))


def test_requests_take_schemes_too(kvplan: Run, tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    asked = ["int4", "nonsense", "auto", "int4"]
    path.write_text("".join(json.dumps({"model": "llama-2-7b", "dtype": dtype}) + "\n" for dtype in asked))
    answers = [json.loads(line) for line in kvplan("estimate", "--requests", str(path)).out.splitlines()]
    assert answers[1]["error"]["kind"] == "unknown_dtype"
    assert [weights(answers[i]) for i in (0, 2, 3)] == [INT4, 2 * 6_738_415_616, INT4]


@pytest.mark.parametrize("dtype", ["float16", "bf16", "torch.float16"])
def test_a_plain_type_takes_quantized_weights_back(kvplan: Run, tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "config.json"
    config = LLAMA | {"torch_dtype": "float16", "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 4}
    path.write_text(json.dumps(config | {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}}))
    option, command = (
        json.loads(kvplan("estimate", str(path), "--json", *words).out)
        for words in (("--dtype", dtype), ("--", "transformers", "m", f"dtype={dtype}"))
    )
    assert weights(option) == 2 * option["model"]["n_params"]
    assert "KV025" in {found["rule"] for found in option["findings"]}
    assert weights(command) < weights(option)  # from_pretrained loads only the rest in it


def test_weights_on_paper_are_modeled_on_llama_cpp_too(kvplan: Run) -> None:
    asked = ("estimate", "llama-2-7b", "--engine", "llama.cpp", "--dtype", "q4_k_m", "--gpu", "rtx-4090", "--json")
    held = [entry for entry in json.loads(kvplan(*asked).out)["entries"] if entry["term"] == "weights"]
    assert {entry["place"] for entry in held} == {"gpu0", "host"}
    assert all(entry["basis"] == "modeled" and entry["low_bytes"] < entry["bytes"] < entry["high_bytes"] for entry in held)
