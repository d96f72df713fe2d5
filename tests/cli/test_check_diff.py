"""``kvplan check --diff`` as people and jobs run it."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from kvplan.cli import main
from kvplan.render.check_schema import CheckAnswer, schema_text
from tests.cli.checking import BEYOND, HELD, answered
from tests.differ.repository import commit, git, needs_git, repository, write
from tests.differ.test_pull_requests import SETTINGS, chat
from tests.running import Run, refused

pytestmark = needs_git
README = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
CASES = Path(__file__).parent.parent / "cases" / "check" / "diff"
BEFORE = {**SETTINGS, "deploy/chat.yaml": chat(tag="v0.19.0"), "deploy/old.sh": BEYOND, "deploy/serve.sh": HELD, "deploy/same.sh": HELD}
AFTER = {
    "deploy/chat.yaml": chat(ctx=16384),
    "deploy/old.sh": None,
    "deploy/serve.sh": BEYOND,
    "deploy/b.yaml": chat("b", model="Qwen/Qwen3-4B"),
}


@pytest.fixture
def changed(tree: Path) -> Path:
    repository(tree, BEFORE)
    write(tree, AFTER)
    return tree


@pytest.mark.parametrize("name", ["text", "markdown", "github"])
def test_golden(kvplan: Run, request: pytest.FixtureRequest, changed: Path, name: str) -> None:
    ran = kvplan("check", "--diff", "main", "--format", name)
    assert (ran.code, ran.err) == (1, "")
    golden = CASES / f"{name}.out"
    if request.config.getoption("--update-golden"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(ran.out, encoding="utf-8")
    else:
        assert ran.out == golden.read_text(encoding="utf-8")


def test_json_has_both_sides_and_only_what_is_new(capsys: pytest.CaptureFixture[str], changed: Path) -> None:
    answer = answered(capsys, "--diff", "main", code=1)
    assert [one["rule"] for one in answer["findings"]] == ["KV110"]
    assert len(answer["deployments"]) == 4
    diff = answer["diff"]
    assert isinstance(diff, dict)
    assert (diff["base"], diff["n_unchanged"], len(diff["revision"])) == ("main", 1, 40)
    assert [change["change"] for change in diff["changes"]] == ["worse", "worse", "new", "removed"]
    worse = diff["changes"][0]
    assert worse["decided_by"] == "max_concurrency"
    assert worse["before"]["max_concurrency"] > worse["after"]["max_concurrency"]
    assert worse["before"]["needed_bytes"] < worse["after"]["needed_bytes"]
    assert [one["rule"] for one in diff["cured"]] == ["KV110"]


def test_what_was_there_before_fails_nothing(changed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit(changed)
    assert main(["check"]) == 1
    assert main(["check", "--diff", "HEAD"]) == 0
    assert "against HEAD" in capsys.readouterr().out
    assert main(["check", "--diff", "HEAD~1"]) == 1
    assert main(["check", "--diff", "HEAD~1", "--fail-on", "never"]) == 0
    assert main(["check", "--diff", "HEAD~1", "--ignore", "KV110"]) == 0
    assert main(["check", "--diff", "HEAD~1", "deploy/chat.yaml"]) == 0


def test_dots_compare_with_where_head_left(changed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(changed, "stash", "-q", "-u")
    git(changed, "checkout", "-q", "-b", "topic")
    git(changed, "stash", "pop", "-q")
    commit(changed)
    git(changed, "checkout", "-q", "main")
    write(changed, {"deploy/same.sh": BEYOND})
    commit(changed)
    git(changed, "checkout", "-q", "topic")
    assert len(answered(capsys, "--diff", "main", code=1)["diff"]["changes"]) == 5  # type: ignore[call-overload]  # a mapping
    assert len(answered(capsys, "--diff", "main...", code=1)["diff"]["changes"]) == 4  # type: ignore[call-overload]  # a mapping


def test_a_folder_is_a_base_too(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tree, {"old/a/serve.sh": HELD, "new/a/serve.sh": BEYOND})
    diff = answered(capsys, "--diff", "old", "new", "--gpu", "l40s", code=1)["diff"]
    assert isinstance(diff, dict)
    (change,) = diff["changes"]
    assert (change["change"], change["before"]["file"], change["after"]["file"]) == ("worse", "new/a/serve.sh", "new/a/serve.sh")
    assert diff["revision"] is None


def test_a_shallow_clone_says_what_to_do(
    kvplan: Run, changed: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = git(changed, "rev-parse", "HEAD")
    commit(changed)
    clone = tmp_path_factory.mktemp("clone")
    git(clone, "clone", "-q", "--depth", "1", f"file://{changed}", "here")
    monkeypatch.chdir(clone / "here")
    said = refused(kvplan, "check", "--diff", first)
    assert "the clone is shallow" in said
    assert "fetch-depth: 0" in said


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        pytest.param(("--diff", "^HEAD"), "there is no revision '^HEAD' here", id="all-but-a-revision"),
        pytest.param(("--diff", "a\0b"), r"there is no revision 'a\x00b' here", id="nul"),
        pytest.param(("--diff", "a" * 5000), "aaa' here", id="longer-than-names-are"),
        pytest.param(("--diff", "nowhere"), "there is no revision 'nowhere' here", id="no-such-revision"),
        pytest.param(("--diff", "--all"), "", id="an-option-is-no-base"),
        pytest.param(("--diff", ""), "files in a tree are compared", id="empty"),
        pytest.param(("--diff", "main", "-"), "not stdin", id="stdin"),
        pytest.param(("--diff", "main", "--write-baseline", "x.json"), "leave one of them out", id="baseline"),
        pytest.param(("--diff", "./deploy", "deploy/serve.sh"), "name the one folder", id="folder-and-file"),
    ],
)
def test_what_is_no_base_is_refused(kvplan: Run, changed: Path, argv: tuple[str, ...], expected: str) -> None:
    assert expected in refused(kvplan, "check", *argv)


def test_outside_of_a_repository(kvplan: Run, tree: Path) -> None:
    write(tree, {"serve.sh": HELD})
    assert "is no git repository" in refused(kvplan, "check", "--diff", "main")


def test_a_remote_branch_is_offered(
    kvplan: Run, changed: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(changed, "branch", "release")
    clone = tmp_path_factory.mktemp("clone")
    git(clone, "clone", "-q", f"file://{changed}", "here")
    monkeypatch.chdir(clone / "here")
    assert "did you mean 'origin/release'?" in refused(kvplan, "check", "--diff", "release")


def test_settings_files_and_models_are_those_of_then(changed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = "vllm serve $MODEL --max-model-len $CTX\n"
    write(changed, {"deploy/serve.sh": script, "prod.vars": "MODEL=Qwen/Qwen3-8B\nCTX=4096\n"})
    commit(changed)
    write(changed, {"prod.vars": "MODEL=Qwen/Qwen3-8B\nCTX=8192\n"})
    diff = answered(capsys, "--diff", "HEAD", "--env-file", "prod.vars")["diff"]
    assert isinstance(diff, dict)
    (change,) = diff["changes"]
    assert (change["change"], change["before"]["ctx_tokens"], change["after"]["ctx_tokens"]) == ("worse", 4096, 8192)


def test_settings_that_were_broken_then_stop_nothing(changed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(changed, {".kvplan.yaml": "gpus: l40s\n"})
    commit(changed)
    write(changed, SETTINGS)
    diff = answered(capsys, "--diff", "HEAD", code=0)["diff"]
    assert isinstance(diff, dict)
    assert (diff["changes"], diff["n_unchanged"], diff["n_known_findings"]) == ([], 4, 1)


def test_findings_of_then_do_not_name_the_folder_they_were_read_in(changed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(changed, {"m/config.json": "{", "m.sh": "vllm serve m --max-model-len 4096\n"})
    commit(changed)
    write(changed, {"m.sh": HELD})
    diff = answered(capsys, "--diff", "HEAD")["diff"]
    assert isinstance(diff, dict)
    (cured,) = diff["cured"]
    assert cured["rule"] == "KV591"
    assert cured["message"].startswith("m: ")
    assert "/tmp" not in cured["message"]
    assert "kvplan-" not in cured["message"]


def test_odd_trees_are_read_and_nothing_is_written_elsewhere(changed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (changed / "link.sh").symlink_to("deploy/same.sh")
    (changed / "out.sh").symlink_to("/etc/passwd")
    (changed / "ü b\nc.sh").write_text(HELD, encoding="utf-8")
    commit(changed)
    (changed / "ü b\nc.sh").write_text(BEYOND, encoding="utf-8")
    diff = json.loads(json.dumps(answered(capsys, "--diff", "HEAD", code=1)["diff"]))
    assert [change["after"]["file"] for change in diff["changes"]] == ["ü b\nc.sh"]
    assert not diff["cured"]


def test_answers_are_as_the_schema_says(kvplan: Run, request: pytest.FixtureRequest, changed: Path) -> None:
    golden = CASES.parent / "formats" / "schema.json"
    if request.config.getoption("--update-golden"):
        golden.write_text(schema_text(), encoding="utf-8")
    assert kvplan("check", "--json-schema").out == schema_text() == golden.read_text(encoding="utf-8")
    for argv in ((), ("--diff", "main")):
        CheckAnswer.model_validate_json(kvplan("check", *argv, "--json").out)


def test_the_steps_in_the_manual_run(changed: Path) -> None:
    git(changed, "branch", "origin/main")
    values = {"$GITHUB_BASE_REF": "main", "$CI_MERGE_REQUEST_DIFF_BASE_SHA": git(changed, "rev-parse", "HEAD")}
    steps = re.findall(r"- (?:run: )?kvplan (check --diff .*)", README)
    assert len(steps) == 2
    for step in steps:
        for name, value in values.items():
            step = step.replace(name, value)
        assert main(shlex.split(step)) == 1
    assert (changed / "kvplan.md").read_text(encoding="utf-8").startswith("## kvplan check: against origin/main...")
    assert [issue["check_name"] for issue in json.loads((changed / "quality.json").read_text(encoding="utf-8"))] == ["KV110"]
    assert "<failure" in (changed / "junit.xml").read_text(encoding="utf-8")


def test_pipelines_in_the_manual_are_yaml() -> None:
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL) if "check --diff" in block]
    assert [sorted(block, key=str) for block in blocks] == [[True, "jobs", "permissions"], ["kvplan"]]  # YAML takes `on` for a truth
