"""Time and memory that the header of a GGUF file with a vocabulary of 262,144 tokens takes.

usage: python -m tests.bench.gguf_header [ROUNDS]    (Linux: the peak is read from /proc)

The header has tokens, scores, types, as many tokens' merges and 700 tensors. Each round reads it in a process of its own;
prints the least CPU time of a read, the largest peak RSS of a process, and what was fetched of the file.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from kvplan.specs.gguf.header import read_header
from tests.gguf.writing import Bytes, Entry, Typed, header

N_TOKENS, N_MERGES = 262_144, 514_906

ONE = r"""
import json, re, sys, time
from pathlib import Path
from kvplan.specs.gguf.header import read_header
from kvplan.specs.sources import LocalFile
start = time.process_time()
with LocalFile(Path(sys.argv[1])) as source:
    found = read_header(source)
took = time.process_time() - start
assert found.n_vocab == 262144 and len(found.tensors) == 700
peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())  # ru_maxrss counts the parent that forked
print(json.dumps([took, int(peak[1]) / 1024]))
"""


def large() -> tuple[bytes, int]:
    """A header of the size that Gemma 3's has, and the bytes of data behind it."""
    tokens: list[object] = [f"▁token{i}" for i in range(N_TOKENS)]
    values: dict[str, object] = {
        "general.architecture": "gemma3",
        "tokenizer.ggml.tokens": Typed("string", tokens),
        "tokenizer.ggml.scores": Typed("float32", [-float(i) for i in range(N_TOKENS)]),
        "tokenizer.ggml.token_type": Typed("int32", [1] * N_TOKENS),
        "tokenizer.ggml.merges": Typed("string", [f"▁to ken{i}" for i in range(N_MERGES)]),
        "tokenizer.chat_template": "{{ messages }}" * 1000,
    }
    return header(values, [Entry(f"blk.{i}.ffn_up.weight", (4096, 4096), 12, 4096 * 4096 // 256 * 144) for i in range(700)])


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    head, n_data = large()
    source = Bytes(head, len(head) + n_data)
    read_header(source)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.gguf"
        path.write_bytes(head)
        os.truncate(path, len(head) + n_data)
        outs = [subprocess.run([sys.executable, "-c", ONE, str(path)], capture_output=True, check=True).stdout for _ in range(rounds)]
    took, rss = zip(*(json.loads(out) for out in outs), strict=True)
    sys.stdout.write(f"header {len(head) / 2**20:.1f} MiB: {min(took):.3f} s CPU (bar 0.5), {max(rss):.0f} MiB peak RSS (bar 60)\n")
    fetched = f"{source.n_read / 2**20:.1f} MiB in {len(source.reads)} requests"
    sys.stdout.write(f"fetched {fetched}: {source.n_read / len(head):.2f} times the header (bar 2)\n")


if __name__ == "__main__":
    main()
