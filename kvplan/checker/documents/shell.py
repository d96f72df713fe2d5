"""Shell scripts and Windows batch files: every command that starts something."""

import re
from collections.abc import Iterator

from kvplan.checker import batch, pins, scripts
from kvplan.checker.mentions import MENTIONS, STARTS
from kvplan.checker.program import base
from kvplan.checker.server import Server, Text, Unreadable, Word

KIND = "shell"
_BATCH = (".bat", ".cmd")
_EXTENSIONS = (".sh", ".bash", ".zsh", ".ksh", ".command", ".sbatch", ".slurm", *_BATCH)
# what servers that ran until here may not outlive
_ENDING = re.compile(r"wait|.*(?:kill|stop|terminate|clean_?up|shut_?down).*", re.IGNORECASE)
_SHEBANG = re.compile(r"#!.*\b(?:ba|z|da|k)?sh\b")


def claims(file: Text) -> bool:
    """Named or begun as a script, and with an engine in it."""
    return (file.path.lower().endswith(_EXTENSIONS) or _SHEBANG.match(file.text) is not None) and STARTS.search(file.text) is not None


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """One for each command; which of them start an engine is told by their words."""
    script = Word(file.text.removeprefix("\ufeff"), 1, 1)
    is_batch = file.path.lower().endswith(_BATCH)
    versions = pins.pinned(file.text)
    since = ""
    for run in batch.commands(script, file.variables) if is_batch else scripts.commands(script, file.variables):
        first = run.words[0]
        if _ENDING.fullmatch(base(first.text)):
            since = f" since line {first.line}"
        if any(MENTIONS.search(word.text) for word in run.words) or any(name.startswith("LLAMA_ARG_") for name in run.env):
            pin = next((word for engine, word in versions.items() if any(engine in word.text for word in run.words)), None)
            yield Server(KIND, None, file.path, first.line, run.words, run.env, co_located=_shares(run, since), pinned=pin)


def _shares(run: scripts.Run, since: str) -> str | None:
    """The GPU of what runs in the background for certain, beside all else that was begun since the last wait or kill."""
    if not run.in_background or run.sometimes:
        return None
    cards = next((run.env[name].text for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES") if name in run.env), "all")
    return f"GPU {cards}, in the background{since}"
