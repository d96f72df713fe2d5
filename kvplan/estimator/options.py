"""A request as people type it."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    class Keywords(TypedDict, total=False):
        """The options of ``kvplan.estimate`` and ``kvplan.verify`` beside the model."""

        ctx: int | str
        batch: int | str
        prompt: int | str
        engine: str
        dtype: str
        kv_dtype: str
        attn: str
        cache: str
        forward: str
        usage: str
        device_map: str
        max_memory: str
        tp: int | str
        pp: int | str
        dp: int | str
        ep: int | str
        gpu: str
        gpus: int | str
        budget: str
        ram: str
        host: str
        calibration: str

    Several = int | str | Iterable[int] | Iterable[str]
    Words = str | Iterable[str]

    class Lists(TypedDict, total=False):
        """The options of ``kvplan.sweep``: each a value or several."""

        ctx: Several
        batch: Several
        prompt: Several
        engine: Words
        dtype: Words
        kv_dtype: Words
        attn: Words
        cache: Words
        forward: Words
        usage: Words
        device_map: Words
        tp: Several
        pp: Several
        dp: Several
        ep: Several
        gpu: Words
        gpus: Several
        budget: Words
        ram: Words
        host: Words


class Options(NamedTuple):
    """Every option of an estimate, as text; None where nothing was said. ``command`` is an engine's own command line."""

    model: str | None = None
    command: tuple[str, ...] = ()
    ctx: str | None = None
    batch: str | None = None
    prompt: str | None = None
    engine: str | None = None
    dtype: str | None = None
    kv_dtype: str | None = None
    attn: str | None = None
    cache: str | None = None
    forward: str | None = None
    usage: str | None = None
    device_map: str | None = None
    max_memory: str | None = None
    tp: str | None = None
    pp: str | None = None
    dp: str | None = None
    ep: str | None = None
    gpu: str | None = None
    gpus: str | None = None
    budget: str | None = None
    ram: str | None = None
    host: str | None = None
    calibration: str | None = None


def in_words(model: str, options: "Keywords") -> Options:
    """The request that ``model`` and keywords make; None is as good as not said."""
    return Options(model=model, command=(), **{name: str(value) for name, value in options.items() if value is not None})
