"""A line of a log as a request: bodies of OpenAI's chat and completion endpoints, prompts, ids of tokens."""

from array import array
from collections.abc import Mapping, Sequence
from json import dumps

from kvplan.core.errors import RequestError
from kvplan.core.units import MAX_COUNT
from kvplan.prefixes.moments import seconds
from kvplan.prefixes.request import Message, Request, Tool

_IDS = ("prompt_token_ids", "token_ids", "input_ids", "tokens")
_TEXTS = ("prompt", "text", "input")
_SESSIONS = ("session", "session_id", "conversation_id", "conversation", "chat_id")
_USERS = ("user", "user_id")
_TIMES = ("time", "timestamp", "created", "created_at")
_ANSWERS = ("answer", "response", "output", "completion")
_LENGTHS = ("output_tokens", "completion_tokens", "output_length")
EXPECTED = 'a chat {"messages": [...]}, a completion {"prompt": "..."}, {"prompt_token_ids": [1, 2]}, a text "..." or ids [1, 2]'


class Malformed(ValueError):
    """A line that holds no request, in words for people."""


def request(found: object, line: int) -> Request:
    """The request that a line's JSON describes. Raises Malformed with what was expected."""
    if isinstance(found, str):
        return Request(line, text=_said(found, "the line"))
    if isinstance(found, list):
        return Request(line, ids=_prompt_ids(found, "the line"))
    if not isinstance(found, dict):
        raise Malformed(f"expected {EXPECTED}; found {_shown(found)}")
    body = next((found[key] for key in ("body", "request") if isinstance(found.get(key), dict)), found)
    both = {**found, **body} if body is not found else found
    length = _length(both)
    return _prompt(body, line)._replace(
        answer=_answer(both),
        n_output=length,
        session=_name(both, _SESSIONS),
        user=_name(both, _USERS),
        time=seconds(next((both[key] for key in _TIMES if both.get(key) is not None), None)),
        apart=(_name(both, ("model",)), _name(both, ("cache_salt",))),
    )


def _prompt(body: Mapping[str, object], line: int) -> Request:
    messages = body.get("messages")
    if messages is None and isinstance(body.get("input"), list) and body["input"] and isinstance(body["input"][0], dict):  # type: ignore[index]
        messages = body["input"]
    if messages is not None:
        return _chat(body, messages, line)
    for key in _IDS:
        if key in body:
            return Request(line, ids=_prompt_ids(body[key], f"'{key}'"))
    for key in _TEXTS:
        found = body.get(key)
        if isinstance(found, str):
            return Request(line, text=_instructed(body, _said(found, f"'{key}'")))
        if isinstance(found, list):
            if len(found) == 1 and isinstance(found[0], str | list):
                return _prompt({key: found[0]}, line)
            return Request(line, ids=_prompt_ids(found, f"'{key}'"))
    raise Malformed(f"expected {EXPECTED}; found the keys {', '.join(map(repr, list(body)[:8])) or 'of nothing'}")


def _said(text: str, where: str) -> str:
    if not text:
        raise Malformed(f"{where}: expected a prompt; found an empty text")
    return text


def _instructed(body: Mapping[str, object], text: str) -> str:
    """A completion of the responses endpoint has its system text apart."""
    instructions = body.get("instructions")
    return f"{instructions}\n{text}" if isinstance(instructions, str) else text


def _chat(body: Mapping[str, object], messages: object, line: int) -> Request:
    if not isinstance(messages, list) or not messages:
        raise Malformed(f"'messages': expected a list of messages; found {_shown(messages)}")
    head = next((body[key] for key in ("system", "instructions") if isinstance(body.get(key), str)), None)
    read = [_message(message, f"messages[{i}]") for i, message in enumerate(messages)]
    system = (Message("system", str(head)),) if head is not None else ()
    return Request(line, messages=(*system, *(message for message, _ in read)), tools=_tools(body), n_media=sum(n for _, n in read))


def _message(found: object, where: str) -> tuple[Message, int]:
    if not isinstance(found, dict) or not isinstance(found.get("role"), str):
        raise Malformed(f"'{where}': expected an object with a role; found {_shown(found)}")
    content, n_media = found.get("content"), 0
    if isinstance(content, list):
        parts = [_part(part, f"{where}.content") for part in content]
        text, n_media = "".join(words for words, _ in parts), sum(n for _, n in parts)
    elif content is None or isinstance(content, str):
        text = content or ""
    else:
        raise Malformed(f"'{where}.content': expected text or a list of parts; found {_shown(content)}")
    rest = {key: value for key, value in found.items() if key not in ("role", "content") and value is not None}
    return Message(found["role"], text, dumps(rest, ensure_ascii=False) if rest else ""), n_media


def _part(part: object, where: str) -> tuple[str, int]:
    """The text of a part of a message, and whether it is a picture or a sound."""
    if isinstance(part, str):
        return part, 0
    if not isinstance(part, dict):
        raise Malformed(f"'{where}': expected parts that are objects; found {_shown(part)}")
    text = part.get("text")
    return (text, 0) if isinstance(text, str) else (dumps(part, ensure_ascii=False), 1)


def _tools(body: Mapping[str, object]) -> tuple[Tool, ...]:
    found = body.get("tools", body.get("functions"))
    if found is None:
        return ()
    if not isinstance(found, list):
        raise Malformed(f"'tools': expected a list; found {_shown(found)}")
    return tuple(Tool(_tool_name(tool), dumps(tool, ensure_ascii=False)) for tool in found)


def _tool_name(tool: object) -> str:
    if not isinstance(tool, dict):
        raise Malformed(f"'tools': expected objects; found {_shown(tool)}")
    inner = tool.get("function")
    return str((inner if isinstance(inner, dict) else tool).get("name", ""))


def _prompt_ids(found: object, where: str) -> bytes:
    ids = _ids(found, where)
    if not ids:
        raise Malformed(f"{where}: expected at least one token; found none")
    return ids


def _ids(found: object, where: str) -> bytes:
    """Ids of tokens as bytes, four each."""
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise Malformed(f"{where}: expected a list of token ids; found {_shown(found)}")
    try:
        return array("I", found).tobytes()
    except (TypeError, OverflowError, ValueError):
        odd = next((one for one in found if isinstance(one, bool) or not isinstance(one, int) or not 0 <= one < 2**32), None)
        raise Malformed(f"{where}: expected token ids, whole numbers from 0 to 4294967295; found {_shown(odd)}") from None


def _answer(both: Mapping[str, object]) -> str | bytes | None:
    """What was written: text, ids, or what the endpoint returned."""
    if "output_token_ids" in both:
        return _ids(both["output_token_ids"], "'output_token_ids'")
    found: object = next((both[key] for key in _ANSWERS if both.get(key) is not None), None)
    found = found.get("body", found) if isinstance(found, dict) else found
    if isinstance(found, dict) and isinstance(found.get("choices"), list) and found["choices"] and isinstance(found["choices"][0], dict):
        choice = found["choices"][0]
        found = choice.get("text", choice.get("message"))
    found = found.get("content") if isinstance(found, dict) else found
    if isinstance(found, list):
        return _joined(found) if any(isinstance(one, dict) for one in found) else _ids(found, "the answer")
    return found if isinstance(found, str) else None


def _joined(items: list[object]) -> str | None:
    """The text of an answer in parts, as the responses endpoint returns it; None where there is none."""
    contents = [item.get("content", item) for item in items if isinstance(item, dict)]
    parts = [part for content in contents for part in (content if isinstance(content, list) else [content])]
    return "".join(text for part in parts if isinstance(part, dict) and isinstance(text := part.get("text"), str)) or None


def _length(both: Mapping[str, object]) -> int | None:
    usages = [both.get("usage"), *(inner.get("usage") for key in _ANSWERS if isinstance(inner := both.get(key), dict))]
    places = (both, *(usage for usage in usages if isinstance(usage, dict)))
    found = next((place[key] for place in places for key in _LENGTHS if place.get(key) is not None), None)
    if found is not None and (isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= MAX_COUNT):
        raise Malformed(f"expected a number of output tokens; found {_shown(found)}")
    return found


def _name(both: Mapping[str, object], keys: Sequence[str]) -> str | None:
    found = next((both[key] for key in keys if both.get(key) is not None), None)
    return None if found is None or isinstance(found, dict | list) else str(found)


def _shown(found: object) -> str:
    words = dumps(found, ensure_ascii=False)
    return words if len(words) <= 40 else f"{words[:40]}…"


def bad_line(path: str, line: int, why: str) -> RequestError:
    """The complaint about a line."""
    return RequestError("bad_line", f"{path}:{line}: {why}", hint="mend the line, or say --skip-bad to leave such lines out")
