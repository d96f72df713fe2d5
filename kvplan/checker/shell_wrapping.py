"""Scripts that are words of a command: ``bash -c TEXT``, ``eval``, ``tmux``, ``ssh`` and their kin."""

import re
from collections.abc import Sequence

from kvplan.checker.program import base
from kvplan.checker.server import Word

_SHELLS = ("bash", "sh", "zsh", "dash", "ash", "ksh")


def inner_script(words: Sequence[Word]) -> tuple[Word, tuple[Word, ...]] | None:
    """The text that ``bash -c TEXT [NAME ARGUMENTS]``, ``eval`` or ``tmux`` and their kin run as a script, with its arguments."""
    i = next((i for i, word in enumerate(words[:12]) if base(word.text) in _SHELLS), None)
    if i is not None:
        for j in range(i + 1, min(len(words), i + 5)):
            if re.fullmatch(r"-[a-z]*c", words[j].text) and j + 1 < len(words):
                return words[j + 1], tuple(words[j + 3 :])
            if not words[j].text.startswith(("-", "pipefail")):
                break
    first = base(words[0].text) if words else ""
    if first == "eval" and len(words) > 1:
        return words[1]._replace(text=" ".join(word.text for word in words[1:])), ()
    if first in ("tmux", "screen", "ssh", "su", "srun", "sbatch", "script", "wsl", "sudo", "docker", "podman", "kubectl"):
        spaced = [word for word in words[1:] if re.search(r"\S[ \t\n]+\S", word.text)]
        if first in ("docker", "podman") and "run" in [word.text for word in words[1:3]]:
            return None
        if spaced:
            wrapped = spaced[-1].text.removeprefix("--wrap=")
            return spaced[-1]._replace(text=wrapped), ()
    return None
