"""Scripted pull requests: what each does to the servers of a repository."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from kvplan.checker.changes import Change
from kvplan.checker.report import Report
from kvplan.differ import check_diff
from kvplan.estimator import Options, answer
from tests.differ.repository import needs_git, repository, write

pytestmark = needs_git
SETTINGS = {".kvplan.yaml": "gpu: l40s\n"}
SCRIPT = "vllm serve meta-llama/Llama-2-7b-hf --max-model-len {ctx} --port 8000\n"
CHAT = """apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  template:
    spec:
      nodeSelector: {{nvidia.com/gpu.product: NVIDIA-L40S}}
      containers:
        - name: vllm
          image: vllm/vllm-openai:{tag}
          args: [--model, {model}, --max-model-len, "{ctx}"]
          resources: {{limits: {{nvidia.com/gpu: 1, memory: 64Gi}}}}
"""
COMPOSE = """services:
  chat:
    image: vllm/vllm-openai:v0.33.0
    command: --model ${MODEL} --max-model-len ${CTX:-4096}
    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}}}
"""
SERVICE = """apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: chat}
spec:
  predictor:
    model:
      modelFormat: {name: vLLM}
      runtime: vllm
      args: [--max-model-len=8192]
      storageUri: hf://Qwen/Qwen3-8B
      resources: {limits: {nvidia.com/gpu: 1}}
"""
RUNTIME = """apiVersion: serving.kserve.io/v1alpha1
kind: ServingRuntime
metadata: {{name: vllm}}
spec:
  supportedModelFormats: [{{name: vLLM}}]
  containers:
    - name: kserve-container
      image: vllm/vllm-openai:v0.33.0
      command: [vllm, serve, Qwen/Qwen3-8B]
      args: ["--gpu-memory-utilization={share}"]
"""


def chat(name: str = "chat", tag: str = "v0.33.0", model: str = "Qwen/Qwen3-8B", ctx: int = 8192) -> str:
    return CHAT.format(name=name, tag=tag, model=model, ctx=ctx)


class PullRequest(NamedTuple):
    before: Mapping[str, str]
    change: Mapping[str, str | None]
    expected: list[str]
    brought: tuple[str, ...] = ()


PULL_REQUESTS = {
    "a context beyond the model's": PullRequest(
        {"serve.sh": SCRIPT.format(ctx=4096)}, {"serve.sh": SCRIPT.format(ctx=8192)}, ["worse serve.sh - by KV110"], ("KV110",)
    ),
    "a context that halves what runs at once": PullRequest(
        {"k8s/chat.yaml": chat(ctx=8192)}, {"k8s/chat.yaml": chat(ctx=16384)}, ["worse k8s/chat.yaml chat by max_concurrency"]
    ),
    "a cache in 8 bits": PullRequest(
        {"serve.sh": SCRIPT.format(ctx=4096)},
        {"serve.sh": SCRIPT.format(ctx=4096).replace("--port", "--kv-cache-dtype fp8 --port")},
        ["better serve.sh - by max_concurrency"],
    ),
    "a limit that cures": PullRequest(
        {"serve.sh": SCRIPT.format(ctx=8192)}, {"serve.sh": SCRIPT.format(ctx=4096)}, ["better serve.sh - by verdict"]
    ),
    "another port": PullRequest(
        {"serve.sh": SCRIPT.format(ctx=4096)}, {"serve.sh": SCRIPT.format(ctx=4096).replace("8000", "9000")}, ["neutral serve.sh - by None"]
    ),
    "a new server that does not start": PullRequest(
        {"a.sh": SCRIPT.format(ctx=8192)},
        {"k8s/big.yaml": chat("big", model="Qwen/Qwen3-32B")},
        ["new k8s/big.yaml big by None"],
        ("KV105",),
    ),
    "a server less": PullRequest(
        {"serve.sh": SCRIPT.format(ctx=8192), "k8s/chat.yaml": chat()}, {"serve.sh": None}, ["removed serve.sh - by None"]
    ),
    "a model that nobody knows": PullRequest(
        {"k8s/chat.yaml": chat()}, {"k8s/chat.yaml": chat(model="ours/private-7b")}, ["unresolvable k8s/chat.yaml chat by None"], ("KV591",)
    ),
    "another version of the image": PullRequest(
        {"k8s/chat.yaml": chat(tag="v0.19.0")}, {"k8s/chat.yaml": chat()}, ["neutral k8s/chat.yaml chat by None 0.19.0→0.33.0"]
    ),
    "an included file": PullRequest(
        {"compose.yaml": COMPOSE, ".env": "MODEL=Qwen/Qwen3-8B\n"},
        {".env": "MODEL=Qwen/Qwen3-14B\n"},
        ["worse compose.yaml chat by max_concurrency"],
    ),
    "a file of variables elsewhere": PullRequest(
        {
            "a/compose.yaml": COMPOSE.replace("deploy:", "env_file: ../base/gpu.env\n    deploy:", 1),
            "base/gpu.env": "VLLM_ATTENTION_BACKEND=A\n",
        },
        {"base/gpu.env": "VLLM_ATTENTION_BACKEND=B\n"},
        ["unresolvable a/compose.yaml chat by None"],
    ),
    "a runtime in another file": PullRequest(
        {"services/chat.yaml": SERVICE, "runtimes/vllm.yaml": RUNTIME.format(share="0.9")},
        {"runtimes/vllm.yaml": RUNTIME.format(share="0.7")},
        ["worse runtimes/vllm.yaml vllm by max_concurrency", "worse services/chat.yaml chat by max_concurrency"],
    ),
    "a file of the engine's settings": PullRequest(
        {"serve.sh": "vllm serve Qwen/Qwen3-8B --config settings.yaml\n", "settings.yaml": "max-model-len: 16384\nkv-cache-dtype: fp8\n"},
        {"settings.yaml": "max-model-len: 16384\n"},
        ["worse serve.sh - by max_concurrency"],
    ),
    "a renamed file with a longer context": PullRequest(
        {"k8s/chat.yaml": chat(ctx=8192)},
        {"k8s/chat.yaml": None, "deploy/assistant.yaml": chat(name="assistant", ctx=16384)},
        ["worse deploy/assistant.yaml assistant by max_concurrency was k8s/chat.yaml"],
    ),
    "a server moved into another file": PullRequest(
        {"a.yaml": chat("one"), "b.yaml": chat("two")},
        {"a.yaml": None, "b.yaml": chat("two") + "---\n" + chat("one", ctx=4096)},
        ["better b.yaml one by max_concurrency was a.yaml"],
    ),
    "several servers of one file": PullRequest(
        {"all.yaml": "---\n".join((chat("a"), chat("b"), chat("c"), chat("d")))},
        {"all.yaml": "---\n".join((chat("e", ctx=4096, model="Qwen/Qwen3-4B"), chat("a"), chat("b", ctx=16384), chat("d", ctx=4096)))},
        [
            "worse all.yaml b by max_concurrency",
            "new all.yaml e by None",
            "better all.yaml d by max_concurrency",
            "removed all.yaml c by None",
        ],
    ),
    "several servers without names": PullRequest(
        {"serve.sh": SCRIPT.format(ctx=1024) + SCRIPT.format(ctx=4096)},
        {"serve.sh": "# the long one alone\n" + SCRIPT.format(ctx=4096)},
        ["removed serve.sh - by None"],
    ),
    "a comment": PullRequest({"serve.sh": SCRIPT.format(ctx=8192)}, {"serve.sh": "# chat\n" + SCRIPT.format(ctx=8192)}, []),
    "other cards of the project": PullRequest(
        {"serve.sh": SCRIPT.format(ctx=4096)}, {".kvplan.yaml": "gpu: l4\n"}, ["worse serve.sh - by max_concurrency"]
    ),
    "a document that breaks": PullRequest(
        {"a.yaml": chat("one")}, {"a.yaml": chat("one") + "---\nkind: Pod\ncontainers: [vllm\n"}, [], ("KV593",)
    ),
}


def told(change: Change) -> str:
    case = change.after or change.before
    assert case is not None
    moved = change.before and change.after and change.before.server.file != change.after.server.file
    was = f" was {change.before.server.file}" if moved and change.before else ""
    upgrade = f" {change.upgrade.before}→{change.upgrade.after}" if change.upgrade else ""
    return f"{change.kind} {case.server.file} {case.server.name or '-'} by {change.decided_by}{was}{upgrade}"


def diffed(folder: Path, request: PullRequest) -> Report:
    repository(folder, {**SETTINGS, **request.before})
    write(folder, request.change)
    return check_diff("main", str(folder))


@pytest.mark.parametrize("name", PULL_REQUESTS)
def test_a_pull_request_is_classified(tmp_path: Path, name: str) -> None:
    request = PULL_REQUESTS[name]
    report = diffed(tmp_path, request)
    assert report.diff is not None
    assert [told(change) for change in report.diff.changes] == request.expected
    assert [one.rule for one in report.found if one.level != "note" or one.rule.startswith("KV59")] == list(request.brought)


def test_what_was_there_before_is_known_and_counted(tmp_path: Path) -> None:
    report = diffed(tmp_path, PULL_REQUESTS["a comment"])
    assert report.diff is not None
    assert (report.diff.n_unchanged, report.diff.n_known, len(report.found)) == (1, 1, 0)
    assert [(one.found.rule, one.reason) for one in report.suppressed] == [("KV110", "known at main")]


def test_an_upgrade_is_told_apart_from_what_comes_with_it(tmp_path: Path) -> None:
    request = PullRequest({"k8s/chat.yaml": chat(tag="v0.19.0")}, {"k8s/chat.yaml": chat(ctx=32768)}, [])
    (change,) = diffed(tmp_path, request).diff.changes  # type: ignore[union-attr]  # a diff was asked for
    assert change.kind == "worse"
    assert change.upgrade is not None
    figures = {one.name: (one.before, one.after) for one in change.upgrade.figures}
    assert change.upgrade.is_known
    command = ("vllm", "serve", "Qwen/Qwen3-8B", "--max-model-len", "32768")
    asked = (Options(model="qwen3-8b", command=command, engine=f"vllm@{version}", gpu="l40s", gpus="1") for version in ("0.19.0", "0.33.0"))
    before, after = (answer(one).capacity for one in asked)
    assert before is not None
    assert after is not None
    assert before.max_concurrency is not None
    assert after.max_concurrency is not None
    assert figures["max_concurrency"] == (before.max_concurrency[1], after.max_concurrency[1])
    assert "activations" in {one.name for one in change.upgrade.terms}


def test_an_upgrade_from_a_version_that_is_not_modeled_is_said_and_not_guessed(tmp_path: Path) -> None:
    request = PullRequest({"k8s/chat.yaml": chat(tag="v0.2.0")}, {"k8s/chat.yaml": chat()}, [])
    (change,) = diffed(tmp_path, request).diff.changes  # type: ignore[union-attr]  # a diff was asked for
    assert change.kind == "unresolvable"
    assert change.upgrade is None or not change.upgrade.is_known
