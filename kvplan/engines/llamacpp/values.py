"""The values of flags, as llama.cpp reads them: numbers as C++ does, so that 32k is 32."""

import re

from kvplan.engines.llamacpp.flags import CACHE_TYPES, LOAD_MODES, SPLIT_MODES, Known
from kvplan.engines.llamacpp.settings import ALL_LAYERS, AUTO_LAYERS

_TRUE = ("on", "enabled", "true", "1")
_FALSE = ("off", "disabled", "false", "0")
_AUTO = ("auto", "-1")
_INT = 2**31


class ValueProblem(Exception):
    """Why llama.cpp does not take a value, in its words."""


def canonical(flag: Known, text: str) -> str:
    """``text`` in one spelling: digits, true or false, on, off or auto.

    Raises ValueProblem for what the flag's handler throws at. Source: llama.cpp b11434 common/arg.cpp, common/common.cpp.
    """
    if flag.kind == "int":
        return str(leading_int(text))
    if flag.kind in ("switch", "on"):
        return "true" if _truth(text, "") else "false"
    if flag.kind == "onoff":
        return "on" if _truth(text, f"error: unknown value for --{flag.name}: '{text}'") else "off"
    if flag.kind == "fa":
        return "auto" if text in _AUTO else "on" if _truth(text, f"error: unknown value for --flash-attn: '{text}'") else "off"
    if flag.kind == "layers":
        return str({"auto": AUTO_LAYERS, "all": ALL_LAYERS}[text] if text in ("auto", "all") else max(leading_int(text), ALL_LAYERS))
    if flag.kind in ("ints", "shares"):
        return ",".join(_part(flag, part) for part in re.split("[,/]", text))
    return _word(flag, text)


def _part(flag: Known, text: str) -> str:
    """One number of several."""
    if flag.kind == "ints":
        return str(leading_int(text))
    found = re.match(r"\s*(\+?(?:\d{1,9}\.?\d{0,9}|\.\d{1,9}))", text, re.ASCII)
    if found is None:
        raise ValueProblem("stof")
    return f"{float(found[1]):g}"


def leading_int(text: str) -> int:
    """What std::stoi makes of ``text``: the number that it begins with. Raises ValueProblem where it begins with none."""
    found = re.match(r"\s*([+-]?\d{1,18})", text, re.ASCII)
    if found is None or not -_INT <= int(found[1]) < _INT:
        raise ValueProblem("stoi")
    return int(found[1])


def is_cut(text: str) -> bool:
    """Whether something stands behind the number that is not read."""
    return re.fullmatch(r"\s*[+-]?\d+", text, re.ASCII) is None


def _truth(text: str, problem: str) -> bool:
    if text not in (*_TRUE, *_FALSE):
        raise ValueProblem(problem or f"error: invalid value '{text}'")
    return text in _TRUE


def _word(flag: Known, text: str) -> str:
    if flag.kind == "cache" and text not in CACHE_TYPES:
        raise ValueProblem(f"Unsupported cache type: {text}")
    known = {"mode": LOAD_MODES, "split": SPLIT_MODES}.get(flag.kind)
    pairs = flag.name != "override-tensor" or all("=" in pair for pair in text.split(","))
    if (known is not None and text not in known) or not pairs:
        raise ValueProblem("invalid value")
    return text
