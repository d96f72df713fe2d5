"""Decoders in which some layers, or all, see only a window of the last tokens.

Source: llama.cpp b11434 src/models/, those whose load_arch_hparams sets LLAMA_SWA_TYPE_STANDARD. Phi-3 has a window in every
layer (transformers 5.24 models/phi3), which llama.cpp ignores; what an engine makes of it is not said here.
"""

from typing import NamedTuple

from kvplan.specs.gguf.attention import attending, next_attending, sliding, windowed
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.plan import Plan


class Rhythm(NamedTuple):
    """One layer in ``period`` sees everything, the last of them or (``dense_first``) the first; 0: none does.

    ``window`` is that of files that give none; without it they have none, or (``needed``) must give it. ``fixed`` windows
    are of this size whatever the file says, unless it says 0. A ``listed`` pattern must be in the file.
    """

    period: int
    dense_first: bool = False
    window: int = 0
    needed: bool = False
    fixed: bool = False
    listed: bool = False


_LISTED = Rhythm(0, needed=True, listed=True)
_RHYTHMS = {
    "gemma2": Rhythm(2, window=4096),
    "gemma3": Rhythm(6),
    "gpt-oss": Rhythm(2, needed=True),
    "cohere2": Rhythm(4, needed=True),
    "cohere2moe": Rhythm(4, dense_first=True, needed=True),
    "exaone-moe": Rhythm(4, needed=True),
    "afmoe": Rhythm(4),
    "laguna": Rhythm(4, dense_first=True),
    "mellum": Rhythm(4),
    "muse-glimmer": Rhythm(4, needed=True),
    "olmo2": Rhythm(4),
    "plamo3": Rhythm(8),
    "smallthinker": Rhythm(4, dense_first=True, window=4096, fixed=True),
    "phi3": Rhythm(0),
    "granite_swa": _LISTED,
    "maple": _LISTED,
    "mimo2": _LISTED,
    "spark2_5": _LISTED,
    "step35": _LISTED,
}
GGUF_ARCHS = ("exaone4", *_RHYTHMS)


def plan(keys: Keys) -> Plan:
    """Windows by the architecture's rhythm, or by the pattern that the file gives."""
    rhythm = _rhythm(keys)
    window = _window(keys, rhythm)
    if not window:
        return Plan(keys.layers(lambda i: attending(keys, i)), next_attending(keys))
    if rhythm.listed and keys.flags("attention.sliding_window_pattern") is None:
        raise keys.error("attention.sliding_window_pattern", "missing: expected a truth value for each layer")
    narrow = windowed(keys, rhythm.period, dense_first=rhythm.dense_first)
    layers = keys.layers(lambda i: sliding(keys, i, window) if narrow[i] else attending(keys, i))
    return Plan(layers, next_attending(keys))


def _rhythm(keys: Keys) -> Rhythm:
    """EXAONE 4 has windows in its large model alone, known by its 64 layers."""
    if keys.arch == "exaone4":
        return Rhythm(4, window=4096) if keys.n_layers == 64 else Rhythm(4, fixed=True)
    return _RHYTHMS[keys.arch]


def _window(keys: Keys, rhythm: Rhythm) -> int:
    key = "attention.sliding_window"
    if rhythm.needed:
        return keys.integer(key, least=0)
    given = keys.integer(key, default=0 if rhythm.fixed else rhythm.window, least=0)
    return rhythm.window if rhythm.fixed and given else given
