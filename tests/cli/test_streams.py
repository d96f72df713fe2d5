"""Streams that are closed, full, left, or can't say what we write: in a process of its own, as only there they are real."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

CONFIG = Path(__file__).parent.parent / "data" / "families" / "llama.json"
ESTIMATE = "-m kvplan estimate llama-2-7b --gpu h100-sxm -q"


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """``line`` in a shell, with ``$P`` for Python."""
    env = {**os.environ, "P": sys.executable, **environment}
    return subprocess.run(["bash", "-c", line], capture_output=True, env=env, timeout=20, check=False)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "utf-16"])
def test_text_in_any_encoding(encoding: str) -> None:
    ran = shell(f"$P {ESTIMATE} --explain", PYTHONIOENCODING=encoding)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert "6,738,415,616 parameters" in ran.stdout.decode(encoding)


def test_signs_that_ascii_has_not() -> None:
    ran = shell(f"$P {ESTIMATE} --ctx 64", PYTHONIOENCODING="ascii")
    assert b"* 64 tokens x 1\n" in ran.stdout


def test_json_in_ascii_is_the_same_json() -> None:
    narrow, wide = (shell(f"$P {ESTIMATE} --json", PYTHONIOENCODING=encoding).stdout for encoding in ("ascii", "utf-8"))
    assert json.loads(narrow) == json.loads(wide)


def test_half_a_character_in_a_config(tmp_path: Path) -> None:
    config = json.loads(CONFIG.read_text())[0]["config"] | {"architectures": ["\ud800ForCausalLM"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    ran = shell(f"$P -m kvplan estimate {tmp_path} --json")
    assert json.loads(ran.stdout.decode())["model"]["architecture"] == "\ud800ForCausalLM"


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (f"$P {ESTIMATE} >/dev/full", 3, "stdout: No space left on device"),
        ("$P -m kvplan --version >/dev/full", 3, "stdout: No space left on device"),
        (f"$P {ESTIMATE} >&-", 3, "stdout is closed"),
        (f"$P {ESTIMATE} >&- 2>&-", 3, ""),
        (f"$P {ESTIMATE} 2>/dev/full --ctx 9999999", 0, ""),
        ("$P -m kvplan estimate nosuch 2>/dev/full", 2, ""),
        ("$P -m kvplan estimate - <&-", 2, "expected something on stdin, it is closed"),
        ("$P -m kvplan estimate --requests - <&-", 2, "expected something on stdin, it is closed"),
        ("$P -m kvplan estimate - </dev/null", 2, "the file is empty"),
        ("$P -m kvplan models --json | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}", 0, ""),
    ],
)
def test_streams(line: str, code: int, words: str) -> None:
    ran = shell(line)
    said = ran.stderr.decode()
    assert (ran.returncode, "Traceback" in said, "Exception ignored" in said, "internal error" in said) == (code, False, False, False)
    assert words in said


def test_nobody_types_a_config() -> None:
    theirs, ours = pty.openpty()
    ran = subprocess.run([sys.executable, "-m", "kvplan", "estimate", "-"], stdin=ours, capture_output=True, timeout=20, check=False)
    os.close(theirs)
    os.close(ours)
    assert (ran.returncode, b"it is a terminal" in ran.stderr) == (2, True)


@pytest.mark.parametrize("flags", ["-O", "-OO", "-W error"])
def test_python_with_flags(flags: str) -> None:
    ran = shell(f"$P {flags} {ESTIMATE} --json")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert json.loads(ran.stdout)["model"]["n_params"] == 6_738_415_616
