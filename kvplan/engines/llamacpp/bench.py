"""llama-bench: every flag takes a list, and each combination is a context of its own. The largest is what must fit.

Source: llama.cpp b11434 tools/llama-bench/llama-bench.cpp, parse_cmd_params, get_cmd_params_instances; tools/llama-bench/README.md.
"""

import re
from collections.abc import Callable, Sequence

from kvplan.core.engine import Flag
from kvplan.core.errors import did_you_mean
from kvplan.core.ledger import Finding
from kvplan.engines.llamacpp.flags import CACHE_TYPES, Known, memory_flags
from kvplan.engines.llamacpp.values import ValueProblem, canonical
from kvplan.engines.llamacpp.words import Read, stopped

_LISTS = {
    **{"-p": "n-prompt", "--n-prompt": "n-prompt", "-n": "n-gen", "--n-gen": "n-gen", "-d": "n-depth", "--n-depth": "n-depth"},
    **{"-pg": "pg", "-m": "model", "--model": "model", "-b": "batch-size", "--batch-size": "batch-size"},
    **{"-ub": "ubatch-size", "--ubatch-size": "ubatch-size", "-ctk": "cache-type-k", "--cache-type-k": "cache-type-k"},
    **{"-ctv": "cache-type-v", "--cache-type-v": "cache-type-v", "-ngl": "n-gpu-layers", "--n-gpu-layers": "n-gpu-layers"},
    **{"-ncmoe": "n-cpu-moe", "--n-cpu-moe": "n-cpu-moe", "-sm": "split-mode", "--split-mode": "split-mode", "-mg": "main-gpu"},
    **{"--main-gpu": "main-gpu", "-nkvo": "kv-offload", "--no-kv-offload": "kv-offload", "-fa": "flash-attn", "--flash-attn": "flash-attn"},
    **{"-dev": "device", "--device": "device", "-lm": "load-mode", "--load-mode": "load-mode", "-embd": "embeddings"},
    **{"--embeddings": "embeddings", "-ts": "tensor-split", "--tensor-split": "tensor-split", "-ot": "override-tensor"},
    **{"--override-tensor": "override-tensor", "-nopo": "op-offload", "--no-op-offload": "op-offload", "--no-host": "no-host"},
    **{
        "-hf": "hf-repo",
        "-hfr": "hf-repo",
        "--hf-repo": "hf-repo",
        "-hff": "hf-file",
        "--hf-file": "hf-file",
        "-mmp": "mmap",
        "--mmap": "mmap",
    },
}
_OPPOSITE = ("kv-offload", "op-offload")  # said as -nkvo 1
_OTHERS = (
    *("--numa", "-r", "--repetitions", "--prio", "--delay", "-o", "--output", "-oe", "--output-err", "-fitt", "--fit-target", "-fitc"),
    *(
        "--fit-ctx",
        "-rpc",
        "--rpc",
        "-hft",
        "--hf-token",
        "-t",
        "--threads",
        "-C",
        "--cpu-mask",
        "--cpu-strict",
        "--poll",
        "-lzm",
        "--lazy-mode",
    ),
)
_BARE = ("-h", "--help", "--list-devices", "-v", "--verbose", "--progress", "--no-warmup", "--offline")
_INF = 2**31  # layers: auto and all are more than any number
_DEFAULTS = {"n-prompt": ["512"], "n-gen": ["128"], "n-depth": ["0"], "pg": []}


def read(words: Sequence[str]) -> Read:
    """The flags of the largest context that the lists make, and what llama-bench would not take."""
    said: dict[str, list[str]] = {}
    ignored, unknown, problems = [], [], []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name = _LISTS.get(word)
        if word in _BARE:
            ignored.append(Flag(word, ""))
        elif (name is None and word not in _OTHERS) or not rest:
            unknown.append(Flag(word, ""))
            problems.append(word)
        elif name is None:
            ignored.append(Flag(word, rest.pop(0)))
        else:
            said.setdefault(name, []).extend(_values(name, rest.pop(0)))
    flags, wrong = _largest(said)
    texts = [f"error: invalid parameter for argument: {word}" for word in (*problems, *wrong)]
    findings = tuple(Finding("KV210", "warning", f"llama-bench does not take '{word}'", did_you_mean(word, _LISTS)) for word in problems)
    return Read(flags, tuple(ignored), tuple(unknown), findings, tuple(stopped(text) for text in texts[:1]))


def _values(name: str, text: str) -> list[str]:
    """A list with ranges, 512-2048*2 or 0-8+4; what has commas of its own (pairs, devices, overrides) is one value."""
    if name in ("device", "tensor-split", "override-tensor", "pg"):
        return [text]
    values: list[str] = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d{1,9})-(\d{1,9})(?:([+*])(\d{1,9}))?", part, re.ASCII)
        values += _range(int(found[1]), int(found[2]), found[3] or "+", int(found[4] or 1)) if found else [part]
    return values


def _range(first: int, last: int, sign: str, step: int) -> list[str]:
    """Ends that matter alone: the largest value decides."""
    if step < 1 or (sign == "*" and (step < 2 or first < 1)):
        return [str(first)]
    largest = first
    if sign == "+":
        largest += (last - first) // step * step if last > first else 0
    else:
        while largest * step <= last:
            largest *= step
    return [str(first), str(largest)]


def _largest(said: dict[str, list[str]]) -> tuple[tuple[Flag, ...], list[str]]:
    """Of each list the value that takes most memory; the context is that of the longest test. With the names of wrong ones."""
    wrong: list[str] = []
    lengths = {name: _checked(name, said.get(name, default), wrong) for name, default in _DEFAULTS.items()}
    tests = [*lengths["n-prompt"], *lengths["n-gen"], *lengths["pg"]]
    flags = [Flag("ctx-size", str(max(tests, default=0) + max(lengths["n-depth"], default=0)))]
    known = memory_flags()
    for name, values in said.items():
        if name in lengths:
            continue
        flag = known[name]
        taken = [value for value in values if _taken(flag, value)]
        wrong += [name] if len(taken) < len(values) else []
        if taken:
            chosen = max(taken, key=_weight(flag))
            flags.append(Flag(name, _spelled(flag, chosen)))
    return tuple(flags), wrong


def _checked(name: str, values: list[str], wrong: list[str]) -> list[int]:
    pairs = [value.split(",") if name == "pg" else [value] for value in values]
    good = [sum(map(int, pair)) for pair in pairs if all(part.isascii() and part.isdecimal() for part in pair)]
    if len(good) < len(pairs):
        wrong.append(name)
    return good


def _taken(flag: Known, text: str) -> bool:
    try:
        canonical(flag, text)
    except ValueProblem:
        return False
    return True


def _weight(flag: Known) -> Callable[[str], int]:
    """How much memory a value takes beside the others of its list."""
    if flag.kind in ("int", "layers"):
        return lambda text: _INF if int(canonical(flag, text)) < 0 else int(canonical(flag, text))
    if flag.kind == "cache":
        return lambda text: -CACHE_TYPES.index(text)
    if flag.kind == "fa":
        return lambda text: canonical(flag, text) == "off"
    return lambda text: 0


def _spelled(flag: Known, text: str) -> str:
    value = canonical(flag, text)
    if flag.name in _OPPOSITE:
        return "false" if value == "true" else "true"
    return value.replace("/", ",") if flag.name in ("device", "tensor-split") else value.replace(";", ",")
