"""What ``--dtype`` means: a type to load the model in, or another checkpoint on paper."""

from functools import lru_cache
from typing import NamedTuple

from kvplan.core.errors import RequestError
from kvplan.estimator.registry import find_engine, reader_of

AUTO = "auto"


class Precision(NamedTuple):
    """``load_as`` is what the engine is told, ``checkpoint`` the plain type or scheme to count a checkpoint in; None is as it is."""

    load_as: str | None
    checkpoint: str | None

    @property
    def is_plain(self) -> bool:
        """Whether a checkpoint that is not quantized anyhow stays what it is."""
        return self.checkpoint == self.load_as


def read(asked: str | None, engine: str) -> Precision:
    """What ``asked`` means to ``engine``. Raises RequestError for an unknown name, and for a scheme that the engine does not run."""
    if asked is None or asked == AUTO:
        return Precision(asked if _converts(engine) else None, None)
    return _named(asked, engine)


def _converts(engine: str) -> bool:
    """Whether it loads a checkpoint in another type than it is stored in; engines that run GGUF files take them as they lie."""
    return "safetensors" in find_engine(engine).formats


@lru_cache(maxsize=64)
def _named(asked: str, engine: str) -> Precision:
    from kvplan.specs import paper

    plain = paper.plain(asked)
    if plain:
        return Precision(plain if _converts(engine) else None, plain)
    scheme, formats = paper.find(asked), find_engine(engine).formats
    if scheme is None:
        raise paper.unknown(asked)
    if scheme.format not in formats:
        raise RequestError(
            "unsupported",
            f"--dtype {asked}: a {scheme.format.upper()} file's type, which {engine} does not keep packed",
            hint=f"{reader_of(scheme.format)}; with {engine} say {', '.join(paper.names(*formats))}",
        )
    return Precision(None, scheme.name)


def runs(form: str, *engines: str) -> str:
    """The first of ``engines`` that runs a checkpoint of this form as it lies, else the first."""
    from kvplan.specs import paper

    scheme = paper.find(form)
    return next((name for name in engines if scheme is None or scheme.format in find_engine(name).formats), engines[0])
