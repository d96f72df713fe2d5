"""``kvplan check`` as people and jobs run it."""

import io
import json
from pathlib import Path

import pytest

from kvplan.cli import main
from tests.cli.checking import BEYOND, HELD, answered


def test_good_and_bad(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "a.sh").write_text(HELD)
    found = answered(capsys, "--gpu", "a100-80")
    assert [(d["file"], d["verdict"], d["gpu"]) for d in found["deployments"]] == [("a.sh", "fits", "a100-80")]
    (tree / "a.sh").write_text(BEYOND)
    found = answered(capsys, "--gpu", "a100-80", code=1)
    assert "KV110" in [f["rule"] for f in found["findings"]]
    assert answered(capsys, "--gpu", "a100-80", "--fail-on", "never")["findings"]
    assert not answered(capsys, "--gpu", "a100-80", "--select", "KV500")["findings"]
    assert not [f for f in answered(capsys, "--gpu", "a100-80", "--ignore", "KV110,KV201")["findings"] if f["level"] == "error"]


def test_a_tree_without_servers(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "a.yaml").write_text("services: {web: {image: nginx}}\n")
    assert answered(capsys) == answered(capsys, ".")
    assert answered(capsys)["findings"] == []


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        (HELD, "vllm"),
        ("# x\nservices:\n  a: {image: vllm/vllm-openai, command: --model a/b}\n", "vllm"),
        ('FROM vllm/vllm-openai\nCMD ["--model", "a/b"]\n', "vllm"),
        ("FROM a/b\nPARAMETER num_ctx 4096\n", "ollama"),
        ("[a]\nmodel = a.gguf\nctx-size = 4096\n", "llama.cpp"),
    ],
)
def test_what_is_piped_in(tree: Path, text: str, engine: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    (found,) = answered(capsys, "-", "--gpu", "none")["deployments"]
    assert (found["file"], found["engine"]) == ("<stdin>", engine)


def test_several_formats_at_once(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "a.sh").write_text(BEYOND)
    assert main(["check", "--gpu", "l40s", "--format", "text", "--format", "sarif=out.sarif", "--format", "json=out.json"]) == 1
    assert "a.sh:1:" in capsys.readouterr().out
    assert json.loads((tree / "out.sarif").read_text())["version"] == "2.1.0"
    assert json.loads((tree / "out.json").read_text())["findings"]


def test_annotations_inside_actions(tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (tree / "a.sh").write_text(BEYOND)
    assert main(["check", "--gpu", "l40s"]) == 1
    assert "::error file=a.sh,line=1" in capsys.readouterr().out


def test_a_baseline_hides_what_it_knows(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "a.sh").write_text(BEYOND)
    assert main(["check", "--gpu", "l40s", "--write-baseline", "known.json"]) == 0
    assert not answered(capsys, "--gpu", "l40s", "--baseline", "known.json")["findings"]


def test_strict_takes_the_unknown_for_an_error(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "a.sh").write_text("vllm serve $MODEL\n")
    assert answered(capsys)["findings"]
    assert answered(capsys, "--strict", code=1)["findings"]
    assert answered(capsys, "--set", "MODEL=meta-llama/Llama-2-7b-hf", "--gpu", "a100-80")["deployments"][0]["verdict"] == "fits"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["nowhere"], "no such file"),
        (["--gpu", "h1000"], "unknown GPU"),
        (["--format", "xml"], "unknown format"),
        (["--format", "text", "--format", "json"], "both go to stdout"),
        (["--select", "KV999"], "unknown rule"),
        (["--set", "X"], "NAME=VALUE"),
        (["--fail-on", "sometimes"], "sometimes"),
        (["--model-dir", "nowhere"], "no such folder"),
        (["--env-file", "nowhere"], "nowhere"),
    ],
)
def test_wrong_requests(tree: Path, argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *argv]) == 2
    assert said in capsys.readouterr().err


def test_files_of_others_are_kept(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "mine").write_text("mine\n")
    for argv in (["--write-baseline", "mine"], ["--format", "sarif=mine"]):
        assert main(["check", *argv]) == 2
        assert "say --force" in capsys.readouterr().err
        assert (tree / "mine").read_text() == "mine\n"
    assert main(["check", "--write-baseline", "mine", "--force"]) == 0
    assert main(["check", "--write-baseline", "mine"]) == 0


def test_json_beside_other_formats(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", "--format", "sarif=found.sarif"]) == 0
    assert json.loads(capsys.readouterr().out)["schema_version"] == 1
    assert (tree / "found.sarif").exists()
    assert main(["check", "--json", "--format", "text"]) == 2
    assert "text and json would both go to stdout" in capsys.readouterr().err


@pytest.mark.parametrize(("argv", "said"), [([""], "'': there is no such"), (["-"], "pipe a deployment file in")])
def test_nothing_to_check(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, argv: list[str], said: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\n")))
    assert main(["check", *argv]) == 2
    assert said in capsys.readouterr().err
