"""Chats as text: a plain rendering, or the model's own chat template in jinja2's sandbox."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from kvplan.core.errors import RequestError
from kvplan.prefixes.request import Message, Request

Render = Callable[[Request], str]
_FIXED_DAY = 1767225600.0  # 2026-01-01, for templates that print the day where a request has no time
_SPECIALS = ("bos_token", "eos_token", "pad_token", "unk_token")


def plain(request: Request) -> str:
    """Tools first, then each message after its role's marker, keys as they came; at the end the marker of the answer."""
    tools = "".join(f"{tool.json}\n" for tool in request.tools)
    head = f"<|tools|>\n{tools}<|end|>\n" if tools else ""
    answer = "" if request.messages[-1].role == "assistant" else "<|assistant|>\n"
    return head + "".join(f"<|{role}|>\n{text}{extra}<|end|>\n" for role, text, extra in request.messages) + answer


class Template(NamedTuple):
    """A chat template and the words that it may use."""

    source: str
    words: dict[str, str]

    def rendering(self) -> Render:
        """The template as a function of a request."""
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _refuse
        compiled = environment.from_string(self.source)

        def render(request: Request) -> str:
            moment = datetime.fromtimestamp(request.time or _FIXED_DAY, UTC)
            try:
                return compiled.render(
                    messages=[_as_dict(message) for message in request.messages],
                    tools=[json.loads(tool.json) for tool in request.tools] or None,
                    add_generation_prompt=request.messages[-1].role != "assistant",
                    strftime_now=moment.strftime,
                    **self.words,
                )
            except Exception as problem:  # whatever a template of somebody else's does
                raise RequestError(
                    "bad_template",
                    f"line {request.line}: the chat template does not render it: {problem}",
                    hint="--rendering plain does without the template",
                ) from None

        return render


def template(folder: Path) -> Template | None:
    """The chat template of a model's directory: chat_template.jinja, or that of tokenizer_config.json; None where there is none."""
    config_file, own = folder / "tokenizer_config.json", folder / "chat_template.jinja"
    try:
        config = json.loads(config_file.read_text(encoding="utf-8")) if config_file.is_file() else {}
        source = own.read_text(encoding="utf-8") if own.is_file() else config.get("chat_template")
    except (OSError, ValueError) as problem:
        raise RequestError("bad_file", f"{config_file}: {problem}", hint="--rendering plain does without it") from None
    if isinstance(source, list):  # several by name
        source = next((one.get("template") for one in source if one.get("name") == "default"), None)
    if not isinstance(source, str):
        return None
    return Template(source, {key: _special(config[key]) for key in _SPECIALS if config.get(key)})


def _special(found: object) -> str:
    return str(found.get("content", "")) if isinstance(found, dict) else str(found)


def _as_dict(message: Message) -> dict[str, object]:
    return {"role": message.role, "content": message.text, **(json.loads(message.extra) if message.extra else {})}


def _to_json(value: object, indent: int | None = None, **_: object) -> str:
    """Without the escapes for HTML that jinja2's own has."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> None:
    raise ValueError(message)
