"""The project's settings: ``.kvplan.yaml``, or ``[tool.kvplan]`` of a pyproject.toml, nearest up the tree."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from kvplan.checker.case import Typical
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.units import parse_count
from kvplan.specs.files import read_text, read_yaml

NAMES = (".kvplan.yaml", ".kvplan.yml")
Rule = Annotated[str, Field(pattern=r"^KV\d{3}$")]


class Workload(BaseModel):
    """What an ordinary request looks like, and how many come at once."""

    model_config = ConfigDict(extra="forbid")

    ctx: PositiveInt | str | None = None
    concurrency: PositiveInt | None = None


class Config(BaseModel):
    """Every setting; the command line wins over each. Paths are relative to the file's folder, ``root``."""

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

    def typical(self) -> Typical:
        """The workload as rules take it. Raises RequestError for a length that is none."""
        said = self.workload.ctx
        return Typical(None if said is None else parse_count(str(said), option="workload.ctx"), self.workload.concurrency)


def find(start: Path) -> Config:
    """The settings nearest to ``start``, up to the root of its repository; the defaults where there are none.

    Raises RequestError with file and key for settings that kvplan doesn't know.
    """
    for folder in _up(start):
        for name in NAMES:
            if (folder / name).is_file():
                return _validated(read_yaml(folder / name), str(folder / name), folder)
        pyproject = folder / "pyproject.toml"
        if pyproject.is_file() and (said := _tool_table(pyproject)) is not None:
            return _validated(said, f"{pyproject}: tool.kvplan", folder)
    return Config()


def _up(start: Path) -> Iterator[Path]:
    folder = start.resolve()
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


def _validated(said: Mapping[str, object], where: str, root: Path) -> Config:
    try:
        return Config.model_validate({**said, "root": root})
    except ValidationError as problem:
        first = problem.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        known = [name.replace("_", "-") for name in Config.model_fields if name != "root"]
        if first["type"] == "extra_forbidden":
            hint = did_you_mean(str(first["loc"][-1]), known) or f"known: {', '.join(known)}"
            raise RequestError("bad_config_file", f"{where}: unknown key '{path}'", hint=hint) from None
        raise RequestError("bad_config_file", f"{where}: {path}: {first['msg'].lower()}", hint="see `kvplan check --help`") from None
