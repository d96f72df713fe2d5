"""The project's settings: ``.kvplan.yaml``, or ``[tool.kvplan]`` of a pyproject.toml, nearest up the tree."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from kvplan.checker import instances
from kvplan.checker.case import Typical
from kvplan.checker.recognition import dialects
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.units import parse_count
from kvplan.hardware import names
from kvplan.specs.files import MAX_BYTES, read_text, read_yaml

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

NAMES = (".kvplan.yaml", ".kvplan.yml")
_EXPECTED = {
    "list_type": "expected a list, such as [a, b]",
    "string_type": "expected text; a number in quotes",
    "string_pattern_mismatch": "expected a rule, such as KV502",
    "dict_type": "expected keys and values",
    "model_type": "expected keys and values",
}
_OURS = {"root": "root (the folder of the file)", "source": "source (the file)"}  # fields that nobody sets
Rule = Annotated[str, Field(pattern=r"^KV\d{3}$")]


class Workload(BaseModel):
    """What an ordinary request looks like, and how many come at once."""

    model_config = ConfigDict(extra="forbid")

    ctx: PositiveInt | str | None = None
    concurrency: PositiveInt | None = None


class Config(BaseModel):
    """Every setting; the command line wins over each. Paths are relative to ``root``, the folder of the file; ``source`` names it."""

    model_config = ConfigDict(extra="forbid", alias_generator=lambda name: name.replace("_", "-"), populate_by_name=True, frozen=True)

    gpu: str | None = None
    label_map: dict[str, str] = {}
    models: dict[str, str] = {}
    model_dir: str | None = None
    engine_versions: dict[str, str] = {}
    workload: Workload = Workload()
    set: dict[str, str | int | float] = {}
    env_file: list[str] = []
    fail_on: Literal["error", "warning", "note", "never"] = "error"
    strict: bool = False
    select: list[Rule] = []
    ignore: list[Rule] = []
    per_file_ignores: dict[str, list[Rule]] = {}
    exclude: list[str] = []
    baseline: str | None = None
    root: Path = Field(default=Path(), exclude=True)
    source: str = Field(default="", exclude=True)

    def typical(self) -> Typical:
        """The workload as rules take it. Raises RequestError for a length that is none."""
        said = self.workload.ctx
        return Typical(None if said is None else parse_count(str(said), option="workload.ctx"), self.workload.concurrency)


def find(start: Path) -> Config:
    """The settings nearest to ``start``, up to the root of its repository; the defaults where there are none.

    Raises RequestError with file and key for settings that kvplan doesn't know.
    """
    for folder in _up(start if os.path.lexists(start) else Path()):  # who reads a path that is none says so
        for name in NAMES:
            if (folder / name).is_file():
                return validated(_yaml(folder / name), str(folder / name), folder)
        pyproject = folder / "pyproject.toml"
        if pyproject.is_file() and (said := _tool_table(pyproject)) is not None:
            return validated(said, f"{pyproject}: tool.kvplan", folder)
    return Config()


def _up(start: Path) -> Iterator[Path]:
    folder = Path(os.path.realpath(start))  # which takes links to themselves as they are
    for one in (folder if folder.is_dir() else folder.parent, *folder.parents):
        yield one
        if (one / ".git").exists():
            return


def _tool_table(path: Path) -> Mapping[str, object] | None:
    import tomllib

    try:
        content = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RequestError):
        return None  # another tool's business
    tool = content.get("tool")
    said = tool.get("kvplan") if isinstance(tool, dict) else None
    return said if isinstance(said, dict) else None


def _yaml(path: Path) -> Mapping[str, object]:
    """An empty file, or one of comments alone, sets nothing."""
    text = path.read_bytes()[:MAX_BYTES] if path.is_file() else b""
    return read_yaml(path) if any(line.strip() and not line.lstrip().startswith(b"#") for line in text.splitlines()) else {}


def validated(said: Mapping[str, object], where: str, root: Path) -> Config:
    """The settings in ``said``. Raises RequestError with file, key and near matches for what makes no sense."""
    try:
        found = Config.model_validate({**{_OURS.get(key, key): value for key, value in said.items()}, "root": root, "source": where})
    except ValidationError as problem:
        raise _complaint(problem.errors()[0], where) from None
    with _named(f"{where}: workload.ctx"):
        found.typical()
    cards = {"gpu": found.gpu} if found.gpu and found.gpu.lower() != "none" else {}
    for key, name in {**cards, **{f"label-map.{label}": name for label, name in found.label_map.items()}}.items():
        with _named(f"{where}: {key}"):
            if instances.find(name) is None:
                names.resolve(name.partition(":")[0])
    unknown = next((name for name in found.engine_versions if name not in dialects()), None)
    if unknown is not None:
        hint = did_you_mean(unknown, dialects()) or f"known: {', '.join(sorted(dialects()))}"
        raise RequestError("bad_config_file", f"{where}: engine-versions: unknown engine '{unknown}'", hint=hint)
    return found


@contextlib.contextmanager
def _named(key: str) -> Iterator[None]:
    """Problems of a value say which it is."""
    try:
        yield
    except RequestError as problem:
        message = problem.message.removeprefix("workload.ctx: ")
        raise RequestError("bad_config_file", f"{key}: {message}", hint=problem.hint) from None


def _complaint(first: "ErrorDetails", where: str) -> RequestError:
    """The first problem, with the keys that would be known in its place."""
    path = [str(part) for part in first["loc"]]
    if first["type"] != "extra_forbidden":
        said = _EXPECTED.get(first["type"], first["msg"].lower())
        return RequestError(
            "bad_config_file", f"{where}: {'.'.join(path)}: {said}", hint="`kvplan check --help`, and the README, say what is"
        )
    fields = Config.model_fields if len(path) == 1 else Workload.model_fields
    known = [name.replace("_", "-") for name in fields if name not in ("root", "source")]
    hint = did_you_mean(path[-1], known) or f"known: {', '.join(known)}"
    return RequestError("bad_config_file", f"{where}: unknown key '{'.'.join(path)}'", hint=hint)
