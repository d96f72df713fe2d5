"""Cold start of the commands people wait for, as a multiple of a bare interpreter.

usage: python tests/bench/startup.py [ROUNDS]

Each round runs the bare interpreter and every command in turn, so that a slow moment of the machine hits all alike; quickest runs are
compared, by the processor's time. Compiled files are written first, as an installation has them. Prints one line a case: ms, the
multiple, its bar.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CONFIG = Path(tempfile.mkdtemp()) / "config.json"
CONFIG.write_text(
    '{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 11008,'
    ' "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000, "max_position_embeddings": 4096, "torch_dtype": "float16"}'
)
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
KVPLAN = str(Path(sys.executable).with_name("kvplan"))
ENGINES = ("transformers", "vllm", "llama.cpp", "ollama", "sglang", "tgi", "tensorrt-llm")
BUILT_IN = ["--ctx", "4096", "--batch", "8", "--json"]
CASES = {
    **{engine: (["estimate", "llama-2-7b", *BUILT_IN, "--engine", engine], 6.0) for engine in ENGINES},
    **{f"{engine}, a GPU": (["estimate", "llama-2-7b", *BUILT_IN, "--engine", engine, "--gpu", "h100-sxm"], 6.0) for engine in ENGINES},
    "by alias": (["estimate", "llama2-7b", *BUILT_IN], 6.0),
    "config.json": (["estimate", str(CONFIG), "--json"], 15.0),
}


def milliseconds(command: list[str]) -> float:
    """Of the processor."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return 1000 * (used.ru_utime + used.ru_stime)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    times: dict[str, list[float]] = {name: [] for name in ("bare", *CASES)}
    for argv, _ in CASES.values():
        milliseconds([KVPLAN, *argv])
    for _ in range(rounds):
        times["bare"].append(milliseconds([sys.executable, "-c", "pass"]))
        for name, (argv, _) in CASES.items():
            times[name].append(milliseconds([KVPLAN, *argv]))
    bare = min(times["bare"])
    sys.stdout.write(f"{'bare interpreter':20} {bare:7.1f} ms\n")
    for name, (_, bar) in CASES.items():
        took = min(times[name])
        sys.stdout.write(f"{name:20} {took:7.1f} ms  {took / bare:5.2f} ×  bar {bar:g} ×\n")


if __name__ == "__main__":
    main()
