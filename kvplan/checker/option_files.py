"""Files of options that a command names, put in the command's place where their text is known.

Source: vllm 0.33.0 utils/argparse_utils.py (--config: keys are flags, what the line says wins); TensorRT-LLM 1.0
docs/source/commands/trtllm-serve (--extra_llm_api_options: keys of LlmArgs), ai-dynamo/dynamo components/backends/trtllm
(--extra-engine-args).
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from kvplan.checker import keyed
from kvplan.checker.server import Word
from kvplan.checker.yaml_nodes import Node, within

_OPTION = r"--(config|extra[-_]llm[-_]api[-_]options|extra[-_]engine[-_]args)"
_ALONE = re.compile(_OPTION)
_SAID = re.compile(_OPTION + r"(?:=|[ \\\t\n]+)[\"']?([^\s\"']+)[\"']?")
_ENGINE_ARGS = {
    **{name: keyed.kebab(name) for name in ("tensor_parallel_size", "pipeline_parallel_size", "max_seq_len", "max_batch_size")},
    **{name: keyed.kebab(name) for name in ("max_num_tokens", "max_beam_width")},
    "moe_expert_parallel_size": "ep-size",
}
_CACHE = {"dtype": "kv-cache-dtype", "free_gpu_memory_fraction": "free-gpu-memory-fraction"}


def with_files(words: Sequence[Word], files: Mapping[str, str]) -> tuple[Word, ...]:
    """The command with the flags that ``files`` (texts by their paths) hold, in scripts too."""
    if not files:
        return tuple(words)
    found: list[Word] = []
    for i, word in enumerate(words):
        before = words[i - 1].text if i else ""
        if _ALONE.fullmatch(before) and word.text in files:
            found[-1:] = [word._replace(text=text) for text in flags(before, files[word.text])]
        else:
            found.append(word._replace(text=_replaced(word.text, files)))
    return tuple(found)


def _replaced(text: str, files: Mapping[str, str]) -> str:
    """A script, or ``--config=FILE`` as one word, with the flags in place of the option."""

    def in_its_place(option: re.Match[str]) -> str:
        said = files.get(option[2])
        return option[0] if said is None else shlex.join(flags(f"--{option[1]}", said))

    return _SAID.sub(in_its_place, text) if "--" in text else text


def flags(option: str, text: str) -> Iterator[str]:
    """The words that a file's settings are; ``option`` is the flag that names the file."""
    for document in within("", text, 1):
        if not isinstance(document, Node):
            continue
        if option == "--config":
            yield from (word.text for word in keyed.flags(document.named()))
        else:
            yield from (word.text for word in keyed.flags(document.named(), _ENGINE_ARGS))
            yield from (word.text for word in keyed.flags(document.get("kv_cache_config").named(), _CACHE))
