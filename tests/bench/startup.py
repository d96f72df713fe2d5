"""Cold start of the commands people wait for, as a multiple of a bare interpreter.

usage: python tests/bench/startup.py [ROUNDS]

Each round runs the bare interpreter and every command in turn, so that a slow moment of the machine hits all alike;
medians are compared. Compiled files are written first, as an installation has them. Prints one line a case: median in ms,
the multiple, its bar.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONFIG = Path(tempfile.mkdtemp()) / "config.json"
CONFIG.write_text(
    '{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 11008,'
    ' "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000, "max_position_embeddings": 4096, "torch_dtype": "float16"}'
)
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
KVPLAN = str(Path(sys.executable).with_name("kvplan"))
CASES = {
    "built-in": (["estimate", "llama-2-7b", "--ctx", "4096", "--batch", "8", "--json"], 6.0),
    "built-in on a GPU": (["estimate", "llama-2-7b", "--ctx", "4096", "--batch", "8", "--json", "--gpu", "h100-sxm"], 6.0),
    "by alias": (["estimate", "llama2-7b", "--ctx", "4096", "--batch", "8", "--json"], 6.0),
    "config.json": (["estimate", str(CONFIG), "--json"], 15.0),
}


def milliseconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    return 1000 * (time.perf_counter() - start)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    times: dict[str, list[float]] = {name: [] for name in ("bare", *CASES)}
    for argv, _ in CASES.values():
        milliseconds([KVPLAN, *argv])
    for _ in range(rounds):
        times["bare"].append(milliseconds([sys.executable, "-c", "pass"]))
        for name, (argv, _) in CASES.items():
            times[name].append(milliseconds([KVPLAN, *argv]))
    bare = statistics.median(times["bare"])
    sys.stdout.write(f"{'bare interpreter':20} {bare:7.1f} ms\n")
    for name, (_, bar) in CASES.items():
        took = statistics.median(times[name])
        sys.stdout.write(f"{name:20} {took:7.1f} ms  {took / bare:5.2f} ×  bar {bar:g} ×\n")


if __name__ == "__main__":
    main()
