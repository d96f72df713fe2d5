"""Where a formula is from, as a link where its source names something that has an address."""

import re

_URL = re.compile(r"https?://[^\s,;)>\"']+")
_UPSTREAM = (
    (re.compile(r"\btransformers (\d+\.\d+)(\.\d+)?"), "https://github.com/huggingface/transformers/tree/v{0}{1}"),
    (re.compile(r"\bv?LLM (\d+\.\d+)(\.\d+)?", re.IGNORECASE), "https://github.com/vllm-project/vllm/tree/v{0}{1}"),
    (re.compile(r"\bllama\.cpp (b\d+)()"), "https://github.com/ggml-org/llama.cpp/tree/{0}"),
)


def link(source: str) -> str | None:
    """The address that ``source`` holds, or the release of the upstream project that it names; None where there is none."""
    found = _URL.search(source)
    if found:
        return found[0]
    for pattern, address in _UPSTREAM:
        named = pattern.search(source)
        if named:
            return address.format(named[1], named[2] or ".0")
    return None
