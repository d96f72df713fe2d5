"""Trees that want to break the check: an answer in every format, the right exit code, and no trace of a crash."""

import json
import os
from pathlib import Path

import pytest

from kvplan.checker.reader import MAX_SERVERS
from kvplan.cli import main
from tests.running import Run

BEYOND = "vllm serve llama-3.1-8b --max-model-len 200000\n"
TEXTS = {
    "bomb.yaml": 'a: &a ["vllm"]\n'
    + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefghi", "bcdefghij", strict=True)),
    "cycle.yaml": "x: &x {image: vllm/vllm-openai, <<: *x}\nservices: {a: *x}\n",
    "unknown-alias.yaml": "services:\n  x: {image: vllm/vllm-openai, command: *nope}\n",
    "deep.yaml": f"services: {'[' * 3000}vllm{']' * 3000}\n",
    "deep.json": '{"vllm":' * 3000 + "1" + "}" * 3000,
    "object.yaml": '!!python/object/apply:os.system ["touch pwned"]\n---\nservices: {a: {image: vllm/vllm-openai}}\n',
    "long-word.yaml": f"services: {{a: {{image: vllm/vllm-openai, command: '{'x' * 500_000}'}}}}\n",
    "long-number.sh": f"vllm serve llama-3.1-8b --max-model-len {'9' * 50_000}\n",
    "nested.sh": f"vllm serve {'$(' * 2000}x{')' * 2000}\n",
    "doubling.sh": "A=xx\n" + "A=$A$A\n" * 60 + "vllm serve $A\n",
    "open.sh": 'vllm serve "llama-3.1-8b\n',
    "numbers.sh": "vllm serve llama-3.1-8b -tp 0 --gpu-memory-utilization nan\nllama-server -m llama-3.1-8b -c 9e99 -np 1000000\n",
    "escape.sh": 'vllm serve "\x1b[31mred\u202e/x"\n',
    "substituted.sh": 'vllm serve "$(touch pwned)" `touch pwned`\nfor i in $(seq 1 9); do vllm serve llama-3.2-1b --port $i; done\n',
    "Modelfile": "FROM llama-3.1-8b\nPARAMETER num_ctx 99999999999999999999999\nPARAMETER\n",
    "settings.ini": "[a]\nmodel = x.gguf\n[a]\nctx-size =\n= 5\n[\n",
    "Dockerfile": 'FROM vllm/vllm-openai\nARG A=$A\nENV B=${B:-${B:-${B}}}\nCMD ["--model", "$B", "${A:-"\n',
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return tmp_path


@pytest.mark.parametrize("name", TEXTS)
def test_any_text_has_an_answer(tree: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / name).write_text(TEXTS[name], encoding="utf-8")
    formats = ("text=a.txt", "sarif=a.sarif", "github=a.log", "markdown=a.md", "json")
    assert main(["check", "--gpu", "l4", *(word for one in formats for word in ("--format", one))]) in (0, 1)
    said = capsys.readouterr()
    assert json.loads(said.out)["n_files"] == 1
    assert said.err == ""
    text = (tree / "a.txt").read_text(encoding="utf-8")
    assert not [sign for sign in text if sign != "\n" and not sign.isprintable() and not sign.isspace()]
    assert not (tree / "pwned").exists()


@pytest.mark.parametrize("text", [BEYOND.replace("\n", "\r\n"), f"\ufeff{BEYOND}", f"# café\n{BEYOND}"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_line_ends_marks_and_encodings(tree: Path, text: str, encoding: str, kvplan: Run) -> None:
    (tree / "a b,c:d.sh").write_bytes(text.encode(encoding, "ignore"))
    ran = kvplan("check", "--gpu", "h100-sxm")
    assert (ran.code, ran.err) == (1, "")
    assert f"a b,c:d.sh:{text.count(chr(10))}:25: error[KV110]" in ran.out


def test_names_of_files_that_are_no_text(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (b"na\xffme.sh", b"new\nline.sh"):
        with open(name, "w") as file:  # noqa: PTH123  # a path of bytes
            file.write(BEYOND)
    assert main(["check", "--gpu", "h100-sxm", "--format", "sarif", "--format", "text=a.txt", "--format", "github=a.log"]) == 1
    run = json.loads(capsys.readouterr().out)["runs"][0]
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]]
    assert uris == ["na%FFme.sh", "new%0Aline.sh"]
    assert main(["check", "--gpu", "h100-sxm", "--write-baseline", "known.json"]) == 0
    assert main(["check", "--gpu", "h100-sxm", "--baseline", "known.json"]) == 0


def test_what_is_no_file_is_not_waited_for(tree: Path, kvplan: Run) -> None:
    os.mkfifo("pipe.yaml")
    (tree / "here").symlink_to(".")
    (tree / "self.yaml").symlink_to("self.yaml")
    (tree / "gone.sh").symlink_to("nowhere")
    (tree / "out.sh").symlink_to("/etc/hostname")
    for paths in ((), ("pipe.yaml",), ("self.yaml",), ("gone.sh",), ("here",)):
        assert kvplan("check", *paths).code == 0
    assert "out.sh:1:1: note[KV593]" in kvplan("check").out


def test_a_file_of_more_servers_than_anybody_writes(tree: Path, kvplan: Run) -> None:
    (tree / "a.sh").write_text(BEYOND * (MAX_SERVERS + 100))
    ran = kvplan("check", "--gpu", "h100-sxm")
    assert f"{MAX_SERVERS} servers are enough for one file" in ran.out
    assert ran.out.endswith(f"{MAX_SERVERS} servers in 1 file: {MAX_SERVERS} errors, 1 note\n")
