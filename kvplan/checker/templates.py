"""Templates as data: nothing is rendered, but what stands around the placeholders can be read.

Helm, Jinja and the like put ``{{ … }}`` where YAML wants a value, and lines of their own between. A placeholder becomes ``${NAME}`` of
its last part, which is what a variable without a value looks like everywhere else, and a line that only steers becomes an empty one:
places stay.
"""

import re
from collections.abc import Iterable, Iterator

from kvplan.checker.server import Text

_STEERS = re.compile(
    r"[ \t]*(?:\{\{-?[ \t]*((?:if|else|end|with|range|define|block|template|include|toYaml|tpl)\b|/[*]|[$]).*\}\}|"
    r"\{%-?[ \t]*(\w*).*%\})[ \t]*"
)
_PLACEHOLDER = re.compile(r"\{\{-?[ \t]*(.*?)[ \t]*-?\}\}")
_NAME = re.compile(r"[.$]?[A-Za-z_][\w.-]*")
_STEERING = frozenset(("if", "else", "end", "with", "range", "and", "or", "not", "eq", "ne", "gt", "lt", "hasKey", "kindIs"))
_FUNCTIONS = _STEERING | frozenset(
    ("quote", "default", "tpl", "toYaml", "include", "required", "printf", "int", "toString", "nindent", "index", "squote", "ternary")
)
_VARIABLE = re.compile(r"\$\{(\w[\w.-]*)\}")
_OPENS, _CLOSES = ("if", "with", "range", "define", "block", "for"), ("end", "endif", "endfor")


def readable(file: Text) -> Text:
    """The file with placeholders as variables, and variables that were given a value as that value.

    Of branches the first is read: the others would say the same things differently.
    """
    text = file.text
    if "{{" in text or "{%" in text:
        text = "\n".join(_without_steering(text.split("\n")))
    if file.variables:
        text = _VARIABLE.sub(lambda found: file.variables.get(found[1], found[0]), text)
    return file if text is file.text else file._replace(text=text)


def _without_steering(lines: Iterable[str]) -> Iterator[str]:
    branches: list[bool] = []  # whether each one that is open is the first
    for line in lines:
        steers = _STEERS.fullmatch(line)
        if steers is None:
            yield _PLACEHOLDER.sub(_variable, line) if all(branches) else ""
            continue
        word = steers[1] or steers[2]
        is_whole = word in _OPENS and re.search(r"\{\{-?[ \t]*end\b", line) is not None
        if word in _OPENS and not is_whole:
            branches.append(True)
        elif word in ("else", "elif") and branches:
            branches[-1] = False
        elif word in _CLOSES and branches:
            branches.pop()
        yield ""


def _variable(found: re.Match[str]) -> str:
    said = re.sub(r'"[^"]*"', "", found[1])
    if said.split(" ", 1)[0] in _STEERING:
        return ""
    names = (name.rpartition(".")[2] for name in _NAME.findall(said))
    return f"${{{next((name for name in names if name and name not in _FUNCTIONS), 'template')}}}"
