"""A file of settings for ``vllm serve --config FILE``: flags as keys, often without a model, which then stands on the command line.

Source: vllm 0.33.0 utils/argparse_utils.py, load_config_file.
"""

import re
from collections.abc import Iterator

from kvplan.checker import keyed
from kvplan.checker.server import Server, Text, Unreadable, Word
from kvplan.checker.yaml_nodes import Node, documents
from kvplan.engines.vllm.flags import KINDS
from kvplan.engines.vllm.known import known_flags

KIND = "vllm-config"
_EXTENSIONS = (".yaml", ".yml")
_COMMON = ("block-size", "dtype", "quantization", "attention-backend", "num-speculative-tokens", "performance-mode", "optimization-level")
"""Flags that other programs' settings are called, too."""
_TELLING = frozenset(KINDS) - frozenset(_COMMON)
_OURS = re.compile(
    r"^(?:no[-_])?(?:max[-_]model|gpu[-_]memory[-_]util|max[-_]num[-_](?:seqs|batched)|tensor[-_]parallel|kv[-_]cache|enable[-_]prefix|"
    r"compilation[-_]config|max[-_]cudagraph|cudagraph|enforce[-_]eager|speculative[-_]config|async[-_]sched|enable[-_]chunked)",
    re.MULTILINE,
)


def claims(file: Text) -> bool:
    """YAML with a flag of vLLM for a key at the left."""
    return file.path.lower().endswith(_EXTENSIONS) and _OURS.search(file.text) is not None


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """The server that the settings are for, where nearly all keys are vLLM's flags."""
    for document in documents(file):
        if isinstance(document, Unreadable) or _is_ours(document):
            yield _server(document, file.path) if isinstance(document, Node) else document


def _is_ours(document: Node) -> bool:
    names = [keyed.kebab(key.text) for key, _ in document.named()]
    flags = [name.removeprefix("no-") if name not in known_flags() else name for name in names]
    known = [flag for flag in flags if flag in known_flags()]
    telling = [flag for flag in flags if flag in _TELLING]
    return bool(telling) and len(known) >= 3 * (len(names) - len(known))


def _server(document: Node, path: str) -> Server:
    words: list[Word] = []
    for key, value in document.named():
        name = keyed.kebab(key.text)
        if value.kind == "list":
            words += [key._replace(text=f"--{name}"), *value.words()]
        elif value:
            words += keyed.flag(name, key, value)
    return Server(KIND, None, path, document.line, tuple(words), engine="vllm")
