"""Compose files and vLLM's files of settings: which servers they hold."""

from pathlib import Path

import pytest

from tests.checker.found import cases, rows

GPU = "    deploy: {resources: {reservations: {devices: [{driver: nvidia, DEVICES, capabilities: [gpu]}]}}}\n"

FILES = {
    "text": (
        "services:\n  llm:\n    image: vllm/vllm-openai:v0.10.0\n    command: >\n      --model Qwen/Qwen3-8B\n"
        "      --max-model-len ${LEN:-8192} --tensor-parallel-size 2\n" + GPU.replace("DEVICES", "count: 2"),
        ["5 llm vllm Qwen/Qwen3-8B 8192 - 2/1/1 2"],
    ),
    "list": (
        'services:\n  llm:\n    image: my/build\n    entrypoint: ["vllm"]\n    command:\n      - serve\n      - Qwen/Qwen3-8B\n'
        '      - --max-num-seqs\n      - "8"\n' + GPU.replace("DEVICES", "device_ids: ['1', '3']"),
        ["4 llm vllm Qwen/Qwen3-8B - 8 1/1/1 2"],
    ),
    "wrapped": (
        "services:\n  llm:\n    image: vllm/vllm-openai:nightly\n    environment:\n      - SPEC_N=${SPEC_N:-}\n    entrypoint:\n"
        '      - /bin/bash\n      - -c\n      - |\n        n="$${SPEC_N:-4}"\n        ARGS=()\n        if [ "$$n" -gt 0 ]; then\n'
        '          ARGS=(--max-num-seqs $$n)\n        fi\n        exec vllm serve "$@" "$${ARGS[@]}"\n      - --\n    command:\n'
        "      - --model\n      - /models/${DIR:-a}\n",
        ["15 llm vllm /models/a - 4 1/1/1 -"],
    ),
    "anchors": (
        "x-base: &base\n  image: ghcr.io/ggml-org/llama.cpp:server-cuda-b11000\n  environment: {CUDA_VISIBLE_DEVICES: '0'}\n"
        "services:\n  a:\n    <<: *base\n    command: -m /m/a.gguf -c 4096 -np 2\n"
        "  b:\n    extends: {service: a}\n    command: -m /m/b.gguf -c 8192\n",
        ["7 a llama.cpp /m/a.gguf 4096 2 1/1/1 1", "10 b llama.cpp /m/b.gguf 8192 - 1/1/1 1"],
    ),
    "environment": (
        "services:\n  llama:\n    image: ghcr.io/ggml-org/llama.cpp:server\n    environment:\n      LLAMA_ARG_HF_REPO: org/repo:Q4_K_M\n"
        "      LLAMA_ARG_CTX_SIZE: 16384\n  web:\n    image: ghcr.io/open-webui/open-webui:main\n    environment: [OLLAMA_BASE_URL=http://x]\n",
        ["2 llama llama.cpp org/repo:Q4_K_M 16384 - 1/1/1 -"],
    ),
    "models": (
        "services:\n  app:\n    build: .\n    models: [llm]\nmodels:\n  llm:\n    model: ai/qwen3:8B\n    context_size: 8192\n"
        "    runtime_flags: ['--parallel 2', --no-mmap]\n  small:\n    model: ai/smollm2\n",
        ["6 llm llama.cpp ai/qwen3:8B 8192 2 1/1/1 -", "10 small llama.cpp ai/smollm2 4096 - 1/1/1 -"],
    ),
    "conflict": (
        "<<<<<<< HEAD\nservices:\n=======\n>>>>>>> b\n---\nservices:\n"
        "  tgi:\n    image: ghcr.io/huggingface/text-generation-inference:3.0.1\n"
        "    environment: {MODEL_ID: Qwen/Qwen3-8B, MAX_TOTAL_TOKENS: 4096, NUM_SHARD: 2}\n",
        ["7 tgi tgi Qwen/Qwen3-8B 4096 - 2/1/1 -"],
    ),
    "others": (
        "services:\n  db:\n    image: postgres:16\n  router:\n    image: vllm/vllm-router:latest\n    command: --policy x\n"
        "  bench:\n    image: vllm/vllm-openai:latest\n    command: python bench.py\n",
        [],
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_compose(name: str, tmp_path: Path) -> None:
    text, expected = FILES[name]
    assert rows(tmp_path, {"compose.yaml": text}) == expected


def test_dotenv_and_env_file_lie_beside(tmp_path: Path) -> None:
    text = "services:\n  llm:\n    image: ghcr.io/ggml-org/llama.cpp:server\n    env_file: [llama.env]\n    command: -m ${MODEL}\n"
    files = {"a/compose.yaml": text, "a/.env": "MODEL=/m/a.gguf # ours\n", "a/llama.env": "LLAMA_ARG_CTX_SIZE=2048\n", ".env": "MODEL=no\n"}
    assert rows(tmp_path, files) == ["5 llm llama.cpp /m/a.gguf 2048 - 1/1/1 -"]
    assert rows(tmp_path, files, set={"MODEL": "/m/b.gguf"}) == ["5 llm llama.cpp /m/b.gguf 2048 - 1/1/1 -"]


def test_services_on_one_card_are_neighbors(tmp_path: Path) -> None:
    service = "  NAME:\n    image: vllm/vllm-openai:v0.11.0\n    command: --model m/NAME --gpu-memory-utilization 0.6\n"
    both = "".join(service.replace("NAME", name) + GPU.replace("DEVICES", "count: 1") for name in ("a", "b"))
    third = service.replace("NAME", "c") + GPU.replace("DEVICES", "device_ids: ['1']")
    found = {case.server.name: case for case in cases(tmp_path, {"compose.yaml": f"services:\n{both}{third}"})}
    assert [[n.utilization for n in found[name].neighbors] for name in "abc"] == [[0.6], [0.6], []]


CONFIGS = {
    "dashes": ("max-model-len: 8192\nmax-num-seqs: 8\nno-enable-prefix-caching: true\n", ["1 - vllm - 8192 8 1/1/1 -"]),
    "underscores": (
        "# for vllm serve\nmodel: Qwen/Qwen3-8B\ntensor_parallel_size: 2\nenforce_eager: false\ncompilation_config: {level: 3}\n",
        ["2 - vllm Qwen/Qwen3-8B - - 2/1/1 -"],
    ),
    "list": ("gpu-memory-utilization: 0.5\ncudagraph-capture-sizes: [1, 2, 4]\n", ["1 - vllm - - - 1/1/1 -"]),
    "training": ("model: x\nlearning_rate: 1\nepochs: 3\nmax_model_len: 8192\nbatch: 2\n", []),
    "trtllm": (
        "tensor_parallel_size: 4\nmax_batch_size: 64\nkv_cache_config:\n  dtype: fp8\n  free_gpu_memory_fraction: 0.8\n"
        "cuda_graph_config: {max_batch_size: 256}\n",
        ["1 - tensorrt-llm - - 64 4/1/1 -"],
    ),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_files_of_settings(name: str, tmp_path: Path) -> None:
    text, expected = CONFIGS[name]
    assert rows(tmp_path, {"serve.yaml": text}) == expected
