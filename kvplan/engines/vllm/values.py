"""The values of flags, as vLLM reads them: 32k is 32,000 and 32K is 32,768."""

import json
import re

from kvplan.core.errors import RequestError, did_you_mean
from kvplan.engines.vllm.flags import CHOICES, Kind

_SUFFIXES = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
_LARGEST = 2**63 - 1


def canonical(name: str, kind: Kind, text: str) -> str:
    """``text`` in one spelling: digits, true or false, JSON with sorted keys; nothing where it means that nothing was said.

    Raises RequestError where vLLM would not take it, in its words.
    """
    if kind == "switch":
        return _switch(name, text)
    if kind in ("word", "json") and text in ("", "None"):
        return ""
    if kind == "word":
        return _word(name, text)
    if kind == "json":
        return dumped(as_object(name, text))
    if kind == "limits":
        return dumped(_limits(name, text))
    if kind == "sizes":
        return ",".join(str(_whole(name, word, least=1)) for word in re.split(r"[,\s]+", text.strip("[] ")) if word)
    if kind in ("share", "gib"):
        return _real(name, text, most=1.0 if kind == "share" else None)
    return str(_number(name, kind, text))


def human_int(name: str, text: str) -> int:
    """A whole number, also 1k (1,000), 1K (1,024) and 25.6k.

    Raises RequestError for anything else. Source: vllm 0.33.0 utils/argparse_utils.py, human_readable_int.
    """
    found = re.fullmatch(r"(\d{1,18})(?:\.(\d{1,9}))?([kKmMgGtT])", text.strip(), re.ASCII)
    if found is None:
        return _whole(name, text)
    whole, fraction, suffix = found[1], found[2], found[3]
    if fraction and suffix.isupper():
        raise _wrong(name, f"Decimals are not allowed with binary suffixes like {suffix}", f"did you mean {text[:-1]}{suffix.lower()}?")
    value: int = int(whole + (fraction or "")) * _SUFFIXES[suffix] // 10 ** len(fraction or "")
    return _bounded(name, text, value, least=0)


def as_object(name: str, text: str) -> dict[str, object]:
    """A JSON object. Raises RequestError for other text."""
    try:
        found = json.loads(_expanded(text))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _wrong(name, f"Value {text} cannot be converted to <function loads>", "write a JSON object, in quotes for the shell")
    return found


def dumped(value: object) -> str:
    """``value`` as JSON in one spelling."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _expanded(text: str) -> str:
    """Bare 80m in JSON as a number. Source: vllm 0.33.0 engine/arg_utils.py, _expand_json_human_readable_numbers."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    parts[::2] = [re.sub(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b", lambda number: str(human_int("", number.group())), part) for part in parts[::2]]
    return "".join(parts)


def _number(name: str, kind: Kind, text: str) -> int:
    if kind == "length" and text.strip().lower() in ("-1", "auto"):
        return -1
    if kind in ("length", "human"):
        value = human_int(name, text)
        return _bounded(name, text, value, least=1) if kind == "length" else value
    return _whole(name, text, least=1 if kind == "count" else 0)


def _whole(name: str, text: str, *, least: int = 0) -> int:
    if not re.fullmatch(r"[+-]?\d{1,30}", text.strip(), re.ASCII):
        raise _wrong(name, f"invalid int value: '{text}'")
    return _bounded(name, text, int(text), least=least)


def _bounded(name: str, text: str, value: int, *, least: int) -> int:
    if not least <= value <= _LARGEST:
        raise _wrong(name, f"Input should be at least {least}, found '{text}'")
    return value


def _real(name: str, text: str, *, most: float | None) -> str:
    if not re.fullmatch(r"\+?(\d{1,15}\.?\d{0,18}|\.\d{1,18})(e-?\d{1,2})?", text.strip(), re.ASCII | re.IGNORECASE):
        raise _wrong(name, f"invalid float value: '{text}'")
    value = float(text)
    if most is not None and not 0 < value <= most:
        raise _wrong(name, f"Input should be greater than 0 and less than or equal to {most:g}, found '{text}'")
    return repr(value)


def _switch(name: str, text: str) -> str:
    low = text.strip().lower()
    if low not in (*_TRUE, *_FALSE):
        raise _wrong(name, f"expected true or false, found '{text}'")
    return "true" if low in _TRUE else "false"


def _word(name: str, text: str) -> str:
    known = CHOICES.get(name)
    word = text.lower() if name in ("dtype", "performance-mode") else text
    if known is not None and word not in known:
        choices = ", ".join(repr(choice) for choice in known)
        raise _wrong(name, f"invalid choice: '{text}' (choose from {choices})", did_you_mean(text, known))
    return word


def _limits(name: str, text: str) -> dict[str, int]:
    """Items per prompt by modality: JSON, of which an object names the count beside sizes, or the older image=2,video=1."""
    if "=" in text and not text.lstrip().startswith("{"):
        given: dict[str, object] = dict(pair.partition("=")[::2] for pair in text.split(","))
    else:
        given = as_object(name, text)
    counts = {key: value.get("count", 1) if isinstance(value, dict) else value for key, value in given.items()}
    return {str(key): _whole(name, str(count)) for key, count in counts.items()}


def _wrong(name: str, why: str, hint: str = "") -> RequestError:
    said = name if name.startswith("VLLM_") else f"argument --{name}"
    return RequestError("bad_setting", f"vllm: {said}: {why}", hint=hint)
