"""What ``kvplan check`` is told beside its files: settings, suppressions, baselines."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from kvplan.checker.config import validated
from kvplan.cli import catalog, main
from tests.cli.checking import BEYOND, HELD, answered

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpuu: l4", "unknown key 'gpuu'\nhint: did you mean 'gpu'"),
        ("gpu: h1000", "gpu: unknown GPU 'h1000'"),
        ("label-map: {pool: h1000}", "label-map.pool: unknown GPU"),
        ("fail-on: sometimes", "fail-on: input should be"),
        ("ignore: [KV999]", "ignore: unknown rule 'KV999'"),
        ("select: [memory]", "select.0: expected a rule"),
        ("per-file-ignores: {a*: [KV999]}", "a*: unknown rule"),
        ("workload: {cxt: 5}", "unknown key 'workload.cxt'\nhint: did you mean 'ctx'"),
        ("workload: {ctx: long}", "workload.ctx: expected a whole number"),
        ("workload: 5", "workload: expected keys and values"),
        ("engine-versions: {vlm: '0.9'}", "unknown engine 'vlm'\nhint: did you mean 'vllm'"),
        ("engine-versions: {vllm: 0.9}", "a number in quotes"),
        ("root: /", "unknown key"),
        ("- gpu", "expected a mapping"),
        ("gpu: [", ".kvplan.yaml:2:1: invalid YAML"),
    ],
)
def test_settings_that_make_no_sense(tree: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / ".kvplan.yaml").write_text(f"{text}\n")
    assert main(["check"]) == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert ".kvplan.yaml" in complaint


def test_settings_in_pyproject(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "a.sh").write_text(HELD)
    (tree / "pyproject.toml").write_text('[tool.kvplan]\ngpu = "a100-80"\n')
    assert answered(capsys)["deployments"][0]["gpu"] == "a100-80"
    (tree / "pyproject.toml").write_text("[tool.kvplan]\nfail_onn = 1\n")
    assert main(["check"]) == 2
    assert "pyproject.toml: tool.kvplan: unknown key 'fail_onn'\nhint: did you mean 'fail-on'" in capsys.readouterr().err
    for other in ("[tool]\nkvplan = 3\n", "[tool.kv\n", "[tool.black]\n"):  # another tool's business
        (tree / "pyproject.toml").write_text(other)
        assert answered(capsys)["deployments"][0]["gpu"] is None


@pytest.mark.parametrize("text", ["", "# nothing yet\n"])
def test_settings_without_any(tree: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / ".kvplan.yaml").write_text(text)
    assert answered(capsys)["findings"] == []


def test_the_nearest_settings_hold(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / ".git").mkdir()
    (tree / "deploy" / "eu").mkdir(parents=True)
    (tree / ".kvplan.yaml").write_text("gpu: l4\n")
    (tree / "deploy" / "eu" / "a.sh").write_text(HELD)
    assert answered(capsys, "deploy/eu")["deployments"][0]["gpu"] == "l4"
    (tree / "deploy" / ".kvplan.yaml").write_text("gpu: l40s\n")
    assert answered(capsys, "deploy/eu")["deployments"][0]["gpu"] == "l40s"
    assert answered(capsys)["deployments"][0]["gpu"] == "l4"
    assert answered(capsys, "deploy/eu", "--gpu", "a100-80")["deployments"][0]["file"] == "deploy/eu/a.sh"


def test_from_which_level_on_it_fails(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "a.sh").write_text("vllm serve meta-llama/Llama-2-7b-hf --max-model-len 4096 --max-num-seqs 512\n")  # KV502
    for level, code in (("error", 0), ("warning", 1), ("note", 1), ("never", 0)):
        assert answered(capsys, "--gpu", "l40s", "--fail-on", level, code=code)["findings"]
    (tree / ".kvplan.yaml").write_text("fail-on: warning\ngpu: l40s\n")
    assert answered(capsys, code=1)["findings"]
    assert answered(capsys, "--fail-on", "error")["findings"]


def test_rules_that_are_left_out_of_files(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "old").mkdir()
    for name in ("a.sh", "old/b.sh"):
        (tree / name).write_text(BEYOND)
    (tree / ".kvplan.yaml").write_text("gpu: a100-80\nper-file-ignores: {'old/*': [KV110]}\n")
    assert {f["file"] for f in answered(capsys, code=1)["findings"] if f["level"] == "error"} == {"a.sh"}
    (tree / ".kvplan.yaml").write_text("gpu: a100-80\nexclude: [old]\n")
    assert {d["file"] for d in answered(capsys, code=1)["deployments"]} == {"a.sh"}


def test_suppressions_say_why_or_are_findings(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "a.sh").write_text(f"# kvplan: ignore[KV110] the variable is set in the image\n\n{BEYOND}")
    (found,) = answered(capsys, "--gpu", "a100-80")["suppressed"]
    assert (found["rule"], found["reason"]) == ("KV110", "the variable is set in the image")
    (tree / "a.sh").write_text(f"{HELD}# kvplan: ignore[KV110]\n{BEYOND}{HELD.rstrip()} # kvplan: ignore[KV102] no more\n")
    rules = [(f["rule"], f["line"]) for f in answered(capsys, "--gpu", "a100-80", code=1)["findings"]]
    assert rules == [("KV594", 2), ("KV110", 3), ("KV594", 4)]


def test_a_baseline_counts_and_survives_edits(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "a.sh").write_text(BEYOND)
    assert main(["check", "--gpu", "l40s", "--write-baseline", "known.json"]) == 0
    (tree / ".kvplan.yaml").write_text("gpu: l40s\nbaseline: known.json\n")
    (tree / "a.sh").write_text(f"#!/bin/sh\n\n{BEYOND}")
    found = answered(capsys)
    assert (found["findings"], len(found["suppressed"])) == ([], 1)
    (tree / "a.sh").write_text(f"{BEYOND}{BEYOND.replace('8192', '9999')}")
    assert [f["line"] for f in answered(capsys, code=1)["findings"]] == [2]
    assert main(["check", "--write-baseline", "known.json"]) == 0
    assert answered(capsys)["findings"] == []
    for broken in ("", "[]", "{}", '{"version": 2, "findings": []}', '{"version": 1, "findings": [1]}'):
        (tree / "known.json").write_text(broken)
        assert main(["check"]) == 2
        assert "known.json" in capsys.readouterr().err


def test_settings_of_the_project(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "a.sh").write_text("vllm serve /models/ours --max-model-len 4096\n")
    (tree / ".kvplan.yaml").write_text("gpu: a100-80\nmodels: {/models/ours: llama-2-7b}\n")
    assert answered(capsys)["deployments"][0]["verdict"] == "fits"
    assert answered(capsys, "--gpu", "none")["deployments"][0]["verdict"] == "unknown"


def test_the_settings_in_the_manual_are_ones() -> None:
    (block,) = (block for block in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL) if block.startswith("gpu: "))
    found = validated(yaml.safe_load(block), "README", ROOT)
    assert found.gpu == "l40s"
    assert found.typical() == (4096, 8)


def test_the_step_in_the_manual_runs(tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (step,) = re.findall(r"- run: kvplan (check .*GITHUB_STEP_SUMMARY)", README)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (tree / "a.sh").write_text(BEYOND)
    (tree / "summary").touch()
    words = shlex.split(step.replace("$GITHUB_STEP_SUMMARY", "summary"))
    assert main(words) == 1
    assert "::error file=a.sh,line=1," in capsys.readouterr().out
    assert json.loads((tree / "kvplan.sarif").read_text())["runs"]
    assert (tree / "summary").read_text().startswith("## kvplan check\n")


def test_hooks_name_a_command_that_is_there() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [(hook["id"], hook["language"]) for hook in hooks] == [("kvplan-check", "python"), ("kvplan-check-system", "system")]
    for hook in hooks:
        assert hook["entry"].split() == ["kvplan", "check"]
        assert catalog.command("check").many
        assert hook["require_serial"] is True
        assert {"yaml", "dockerfile", "shell"} <= set(hook["types_or"])
