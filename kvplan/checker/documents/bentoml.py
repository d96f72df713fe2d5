"""BentoML services in Python: what the decorator asks for, and the arguments of the engine. The source is read, never run.

Folded are literals, the module's constants, and defaults of variables of the environment; anything else is not known.

Source: docs.bentoml.com build-with-bentoml/services (``resources`` of @bentoml.service), vllm engine/arg_utils.py (fields of EngineArgs are
the flags).
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping

from kvplan.checker.keyed import kebab
from kvplan.checker.server import Gpus, Server, Text, Unreadable, Word

KIND = "bentoml"
_ENGINES = ("AsyncEngineArgs", "EngineArgs", "LLM", "AsyncLLM")
_MAX_CHARS = 300_000
_MAX_DEPTH = 20
_READS = ("getenv", "get")

Constants = Mapping[str, ast.expr]


def claims(file: Text) -> bool:
    """Python that decorates a service and sets up vLLM."""
    text = file.text
    return (
        file.path.endswith(".py")
        and "bentoml" in text
        and "service" in text
        and re.search(r"\bEngineArgs|AsyncEngineArgs|\bLLM\(", text) is not None
    )


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """One for each class that is a service and makes an engine."""
    if len(file.text) > _MAX_CHARS:
        yield Unreadable(file.path, 1, "longer than a service is")
        return
    try:
        module = ast.parse(file.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        yield Unreadable(file.path, getattr(problem, "lineno", None) or 1, "invalid Python")
        return
    constants = dict(_constants(module.body))
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            yield from _service(file.path, node, constants)


def _constants(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value


def _service(path: str, node: ast.ClassDef, constants: Constants) -> Iterator[Server]:
    decorators = [d for d in node.decorator_list if isinstance(d, ast.Call) and _name(d.func) == "service"]
    if not decorators:
        return
    settings = {keyword.arg: keyword.value for keyword in decorators[0].keywords if keyword.arg}
    resources = _folded(settings.get("resources"), constants)
    inside = dict(constants)
    for method in node.body:
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
            inside |= dict(_constants(method.body))
    call = next((c for c in ast.walk(node) if isinstance(c, ast.Call) and _name(c.func) in _ENGINES), None)
    if call is not None:
        words = (Word("vllm", call.lineno), Word("serve", call.lineno), *_arguments(call, inside))
        memory = resources.get("memory") if isinstance(resources, dict) else None
        host = Word(str(memory), decorators[0].lineno) if memory else None
        gpus = _gpus(resources, decorators[0].lineno)
        yield Server(KIND, node.name, path, call.lineno, words, engine="vllm", gpus=gpus, host_memory=host)


def _gpus(resources: object, line: int) -> Gpus:
    if not isinstance(resources, dict):
        return Gpus()
    count, name = resources.get("gpu"), resources.get("gpu_type")
    return Gpus(count if isinstance(count, int) else None, (Word(name, line),) if isinstance(name, str) else ())


def _arguments(call: ast.Call, constants: Constants) -> Iterator[Word]:
    """Keywords as flags, those of a dictionary behind ** too."""
    for position, value in enumerate(call.args[:1]):
        yield from _flag("model", value, constants) if position == 0 else ()
    for keyword in call.keywords:
        if keyword.arg:
            yield from _flag(keyword.arg, keyword.value, constants)
            continue
        packed = constants.get(keyword.value.id) if isinstance(keyword.value, ast.Name) else keyword.value
        if isinstance(packed, ast.Dict):
            for key, value in zip(packed.keys, packed.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield from _flag(key.value, value, constants)
        elif isinstance(packed, ast.Call) and _name(packed.func) == "dict":
            yield from _arguments(packed, constants)


def _flag(name: str, node: ast.expr, constants: Constants) -> Iterator[Word]:
    value = _folded(node, constants)
    at = Word(f"--{kebab(name)}", node.lineno, node.col_offset + 1)
    if value is True:
        yield at
    elif value is False:
        yield at._replace(text=f"--no-{kebab(name)}")
    elif isinstance(value, str | int | float):
        yield from (at, at._replace(text=str(value)))
    elif value is not None:
        yield from (at, at._replace(text=json.dumps(value, default=str)))


def _folded(node: ast.expr | None, constants: Constants, depth: int = 0) -> object:
    """The value of an expression; a variable without a value where it can't be known."""
    if node is None or depth > _MAX_DEPTH:
        return None
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return _folded(constants[node.id], constants, depth + 1) if node.id in constants else f"${{{node.id}}}"
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(_folded(key, constants, depth + 1)): _folded(value, constants, depth + 1) for key, value in pairs if key}
    if isinstance(node, ast.List | ast.Tuple):
        return [_folded(item, constants, depth + 1) for item in node.elts]
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return _computed(node, constants, depth)
    if isinstance(node, ast.Call):
        return _called(node, constants, depth)
    return "${expression}"


def _computed(node: ast.BinOp | ast.UnaryOp, constants: Constants, depth: int) -> object:
    """Sums and products of small numbers, such as 8 * 1024; names joined by +."""
    if isinstance(node, ast.UnaryOp):
        value = _folded(node.operand, constants, depth + 1)
        return -value if isinstance(node.op, ast.USub) and isinstance(value, int | float) else value
    left, right = _folded(node.left, constants, depth + 1), _folded(node.right, constants, depth + 1)
    if isinstance(left, int) and isinstance(right, int) and max(abs(left), abs(right)) < 2**40:
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Add | ast.Sub):
            return left + right if isinstance(node.op, ast.Add) else left - right
    if isinstance(left, str) and isinstance(right, str) and isinstance(node.op, ast.Add) and len(left) + len(right) < 1000:
        return left + right
    return "${expression}"


def _called(node: ast.Call, constants: Constants, depth: int) -> object:
    """``os.getenv("NAME", default)``, and numbers made of that."""
    name = _name(node.func)
    if name in _READS and node.args:
        variable = _folded(node.args[0], constants, depth + 1)
        return _folded(node.args[1], constants, depth + 1) if len(node.args) > 1 else f"${{{variable}}}"
    if name in ("int", "float", "str") and len(node.args) == 1:
        return _folded(node.args[0], constants, depth + 1)
    if name == "dict":
        return {keyword.arg: _folded(keyword.value, constants, depth + 1) for keyword in node.keywords if keyword.arg}
    return "${expression}"


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
