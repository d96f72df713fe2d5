"""Scripts, batch files and Dockerfiles: which servers they start."""

from pathlib import Path

import pytest

from tests.checker.found import cases, rows

SCRIPTS = {
    "plain": (
        "CUDA_VISIBLE_DEVICES=2,3 vllm serve Qwen/Qwen3-8B --max_model_len 32k -tp 2 \\\n  --max-num-seqs=16 # not --max-num-seqs 4\n",
        ["1 - vllm Qwen/Qwen3-8B 32000 16 2/1/1 2"],
    ),
    "commented": ("# vllm serve Qwen/Qwen3-8B\necho vllm serve Qwen/Qwen3-8B\npip install vllm\npkill -f 'vllm serve'\n", []),
    "module": (
        "python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B --max-model-len 8192 --max-model-len 4096\n",
        ["1 - vllm Qwen/Qwen3-8B 4096 - 1/1/1 -"],
    ),
    "docker": (
        "docker run -d --name llm --gpus '\"device=0,1\"' -e HF_TOKEN=$HF_TOKEN --shm-size 8g -p 8000:8000 \\\n"
        "  vllm/vllm-openai:v0.11.0 --model Qwen/Qwen3-8B --tensor-parallel-size 2\n",
        ["1 llm vllm Qwen/Qwen3-8B - - 2/1/1 2"],
    ),
    "entrypoint": (
        "MAXLEN=4096\ndocker run --gpus 1 --entrypoint bash my/image:1 -lc 'exec vllm serve /model --max-model-len '\"$MAXLEN\"''\n",
        ["2 - vllm /model 4096 - 1/1/1 1"],
    ),
    "variables": (
        'MODEL=${1:-Qwen/Qwen3-8B}\nLEN=${LEN:-8192}\nARGS=(--max-num-seqs 4)\nARGS+=(--tensor-parallel-size "$TP")\n'
        'exec vllm serve "$MODEL" --max-model-len "$LEN" "${ARGS[@]}" $EXTRA\n',
        ["5 - vllm Qwen/Qwen3-8B 8192 4 ?/1/1 -"],
    ),
    "function": (
        "serve() {\n  local model=$1\n  vllm serve $model --port $2 --gpu-memory-utilization 0.4 &\n}\n"
        "serve Qwen/Qwen3-8B 8001\nserve Qwen/Qwen3-0.6B 8002\n",
        ["3 - vllm Qwen/Qwen3-8B - - 1/1/1 -", "3 - vllm Qwen/Qwen3-0.6B - - 1/1/1 -"],
    ),
    "branches": (
        'if [ "$BIG" = 1 ]; then\n  LEN=8192\nelse\n  LEN=4096\nfi\nvllm serve Qwen/Qwen3-8B --max-model-len $LEN\n',
        ["6 - vllm Qwen/Qwen3-8B - - 1/1/1 -"],
    ),
    "here": (
        "cat > run.sh <<'EOF'\n#!/bin/bash\nllama-server -m /models/a.gguf -c 4096\nEOF\ngrep -q x <<<\"$out\" && echo ok\n",
        ["3 - llama.cpp /models/a.gguf 4096 - 1/1/1 -"],
    ),
    "tmux": (
        'tmux new-session -d -s llm "vllm serve Qwen/Qwen3-8B --max-model-len 2048"\n',
        ["1 - vllm Qwen/Qwen3-8B 2048 - 1/1/1 -"],
    ),
    "two": (
        "llama-server -m a.gguf -c 8192 -np 2 &\n./build/bin/llama-server -hf org/repo:Q4_K_M -c 4096\n",
        ["1 - llama.cpp a.gguf 8192 2 1/1/1 -", "2 - llama.cpp org/repo:Q4_K_M 4096 - 1/1/1 -"],
    ),
    "wrapper": (
        "env LLAMA_ARG_CTX_SIZE=16384 ./serve.sh $HOME/models/a.gguf\n",
        ["1 - llama.cpp $HOME/models/a.gguf 16384 - 1/1/1 -"],
    ),
    "ollama": (
        "OLLAMA_CONTEXT_LENGTH=8192 OLLAMA_NUM_PARALLEL=2 ollama serve &\nollama pull llama3\n",
        ["1 - ollama - 8192 2 1/1/1 -"],
    ),
    "ollama-both": (
        "export OLLAMA_KV_CACHE_TYPE=q8_0\nollama serve &\nsleep 5\nollama run qwen3:8b\n",
        ["4 - ollama qwen3:8b - - 1/1/1 -"],
    ),
    "python": (
        "python3 -m llama_cpp.server --model /m/a.gguf --n_ctx 4096 --n_gpu_layers=-1 --chat_format chatml\n",
        ["1 - llama.cpp /m/a.gguf 4096 - 1/1/1 -"],
    ),
    "others": (
        "python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2 --context-length 8192 --max-running-requests 8\n"
        "docker run --gpus all ghcr.io/huggingface/text-generation-inference:3.3.5 --model-id Qwen/Qwen3-8B --num-shard 2 "
        "--max-total-tokens 4096\n"
        "trtllm-serve Qwen/Qwen3-8B --tp_size 4 --max_seq_len 8192 --max_batch_size 16\n",
        [
            "1 - sglang Qwen/Qwen3-8B 8192 8 2/1/1 -",
            "2 - tgi Qwen/Qwen3-8B 4096 - 2/1/1 -",
            "3 - tensorrt-llm Qwen/Qwen3-8B 8192 16 4/1/1 -",
        ],
    ),
    "bench": ("vllm bench throughput --model Qwen/Qwen3-8B\npython train.py --tensor-parallel-size 4 --max-model-len 8192\n", []),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts(name: str, tmp_path: Path) -> None:
    text, expected = SCRIPTS[name]
    assert rows(tmp_path, {f"{name}.sh": text}) == expected


def test_script_without_an_extension_is_known_by_its_first_line(tmp_path: Path) -> None:
    assert rows(tmp_path, {"run": "#!/usr/bin/env bash\nvllm serve Qwen/Qwen3-8B\n"}) == ["2 - vllm Qwen/Qwen3-8B - - 1/1/1 -"]


def test_set_and_env_file_give_values(tmp_path: Path) -> None:
    files = {"a.sh": "vllm serve $MODEL --max-model-len $LEN\n", "my.env": "# of ours\nexport LEN='4096'\n"}
    (case,) = cases(tmp_path, files)
    assert case.unresolved == ("MODEL", "LEN")
    assert rows(tmp_path, files, set={"MODEL": "Qwen/Qwen3-8B"}, env_file=["my.env"]) == ["1 - vllm Qwen/Qwen3-8B 4096 - 1/1/1 -"]


def test_secrets_and_ports_hide_nothing(tmp_path: Path) -> None:
    (case,) = cases(tmp_path, {"a.sh": "vllm serve Qwen/Qwen3-8B --api-key $KEY --port $PORT --served-model-name $NAME\n"})
    assert case.unresolved == ()


def test_a_pin_or_a_tag_gives_the_version(tmp_path: Path) -> None:
    files = {
        "pin.sh": "pip install vllm==0.10.2\nvllm serve Qwen/Qwen3-8B\n",
        "tag.sh": "docker run vllm/vllm-openai:v0.11.0 --model Qwen/Qwen3-8B\n",
        "latest.sh": "docker run vllm/vllm-openai:latest --model Qwen/Qwen3-8B\n",
        "old.sh": "docker run vllm/vllm-openai:v0.3.0 --model Qwen/Qwen3-8B --max-model-len 8\n",
    }
    found = {case.server.file: case.reading for case in cases(tmp_path, files)}
    assert (found["pin.sh"].version, found["pin.sh"].version_from) == ("0.10.2", "pip")
    assert (found["tag.sh"].version, found["tag.sh"].version_from) == ("0.11.0", "image tag")
    assert found["latest.sh"].version_from == "newest modeled"
    assert (found["old.sh"].version, found["old.sh"].ctx_tokens) == ("0.3.0", 8)


def test_batch(tmp_path: Path) -> None:
    text = (
        '@echo off\r\nrem llama-server -m b.gguf\r\nset "MODEL=C:\\models\\a.gguf"\r\nset CTX=8192\r\n'
        'start "LLM" /b llama\\llama-server.exe -m %MODEL% ^\r\n  -c %CTX% -ngl 99 > log.txt 2>&1\r\n'
    )
    assert rows(tmp_path, {"run.bat": text}) == ["5 - llama.cpp C:\\models\\a.gguf 8192 - 1/1/1 -"]


def test_batch_in_a_window_of_its_own(tmp_path: Path) -> None:
    text = 'set M=a.gguf\ncd x && start cmd /k "%~dp0llama-server.exe -m %M% -c 2048"\n%~dp0bin\\llama-server -m b.gguf -c 1024\n'
    assert rows(tmp_path, {"run.cmd": text}) == ["2 - llama.cpp a.gguf 2048 - 1/1/1 -", "3 - llama.cpp b.gguf 1024 - 1/1/1 -"]


def test_a_fork_has_flags_of_its_own(tmp_path: Path) -> None:
    (case,) = cases(tmp_path, {"a.sh": "docker run ghcr.io/x/ik-llama-cpp:1 -m a.gguf --merge-qkv -c 2048\n"})
    assert case.parsed is not None
    assert not case.parsed.unknown
    (case,) = cases(tmp_path, {"a.sh": "docker run ghcr.io/ggml-org/llama.cpp:server -m a.gguf --merge-qkv -c 2048\n"})
    assert case.parsed is not None
    assert [flag.name for flag in case.parsed.unknown] == ["--merge-qkv"]


DOCKERFILES = {
    "exec": (
        'FROM vllm/vllm-openai:v0.9.2\nENV X=1\nCMD ["--model", "Qwen/Qwen3-8B", \\\n     "--max-model-len", "4096"]\n',
        ["3 - vllm Qwen/Qwen3-8B 4096 - 1/1/1 -"],
    ),
    "shell": (
        "FROM python:3.12\nARG MODEL=Qwen/Qwen3-8B\nENV LEN=8192\nRUN pip install vllm==0.10.0\n"
        "CMD vllm serve $MODEL --max-model-len ${LEN} \\\n  # a remark\n  --enforce-eager\n",
        ["5 - vllm Qwen/Qwen3-8B 8192 - 1/1/1 -"],
    ),
    "both": (
        'FROM nvidia/cuda:12 AS build\nCMD ["x"]\nFROM build\nENTRYPOINT ["python3", "-m", "vllm.entrypoints.openai.api_server"]\n'
        'CMD ["--model", "Qwen/Qwen3-8B"]\n',
        ["4 - vllm Qwen/Qwen3-8B - - 1/1/1 -"],
    ),
    "variables": (
        'FROM wolfi\nENV LLAMA_ARG_CTX_SIZE=4096 LLAMA_ARG_N_PARALLEL=3\nENV LLAMA_ARG_MODEL /m/a.gguf\nENTRYPOINT ["/app/llama-server"]\n',
        ["4 - llama.cpp /m/a.gguf 4096 3 1/1/1 -"],
    ),
    "base": ("FROM vllm/vllm-openai:latest\nRUN pip install something\n", []),
    "script": ('FROM vllm/vllm-openai:latest\nENTRYPOINT ["/start.sh"]\n', []),
}


@pytest.mark.parametrize("name", DOCKERFILES)
def test_dockerfiles(name: str, tmp_path: Path) -> None:
    text, expected = DOCKERFILES[name]
    assert rows(tmp_path, {f"Dockerfile.{name}": text}) == expected
