"""Ollama's server settings in files of variables: shell exports, .env, drop-ins of systemd, launchctl, Windows batch and PowerShell.

Source: ollama 0.34 envconfig/config.go, docs/faq.mdx (how each system sets them).
"""

import re
from collections.abc import Iterator

from kvplan.checker.server import Server, Text, Unreadable, Word

KIND = "ollama-env"
_EXTENSIONS = (".sh", ".bash", ".zsh", ".env", ".conf", ".service", ".bat", ".cmd", ".ps1", ".plist.sh", ".fish", ".profile")
_SET = re.compile(
    r"""(?:^|[\s"';])(?:\$env:|Environment=)?["']?(OLLAMA_[A-Z_]+)["']?\s*(?:=|\s)\s*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'#;&|]+))""",
)
_OURS = re.compile(r"OLLAMA_(?:CONTEXT_LENGTH|NUM_PARALLEL|KV_CACHE_TYPE|FLASH_ATTENTION|GPU_OVERHEAD)\b")
_SERVES = re.compile(r"\bollama(?:\.exe)?[\"']?[ \t]+(?:serve|run|create)\b|\b(?:docker|podman|nerdctl)[ \t]+run\b|ollama/ollama")


def claims(file: Text) -> bool:
    """Variables that bear on memory; what starts the server itself is read as a script or a unit."""
    path = file.path.lower()
    named = path.endswith(_EXTENSIONS) or path.rpartition("/")[2].startswith(".env") or ".env." in path
    return named and _OURS.search(file.text) is not None and _SERVES.search(file.text) is None


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """The server whose models all get these settings: which ones is not said."""
    env: dict[str, Word] = {}
    for number, line in enumerate(file.text.split("\n"), 1):
        if not line.lstrip().startswith(("#", "::", "REM ", "rem ")):
            for found in _SET.finditer(line):
                value = next((group for group in found.groups()[1:] if group is not None), "")
                env[found[1]] = Word(value.strip(), number, found.start(1) + 1)
    if not any(_OURS.fullmatch(name) for name in env):
        return
    at = min(env.values(), key=lambda word: word.line)
    yield Server(KIND, None, file.path, at.line, (Word("ollama", at.line), Word("serve", at.line)), env, engine="ollama")
