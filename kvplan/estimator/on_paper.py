"""``qwen3-32b:awq``: a checkpoint on paper by the name of the model that it would be made from."""

import os


def parted(ref: str) -> tuple[str, str | None]:
    """The model and the scheme (or plain element type) that ``ref`` names, None where it names no more than a model.

    Only built-in models and paths are read so: behind a repository of the Hub stands a file, or a file's type.
    """
    model, colon, form = ref.rpartition(":")
    if not colon or not form or os.path.lexists(ref) or not _is_here(model):
        return ref, None
    from kvplan.specs import paper

    return (model, form) if paper.find(form) or paper.plain(form) else (ref, None)


def _is_here(model: str) -> bool:
    from kvplan.specs import builtin

    return os.path.lexists(model) or ("/" not in model and builtin.find(model) is not None)
