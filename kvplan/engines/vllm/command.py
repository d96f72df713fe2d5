"""A whole command line as flags: ``vllm serve``, the API server's module, docker run, or Python's ``LLM(…)``."""

import json
from collections.abc import Mapping, Sequence
from itertools import chain

from kvplan.core.engine import Flag, Parsed
from kvplan.core.errors import RequestError
from kvplan.core.ledger import Finding
from kvplan.engines.vllm.flags import UNMODELED, VARIABLES
from kvplan.engines.vllm.known import known_flags
from kvplan.engines.vllm.launch import Launch, launch
from kvplan.engines.vllm.said import Said
from kvplan.engines.vllm.values import canonical, dumped
from kvplan.engines.vllm.versions import VERSIONS
from kvplan.engines.vllm.words import Read, read

ENTRY = "entry"
"""The flag that says how vLLM is started; there is none where kvplan's own options are all that was said."""


def parse(argv: Sequence[str], env: Mapping[str, str], version: str) -> Parsed:
    """Read a command. ``version`` is empty where the user named none: then an image's tag does, else it is the newest.

    Raises RequestError for a line that starts no server, and for values that vLLM's parser would refuse.
    """
    started = launch(argv)
    version = version or started.version or VERSIONS[-1]
    found = read(_called(started.words) if started.entry == "offline" else started.words, version)
    variables = {**env, **started.env}
    usage = "offline" if started.entry == "offline" else "serve"
    entry = () if started.entry == "none" else (Flag(ENTRY, started.entry), Flag("usage", usage))
    flags = (*entry, *_variables(variables), *(flag for flag in found.flags if flag.name not in ("model", "config")))
    return Parsed(
        engine="vllm",
        version=version,
        model=_model(started, found),
        flags=flags,
        ignored=(*_left(found), *(Flag(name, said) for name, said in variables.items() if _of_vllm(name) and name not in VARIABLES)),
        unknown=tuple(flag for flag, _ in found.strange),
        findings=(*_strange(found, version), *_unmodeled(found)),
        overrides=_overrides(Said(found.flags)),
    )


def config_file(argv: Sequence[str]) -> str | None:
    """The file that ``--config`` names in a command, None where it names none."""
    for i, word in enumerate(argv):
        if word == "--config" and i + 1 < len(argv):
            return argv[i + 1]
        if word.startswith("--config="):
            return word.partition("=")[2]
    return None


def with_config(argv: Sequence[str], content: Mapping[str, object]) -> tuple[str, ...]:
    """The command with the file's settings in it, where vLLM puts them: after the model, so that the line's own flags win.

    Source: vllm 0.33.0 utils/argparse_utils.py, _pull_args_from_config and load_config_file.
    """
    words = list(argv)
    at = next(i for i, word in enumerate(words) if word == "--config" or word.startswith("--config="))
    del words[at : at + (2 if words[at] == "--config" else 1)]
    serve = next((i for i, word in enumerate(words) if word == "serve"), None)
    first = next((i for i, word in enumerate(words) if word.startswith("--")), len(words)) if serve is None else serve + 1
    if serve is not None and first < len(words) and not words[first].startswith("-"):
        first += 1
        content = {key: value for key, value in content.items() if key != "model"}
    return (*words[:first], *chain.from_iterable(_as_words(key, value) for key, value in content.items()), *words[first:])


def _as_words(key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, bool):
        switch = known_flags().get(key.replace("_", "-"))
        return (f"--{key}",) if value else (f"--no-{key}",) if switch and switch.arity == "none" else ()
    if isinstance(value, list):
        return (f"--{key}", *(str(item) for item in value)) if value else ()
    return f"--{key}", json.dumps(value) if isinstance(value, dict) else str(value)


def _called(words: Sequence[str]) -> tuple[str, ...]:
    """``LLM(model="m", tensor_parallel_size=2)`` or ``LLM m tensor_parallel_size=2`` as the words of a command."""
    if "(" not in words[0]:
        pairs = [word.partition("=") for word in words[1:]]
        return tuple(chain.from_iterable(_as_words(key, value) if equals else (key,) for key, equals, value in pairs))
    import ast  # only such a call needs it

    try:
        calls = (node for node in ast.walk(ast.parse(" ".join(words))) if isinstance(node, ast.Call))
        call = next(call for call in calls if ast.unparse(call.func) in ("LLM", "vllm.LLM"))
        positional = [str(ast.literal_eval(value)) for value in call.args]
        named = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, StopIteration, RecursionError):
        raise RequestError("bad_command", f"'{' '.join(words)}' can't be read", hint="write plain values: LLM('m', dtype='half')") from None
    said = {key: value for key, value in named.items() if value is not None}
    return (*positional[:1], *chain.from_iterable(_as_words(key, value) for key, value in said.items()))


def _model(started: Launch, found: Read) -> str | None:
    """The model as the command names it; the API server takes it from --model alone."""
    named = next((flag.value for flag in reversed(found.ignored) if flag.name == "model"), None)
    return named if started.entry == "api_server" and named is not None else found.model or named


def _overrides(said: Said) -> str | None:
    """Source: vllm 0.33.0 config/model.py, hf_overrides; 0.11.0 config/model.py, rope_scaling, which goes the same way."""
    rope = said.json("rope-scaling")
    merged = {**({"rope_scaling": rope} if rope else {}), **said.json("hf-overrides")}
    return dumped(merged) if merged else None


def _left(found: Read) -> tuple[Flag, ...]:
    return tuple(flag for flag in found.ignored if flag.name not in ("model", *UNMODELED))


def _variables(env: Mapping[str, str]) -> tuple[Flag, ...]:
    return tuple(Flag(name, canonical(name, kind, env[name])) for name, kind in VARIABLES.items() if env.get(name))


def _of_vllm(name: str) -> bool:
    return name.startswith("VLLM_")


def _strange(found: Read, version: str) -> tuple[Finding, ...]:
    return tuple(
        Finding("KV210", "warning", f"vLLM {version} doesn't know '{flag.name}': it would not start", hint) for flag, hint in found.strange
    )


def _unmodeled(found: Read) -> tuple[Finding, ...]:
    names = dict.fromkeys(flag.name for flag in (*found.flags, *found.ignored) if flag.name in UNMODELED)
    return tuple(Finding("KV211", "warning", f"--{name} bears on memory and is not followed: {UNMODELED[name]}") for name in names)
