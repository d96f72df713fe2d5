"""Where the facts of a model come from that a file names: the project's map, vendored files, built-ins, the Hub's cache, the Hub."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kvplan.core.errors import KvplanError, RequestError
from kvplan.specs import builtin

_SCHEME = re.compile(r"^(?:hf|huggingface|https?://(?:www\.)?huggingface\.co|hf\.co)(?:://|/)", re.IGNORECASE)
_NAME = re.compile(r"[\w.-]+/[\w.-]+(?:@[\w.-]+)?(?::[\w.-]+)?", re.ASCII)
_SPECS = (".yaml", ".yml", ".json", ".gguf")


class Sources(NamedTuple):
    """``given`` maps names to paths or names; ``folder`` holds vendored files; ``online`` lets the Hub be asked; ``root`` is the tree."""

    given: Mapping[str, str] = {}
    folder: Path | None = None
    root: Path = Path()
    online: bool = False


def find(name: str, sources: Sources) -> str:
    """What ``kvplan estimate`` takes for the model that a file calls ``name``. Raises RequestError where nothing is known of it."""
    if name in sources.given:
        return sources.given[name]
    plain = _SCHEME.sub("", name).rstrip("/")
    if plain in sources.given:
        return sources.given[plain]
    found = _vendored(plain, sources) or builtin.find(plain.partition("@")[0]) or _in_tree(name, sources)
    if found is not None:
        return found
    if _NAME.fullmatch(plain) and not name.startswith((".", "/", "~")):
        return plain
    raise RequestError("unknown_model", f"nothing here says what {name} is", hint="map its name under models: in .kvplan.yaml")


@contextlib.contextmanager
def only_cached(sources: Sources) -> Iterator[None]:
    """Keep the Hub's client off the network unless it is allowed."""
    if sources.online:
        yield
        return
    try:
        from kvplan.specs.hub.client import settings

        constants = settings()
    except KvplanError:
        yield
        return
    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True  # type: ignore[attr-defined]
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before  # type: ignore[attr-defined]


def _vendored(name: str, sources: Sources) -> str | None:
    """DIR/org/name/config.json, DIR/org/name.json, DIR/name.json, or a spec file or GGUF called so; of longer paths, their end."""
    folder = sources.folder
    parts = [part for part in re.split(r"[/\\]", name.partition("@")[0]) if part not in ("", ".", "..", "~")]
    if folder is None or not parts:
        return None
    parts[-1] = parts[-1].partition(":")[0] or parts[-1]
    for tail in (parts[-2:], parts[-1:]):
        place = folder.joinpath(*tail)
        if (place / "config.json").is_file() or (place.is_file() and place.suffix.lower() in _SPECS):
            return str(place)
        for ending in _SPECS:
            file = place.with_name(place.name + ending)
            if file.is_file():
                return str(file)
    return None


def _in_tree(name: str, sources: Sources) -> str | None:
    """A path that lies in the tree that is checked."""
    if "\0" in name or name.startswith(("/", "~")) or "://" in name:
        return None
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        path = (sources.root / name).resolve()
        if path.is_relative_to(sources.root.resolve()) and path != sources.root.resolve():
            if path.is_dir() and (path / "config.json").is_file():
                return str(path)
            if path.is_file() and path.suffix.lower() in (".gguf", ".json"):
                return str(path)
    return None
