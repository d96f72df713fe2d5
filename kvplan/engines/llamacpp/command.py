"""A whole command line as flags: llama-server, llama-cli, llama-completion, llama-perplexity, llama-bench."""

from collections.abc import Mapping, Sequence

from kvplan.core.engine import Flag, Parsed
from kvplan.engines.llamacpp import bench
from kvplan.engines.llamacpp.launch import launch
from kvplan.engines.llamacpp.rules import VERSIONS, canonical
from kvplan.engines.llamacpp.words import read

APP = "app"
"""The flag that says which program runs; there is none where kvplan's own options are all that was said."""
NAME = "llama.cpp"
_MODELS = ("model", "model-url", "hf-repo", "docker-repo", "hf-file", "spec-draft-model", "spec-draft-hf")


def parse(argv: Sequence[str], env: Mapping[str, str], version: str) -> Parsed:
    """Read a command. ``version`` is empty where the user named none: then an image's tag does, else it is the newest.

    Raises RequestError for a line that starts none of llama.cpp's programs; what the program's own parser stops at is a refusal.
    """
    if tuple(argv) == (NAME,):
        return Parsed(NAME, canonical(version or VERSIONS[-1]), None)
    started = launch(argv)
    version = canonical(version or started.version or VERSIONS[-1])
    variables = {**env, **started.env}
    found = bench.read(started.words) if started.app == "bench" else read(started.words, variables, started.app, version)
    return Parsed(
        engine=NAME,
        version=version,
        model=_model(found.flags),
        flags=(Flag(APP, started.app), *(flag for flag in found.flags if flag.name not in _MODELS)),
        ignored=found.ignored,
        unknown=found.unknown,
        findings=found.findings,
        draft=_draft(found.flags),
        refusals=found.refusals,
    )


def _model(flags: Sequence[Flag]) -> str | None:
    """The model as kvplan names it: a path, an address, or a repository with the file or the quantization in it.

    Source: llama.cpp b11434 common/arg.cpp, common_params_handle_model: -hf is looked at before -m.
    """
    said = {flag.name: flag.value for flag in flags}
    repo = said.get("hf-repo")
    if repo is not None:
        name, file = repo.partition(":")[0], said.get("hf-file")
        return f"{name}:{file}" if file else repo
    return said.get("model") or said.get("model-url") or said.get("docker-repo")


def _draft(flags: Sequence[Flag]) -> str | None:
    said = {flag.name: flag.value for flag in flags}
    return said.get("spec-draft-hf") or said.get("spec-draft-model")
