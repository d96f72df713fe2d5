"""How an engine shows where no program is named: in an image, or in flags that no other has."""

import re
from collections.abc import Sequence
from functools import cache
from types import ModuleType

from kvplan import _discover
from kvplan.checker.program import base
from kvplan.checker.server import Server, Word
from kvplan.checker.table import flag_name

DIALECTS = "kvplan.checker.dialects"
_BESIDE = re.compile(
    r"router|operator|exporter|gateway|proxy|client|frontend|webui|[-_.]ui\b|bench|controller|sidecar|\bsim|simulator|[-_]tests?\b|epp|"
    r"scheduler|autoscal|monitor|dashboard|docs|loader|puller|download",
    re.IGNORECASE,
)
_OTHER_TOOLS = ("--bench", "--perplexity", "--quantize", "--convert", "--all-in-one")
"""What llama.cpp's image of all programs takes for others than a server."""
_ELSEWHERE = ("cpu", "npu", "tpu", "hpu")


@cache
def dialects() -> dict[str, ModuleType]:
    """Every dialect by its engine's name."""
    return {module.ENGINE: module for module in _discover.modules(DIALECTS).values()}


def by_image_of(entry: Server, texts: Sequence[str]) -> str | None:
    """The engine whose image it is, unless the words start something else in it."""
    if entry.image is None or _BESIDE.search(image_name(entry.image.text)):
        return None
    name = image_name(entry.image.text)
    engine = next((engine for engine, dialect in dialects().items() if dialect.IMAGES.fullmatch(name)), None)
    if engine is None or not texts:
        return engine
    first = texts[0]
    if first in _OTHER_TOOLS:
        return None
    is_own = first.startswith(("-", "$", "{")) or first in ("serve", "run") or ("/" in first and not first.startswith(("/", ".")))
    said = {flag_name(text) for text in texts}
    is_path = first.startswith(("/", ".")) and not first.endswith((".sh", ".py")) and said & dialects()[engine].TABLE.telling
    return engine if is_own or is_path else None


def by_flags(entry: Server, texts: Sequence[str]) -> str | None:
    """The one engine of which two flags stand there that no other has; of programs that are known for something else, none."""
    said = {flag_name(text) for text in texts} - {""}
    engines = [engine for engine, dialect in dialects().items() if len(said & dialect.TABLE.telling) >= 2]
    program = next((base(text) for text in texts if not text.startswith("-")), "")
    if len(engines) != 1 or (entry.image is None and entry.kind == "shell") or program.endswith((".py", ".js", ".ts")):
        return None
    return engines[0]


def without_gpu(words: Sequence[Word], image: Word | None) -> int | None:
    """0 where the command or the image says that there is no GPU of the catalogue's kind."""
    for i, word in enumerate(words):
        name, _, inline = word.text.partition("=")
        if name == "--device" and (inline or "".join(following.text for following in words[i + 1 : i + 2])) in _ELSEWHERE:
            return 0
    return 0 if image and re.search(r"vllm-cpu|-cpu-release|:.*-cpu\b", image.text) else None


def image_name(image: str) -> str:
    """An image without registry's port, tag and digest."""
    name = image.partition("@")[0]
    return name.rpartition(":")[0] if re.search(r":[^/]*$", name) else name
