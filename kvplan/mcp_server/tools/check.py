"""The tool ``check``."""

from pathlib import Path

from pydantic import Field

from kvplan.checker import check as checking
from kvplan.checker.config import Config, find
from kvplan.core.errors import RequestError
from kvplan.differ import check_diff
from kvplan.hardware import catalog
from kvplan.mcp_server.asked import STDIN, Online
from kvplan.render.formats import json_

NAME = "check"
DESCRIPTION = (
    "Find the LLM servers that deployment files start (Kubernetes, Compose, Helm, scripts and more) and whether each starts and holds its "
    "load: findings with file, line, rule and fix. With `diff` only what a change made worse. Files are read as data, nothing is run or "
    "written. Answers as `kvplan check --json`."
)


class Asked(Online):
    """What is checked, and what is known beside the files."""

    paths: list[str] = Field(["."], description="files and folders; relative ones from where the server was started", min_length=1)
    gpu: str | None = Field(None, description="the GPU of servers whose file names none")
    model_dir: str | None = Field(None, description="vendored models: DIR/org/name/config.json, DIR/name.json")
    set: dict[str, str] = Field({}, description="values of variables that the files leave open")
    diff: str | None = Field(None, description="a git revision (main; main... is where HEAD left it) or a folder to compare with")


def _settled(asked: Asked, found: Config) -> Config:
    """The project's settings with what was said in their place."""
    said: dict[str, object] = {} if asked.gpu is None else {"gpu": asked.gpu}
    said |= {} if asked.model_dir is None else {"model_dir": str(Path.cwd() / asked.model_dir)}
    return found.model_copy(update={**said, "set": {**found.set, **asked.set}})


def answer(asked: Asked) -> str:
    """The report. Raises KvplanError for a wrong request."""
    if STDIN in asked.paths:
        raise RequestError("usage", "'-' is stdin, which the protocol needs", hint="name a file or a folder")
    if asked.gpu is not None and asked.gpu.lower() != "none":
        catalog.find(asked.gpu.partition(":")[0])
    if asked.diff is not None:
        return json_.render(check_diff(asked.diff, asked.paths, lambda found: _settled(asked, found), online=asked.online))
    config = _settled(asked, find(Path(asked.paths[0])))
    return json_.render(checking.check(asked.paths, config, online=asked.online))
