"""Every format of clusters and wrappers on small files of its shape: what is found in them, and nothing else."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from kvplan.checker.case import Case
from kvplan.checker.check import check
from kvplan.checker.config import Config
from kvplan.checker.option_files import with_files
from kvplan.checker.report import Report
from kvplan.checker.server import Word
from kvplan.checker.variables import expand

DATA = Path(__file__).parent.parent / "data" / "check"
KEYS = ("name", "engine", "model", "ctx", "concurrency", "tp", "pp", "dp", "gpus", "n_gpus", "replicas")

# file: name, engine, model, context, concurrency, tp, pp, dp, cards, how many, replicas
EXPECTED = """
k8s/broken.yaml: whole llama.cpp ggml-org/gemma-3-4b-it-GGUF 8192 2 1 1 1 - 1 1
k8s/configmap.yaml: scripted vllm Qwen/Qwen3-8B - 32 2 1 1 - 2 1
k8s/deployment.yaml: chat vllm Qwen/Qwen2.5-7B-Instruct 16384 24 1 1 1 l40s 1 3
k8s/helm.yaml: vllm vllm - 4096 - 1 1 1 - - 1
k8s/kustomization.yaml: patched vllm Qwen/Qwen3-8B 4096 - 1 1 1 - - 1
k8s/list.yaml: nightly sglang Qwen/Qwen3-8B 8192 - 2 1 1 l4,t4 2 1
k8s/list.yaml: two vllm Qwen/Qwen3-0.6B - - 1 1 1 - 1 1
k8s/list.yaml: two vllm BAAI/bge-m3 - - 1 1 1 - - 1
k8s/lws.yaml: big vllm deepseek-ai/DeepSeek-R1 - - 8 2 1 h100-sxm 16 2
k8s/nodes.yaml: k3 sglang moonshotai/Kimi-K3 - 512 16 1 1 - 16 1
kserve/runtime.yaml: vllm-runtime vllm - - - 2 1 1 - - 1
kserve/service.yaml: granite vllm ibm-granite/granite-3.1-8b-instruct 8192 - 2 1 1 a100-80 2 2
kserve/service.yaml: llama3 vllm meta-llama/Meta-Llama-3-8B-Instruct 4096 - 1 1 1 - 1 1
stack/application.yaml: argo vllm Qwen/Qwen3-8B 4096 - 1 1 1 - 1 1
stack/values.yaml: qwen vllm Qwen/Qwen3-8B 16384 48 2 1 1 a10 2 2
stack/values.yaml: ray vllm Qwen/Qwen3-32B - - 4 3 1 - 12 1
ray/serve.yaml: qwen vllm Qwen/Qwen3-32B 32768 16 4 1 1 l40s 4 2
ray/serve.yaml: - vllm Qwen/Qwen3-8B - - 1 1 1 a10g 1 1
ray/serve.yaml: - vllm Qwen/Qwen3-8B - - 1 1 1 a10g 2 1
ray/service.yaml: - vllm Qwen/Qwen2.5-7B-Instruct 1024 - 1 1 1 l4 1 1
swap/config.yaml: chat llama.cpp unsloth/Qwen3-14B-GGUF:Q4_K_M 32768 2 1 1 1 - 1 1
swap/config.yaml: small llama.cpp - 16384 - 1 1 1 - - 1
swap/config.yaml: contained llama.cpp /models/embed.gguf 2048 - 1 1 1 - - 1
llamacpp/models.ini: chat llama.cpp /models/Qwen3-8B-Q4_K_M.gguf 32768 4 1 1 1 - - 1
llamacpp/models.ini: ggml-org/gemma-3-4b-it-GGUF:Q4_K_M llama.cpp ggml-org/gemma-3-4b-it-GGUF:Q4_K_M 8192 - 1 1 1 - - 1
llamacpp/models.ini: wrong llama.cpp path:·/models/x.gguf 8192 - 1 1 1 - - 1
ollama/Modelfile: - ollama unsloth/Qwen3-8B-GGUF:Q4_K_M 16384 - 1 1 1 - - 1
ollama/ollama.service: ollama ollama - 32768 4 1 1 1 - - 1
ollama/settings.sh: - ollama - 4096 - 1 1 1 - - 1
units/llama.service: llama llama.cpp /models/Qwen3-14B-Q4_K_M.gguf 32768 2 1 1 1 - 2 1
units/vllm.container: vllm vllm Qwen/Qwen3-8B 8192 - 1 1 1 - - 1
second/dynamo.yaml: Worker vllm Qwen/Qwen3-32B 16384 - 8 1 1 - 8 2
second/kaito.yaml: phi vllm microsoft/phi-4 16384 - 2 2 1 a100-80-pcie 4 1
second/llmisvc.yaml: pd vllm Qwen/Qwen3-30B-A3B 8192 - 1 1 16 - 16 1
second/llmisvc.yaml: pd-prefill vllm Qwen/Qwen3-30B-A3B - 4 2 1 1 - 2 1
second/modelservice.yaml: decode vllm Qwen/Qwen3-0.6B 4096 - 2 1 1 - 2 1
second/scenario.yaml: decode vllm Qwen/Qwen3-8B 16000 - 2 1 1 h100-sxm 2 2
second/service.py: Chat vllm Qwen/Qwen2.5-7B-Instruct 4096 12 1 1 1 l4 1 1
second/sky.yaml: sky vllm Qwen/Qwen3-8B 8192 - 2 1 1 l4,a10g 2 2
second/sky-nodes.yaml: deepseek-r1 sglang deepseek-ai/DeepSeek-R1 - - 16 1 1 h200,h100-sxm,a100-80 16 1
second/trtllm.yaml: TrtllmWorker tensorrt-llm deepseek-ai/DeepSeek-R1 16384 64 8 1 1 - 8 1
second/vllmruntime.yaml: runtime vllm Qwen/Qwen3-8B 4096 - 2 1 1 - 2 2
"""
LM_STUDIO = "second/user-concrete-model-default-config/lmstudio-community/Qwen3-8B-GGUF/Qwen3-8B-Q4_K_M.gguf.json"


@pytest.fixture(scope="module")
def report() -> Report:
    return check([str(DATA)], Config(gpu="none"))


def _said(case: Case) -> tuple[str, ...]:
    reading = case.reading
    cards = ",".join(tried.gpu.gpu for tried in case.tried if tried.gpu)
    model = reading.model.text.replace(" ", "·") if reading.model else None
    found = (case.server.name, reading.engine, model, reading.ctx_tokens, reading.concurrency, reading.tp, reading.pp, reading.dp)
    counted = case.tried[0].n_gpus if case.tried else None
    return tuple("-" if value in (None, "") else str(value) for value in (*found, cards, counted, case.server.replicas))


def _by_file(report: Report) -> Mapping[str, list[tuple[str, ...]]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    for case in report.cases:
        found.setdefault(case.server.file.partition("data/check/")[2] or case.server.file, []).append(_said(case))
    return found


def _expected() -> Mapping[str, list[tuple[str, ...]]]:
    wanted: dict[str, list[tuple[str, ...]]] = {}
    for line in EXPECTED.strip().splitlines():
        file, _, rest = line.partition(": ")
        wanted.setdefault(file, []).append(tuple(rest.split()))
    return wanted


@pytest.mark.parametrize("file", _expected())
def test_what_a_file_deploys(report: Report, file: str) -> None:
    assert sorted(_by_file(report).get(file, [])) == sorted(_expected()[file])


def test_nothing_else_is_found(report: Report) -> None:
    assert set(_by_file(report)) == {*_expected(), LM_STUDIO}


def _case(report: Report, file: str, name: str | None = None) -> Case:
    return next(case for case in report.cases if case.server.file.endswith(file) and name in (None, case.server.name))


def test_a_model_of_lm_studio_is_named_by_its_path(report: Report) -> None:
    case = _case(report, LM_STUDIO)
    assert (case.reading.engine, case.reading.ctx_tokens) == ("llama.cpp", 32768)
    assert [word.text for word in case.server.command if word.text.startswith("-")] == ["-m", "-c", "-ngl", "-ctk"]


def test_broken_documents_lose_only_themselves(report: Report) -> None:
    unreadable = {(one.file.rpartition("/")[2], one.line) for one in report.found if one.rule == "KV593"}
    assert unreadable == {("broken.yaml", 4), ("broken.yaml", 6), ("models.ini", 18)}


def test_what_a_manifest_says_beside_the_command(report: Report) -> None:
    server = _case(report, "k8s/deployment.yaml").server
    assert server.host_memory is not None
    assert (server.host_memory.text, server.host_memory.line) == ("48Gi", 33)
    assert server.shared_memory is None
    ctx = next(word for word in server.command if word.text == "--max-model-len")
    assert ctx.line == 23


def test_a_mig_resource_is_a_slice(report: Report) -> None:
    assert [word.text for word in _case(report, "k8s/broken.yaml").server.gpus.names] == ["MIG-1g.5gb"]


def test_labels_that_say_nothing_are_kept_for_the_projects_map(report: Report) -> None:
    assert [word.text for word in _case(report, "k8s/configmap.yaml").server.gpus.names] == ["workload=inference"]
    mapped = check([str(DATA / "k8s/configmap.yaml")], Config(gpu="none", label_map={"workload=inference": "l4"}))
    assert mapped.cases[0].tried[0].gpu is not None


def test_containers_that_share_a_card_are_together(report: Report) -> None:
    together = [case.server.co_located for case in report.cases if case.server.file.endswith("k8s/list.yaml")]
    assert together == [None, "the pod of two", "the pod of two"]


def test_groups_of_llama_swap_are_together(report: Report) -> None:
    found = {case.server.name: case.server.co_located for case in report.cases if case.server.file.endswith("swap/config.yaml")}
    assert found == {"chat": "group pair", "small": "group pair", "contained": None}


def test_variables_without_a_value_are_named(report: Report) -> None:
    assert _case(report, "k8s/helm.yaml").unresolved == ("gpus", "repository", "tag", "model")
    assert set(_case(report, "second/scenario.yaml").unresolved) == {"MODEL_PATH", "OTHER"}
    assert _case(report, "swap/config.yaml", "small").unresolved == ("MODELS",)


def test_given_variables_are_resolved() -> None:
    given = check([str(DATA / "k8s/helm.yaml")], Config(gpu="none", set={"model": "Qwen/Qwen3-8B", "gpus": 2}))
    reading, server = given.cases[0].reading, given.cases[0].server
    assert reading.model is not None
    assert (reading.model.text, server.gpus.n_gpus) == ("Qwen/Qwen3-8B", 2)


def test_a_runtime_is_joined_from_another_file_and_stands_where_it_is_named(report: Report) -> None:
    server = _case(report, "kserve/service.yaml", "granite").server
    tp = next(word for word in server.command if word.text == "--tensor-parallel-size=2")
    assert tp.line == 10
    assert server.image is not None
    assert server.image.text.startswith("quay.io/modh/vllm")


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(($A * ${B}))", "16"),
        ("$((A*B + 1))", "17"),
        ("$((B/A))", "4"),
        ("$((A*C))", "$((A*C))"),
        ("$((A**2))", "$((A**2))"),
        ("$((", "$(("),
    ],
)
def test_sums_in_shells(text: str, expanded: str) -> None:
    assert expand(text, {"A": "2", "B": "8"}).text == expanded


def test_a_file_of_options_takes_the_place_of_the_option() -> None:
    files = {"/etc/vllm.yaml": "max-model-len: 4096\nenable_prefix_caching: true\ndtype: half\n"}
    words = [Word(text, 3) for text in ("vllm", "serve", "M", "--config", "/etc/vllm.yaml", "--dtype", "bfloat16")]
    said = [word.text for word in with_files(words, files)]
    assert said == ["vllm", "serve", "M", "--max-model-len", "4096", "--enable-prefix-caching", "--dtype", "half", "--dtype", "bfloat16"]
    script = with_files([Word("vllm serve M --config=/etc/vllm.yaml --port 1", 3)], files)
    assert script[0].text == "vllm serve M --max-model-len 4096 --enable-prefix-caching --dtype half --port 1"
