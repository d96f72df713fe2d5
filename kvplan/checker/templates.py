"""Templates as data: nothing is rendered, but what stands around the placeholders can be read.

Helm, Jinja and the like put ``{{ … }}`` where YAML wants a value, and lines of their own between. A placeholder becomes ``${NAME}`` of
its last part, which is what a variable without a value looks like everywhere else, and a line that only steers becomes an empty one:
places stay.
"""

import re

from kvplan.checker.server import Text

_STEERS = re.compile(
    r"[ \t]*(?:\{\{-?[ \t]*(?:(?:if|else|end|with|range|define|block|template|include|toYaml|tpl)\b|/[*]|[$]).*\}\}|\{%.*%\})[ \t]*"
)
_PLACEHOLDER = re.compile(r"\{\{-?[ \t]*(.*?)[ \t]*-?\}\}")
_NAME = re.compile(r"[.$]?[A-Za-z_][\w.-]*")
_FUNCTIONS = frozenset(
    ("quote", "default", "tpl", "toYaml", "include", "required", "printf", "int", "toString", "nindent", "index", "squote")
)
_VARIABLE = re.compile(r"\$\{(\w[\w.-]*)\}")


def readable(file: Text) -> Text:
    """The file with placeholders as variables, and variables that were given a value as that value."""
    text = file.text
    if "{{" in text or "{%" in text:
        text = "\n".join("" if _STEERS.fullmatch(line) else _PLACEHOLDER.sub(_variable, line) for line in text.split("\n"))
    if file.variables:
        text = _VARIABLE.sub(lambda found: file.variables.get(found[1], found[0]), text)
    return file if text is file.text else file._replace(text=text)


def _variable(found: re.Match[str]) -> str:
    names = (name.rpartition(".")[2] for name in _NAME.findall(re.sub(r'"[^"]*"', "", found[1])))
    return f"${{{next((name for name in names if name and name not in _FUNCTIONS), 'template')}}}"
