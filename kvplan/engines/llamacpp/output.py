"""The output buffer: rows of logits, and of embeddings, that the host reads.

Source: llama.cpp b11434 src/llama-context.cpp, output_reserve.
"""

from kvplan.core.model import ModelSpec
from kvplan.engines.llamacpp.context import Context
from kvplan.engines.llamacpp.settings import Settings

_F32 = 4


def output_bytes(model: ModelSpec, settings: Settings, context: Context) -> int:
    """A row of the vocabulary for each slot, and one of embeddings where they are asked for."""
    return _F32 * context.n_kept * (model.vocab_size + (model.hidden_size if settings.embeddings else 0))
