"""The last prompt of each of a few slots, as llama.cpp's server keeps it.

Source: llama.cpp tools/server (get_available_slot, cache_prompt): a request takes the idle slot whose prompt is most like it where that
is more than a tenth of the request (--slot-prompt-similarity), else the one that was used longest ago; it keeps the common prefix, and
computes at least the last token. Later pieces that only moved (--cache-reuse) are off by default, and so is what the host keeps of
earlier prompts here (--cache-ram).
"""

from kvplan.replay.blocks import TOKEN_BYTES
from kvplan.replay.tree import common

SIMILARITY = 0.1


class Slots:
    """Slots, each with the tokens of its last request."""

    def __init__(self, n_slots: int) -> None:
        """All empty."""
        self._slots: list[bytes] = [b""] * n_slots  # the one used last stands last

    def take(self, content: bytes, n_prompt: int) -> int:
        """Tokens of the prompt that its slot had already."""
        prompt = content[: n_prompt * TOKEN_BYTES]
        alike = [common(slot, prompt, 0, TOKEN_BYTES) // TOKEN_BYTES for slot in self._slots]
        best = max(range(len(alike)), key=alike.__getitem__)
        chosen = best if alike[best] > SIMILARITY * n_prompt else 0
        self._slots.pop(chosen)
        self._slots.append(content)
        return min(alike[chosen], n_prompt - 1)
