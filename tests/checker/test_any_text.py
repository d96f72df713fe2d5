"""Whatever stands in a file, a check ends with an answer."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvplan.checker import scripts
from kvplan.checker.check import check
from kvplan.checker.config import Config
from kvplan.checker.server import Text, Unreadable, Word
from kvplan.checker.variables import Style, expand, left_in
from kvplan.checker.yaml_nodes import Node, documents

WORDS = st.sampled_from(
    (
        *("vllm", "serve", "llama-server", "-m", "a.gguf", "--max-model-len", "--max-model-len=$X", "-tp", "2", "8192", "32k", "-c", "-np"),
        *(
            "docker",
            "run",
            "--gpus",
            "all",
            "vllm/vllm-openai:v0.11.0",
            "--model",
            "Qwen/Qwen3-8B",
            "bash",
            "-c",
            "'",
            '"',
            "$(",
            "${X:-",
            "}",
        ),
        *(
            "$X",
            "$$",
            "\\\n",
            "\n",
            "&&",
            "&",
            ";",
            "(",
            ")",
            "<<EOF",
            "EOF",
            "<<<",
            ">",
            "if",
            "then",
            "fi",
            "for",
            "in",
            "do",
            "done",
            "{",
        ),
        *(
            "A=(",
            "A+=",
            "f()",
            "f",
            "export",
            "X=1",
            "ollama",
            "#",
            "`",
            "[",
            "*",
            "é",
            "\t",
            "--kv-cache-dtype",
            "fp8",
            "-1",
            "0",
            "{{x}}",
        ),
    )
)
LINES = st.lists(WORDS, max_size=40).map(" ".join)
YAML = st.sampled_from(
    (
        *(
            "services:",
            "  a:",
            "    image: vllm/vllm-openai:latest",
            "    command: --model $X",
            "    command: [",
            "  - &a [*a]",
            "  <<: *a",
        ),
        *(
            "kind: Deployment",
            "spec:",
            "  containers:",
            "  - image: vllm",
            "    args: ['--model', '$(X)']",
            "    resources: {limits: {a: 1}}",
        ),
        *("models:", "  m: {model: ai/x, context_size: y}", "---", "<<<<<<< a", "max-model-len: 8", "max-num-seqs: {a: b}", "{{ x }}"),
        *(
            "    environment: [A=1, B]",
            "    environment: {A: {b: c}}",
            "    gpus: all",
            "    entrypoint: bash -c 'vllm serve x'",
            "a: b: c",
        ),
        *("modelSpec: [{vllmConfig: {maxModelLen: x}}]", "apiVersion: serving.kserve.io/v1beta1", "llm_configs: [1, {engine_kwargs: 3}]"),
    )
)
NAMES = st.sampled_from(("a.sh", "a.bat", "Dockerfile", "compose.yaml", "a.yaml", "Modelfile", "a.ini", "run", "a.py", "a.json", ".env"))
DOCKER = st.sampled_from(
    ("FROM vllm/vllm-openai:latest\n", 'CMD ["vllm", "serve"', "ENTRYPOINT ", "ENV A=$B ", "ARG B\n", "]\n", "\\\n", "CMD ")
)
TEXTS = st.one_of(
    LINES, st.lists(YAML, max_size=12).map("\n".join), st.lists(st.one_of(DOCKER, WORDS), max_size=12).map("".join), st.text()
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(NAMES, TEXTS)
def test_every_file_gets_an_answer(name: str, text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(text.encode("utf-8", "replace"))
        report = check([folder], Config(gpu="none", root=Path(folder)))
    for case in report.cases:
        assert case.server.line >= 1
        assert case.reading.engine


@settings(max_examples=300, deadline=None)
@given(st.one_of(LINES, st.text(st.sampled_from("$(){}`'\"\\<>&|;#= \nabA1:-"), max_size=80)))
def test_scripts_end(text: str) -> None:
    lines = text.count("\n") + 1
    for i, run in enumerate(scripts.commands(Word(text, 1), {"X": "1 2"})):
        assert i < 20_000
        assert run.words
        assert all(1 <= word.line <= lines for word in run.words)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("${}:-+?=AB()%19 \\"), max_size=60))
def test_variables_end(text: str) -> None:
    styles: tuple[Style, ...] = ("shell", "compose", "kubernetes", "batch")
    for style in styles:
        found = expand(text, {"A": "$A${A}", "1": "x"}, style)
        assert len(found.text) <= 100_000
    left_in(text)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.lists(YAML, max_size=12).map("\n".join), st.text(st.sampled_from("ab:-[]{}&*<|>'\"# \n!%@`"), max_size=60)))
def test_documents_end(text: str) -> None:
    for found in documents(Text("a.yaml", text)):
        assert found.line >= 1
        assert isinstance(found, Node | Unreadable)
