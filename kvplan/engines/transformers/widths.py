"""Widths of a layer under the letters of ActivationForm, and sums of them as bytes."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from kvplan.core.mixers import Mixer
from kvplan.core.model import Layer

_OTHER_BYTES = {"f": 4, "i": 8, "b": 1}
_OTHER_NAMES = {"f": "float32", "i": "int64", "b": "bool"}
PAIR = "L"
NAMES = {
    "H": "hidden size",
    "I": "feed-forward width",
    "Q": "query width",
    "K": "key width, of a latent its own",
    "V": "value width, of a latent the rotated part",
    "O": "attention output width",
    "N": "query heads",
    "G": "KV heads",
    "P": "unrotated part of a head",
    "U": "rank of the queries",
    "J": "indexer heads",
    "A": "experts a token visits",
    "E": "experts",
    "M": "width of an expert",
    "S": "width of the shared experts",
    "D": "inner channels of the state",
    "C": "convolved channels",
    "T": "heads of the state",
    "F": "heads of the state · their key width",
    "Z": "elements of the state",
    "W": "vocabulary",
    "R": "rotary width",
    PAIR: "tokens attended to",
}
LETTERS = "".join(NAMES)


class Rate(NamedTuple):
    """Bytes per token of a forward pass, and per pair of such a token and one that it attends to."""

    token: int
    pair: int


class Term(NamedTuple):
    """``times`` tensors of the product of ``letters``, in the model's type or one named by ``elem``."""

    times: int
    elem: str
    letters: str


@lru_cache(maxsize=512)
def terms(text: str) -> tuple[Term, ...]:
    """``4H + 2fNL`` as terms. The texts are a family's own and tested: a wrong one raises ValueError."""
    return tuple(_term(part.strip()) for part in text.split("+")) if text else ()


def _term(text: str) -> Term:
    digits = text[: len(text) - len(text.lstrip("0123456789"))]
    rest = text[len(digits) :]
    elem = rest[:1] if rest[:1] in _OTHER_BYTES else ""
    letters = rest[len(elem) :]
    if letters.strip(LETTERS) or not text:
        raise ValueError(f"'{text}': expected a count, a type (f, i, b) and widths such as 2fNL")
    return Term(int(digits or 1), elem, letters)


def rate(text: str, widths: Mapping[str, int], elem_bytes: int) -> Rate:
    """Bytes of ``text`` for a layer with ``widths``, its own element type taking ``elem_bytes``."""
    token = pair = 0
    for times, elem, letters in terms(text):
        size = times * (_OTHER_BYTES[elem] if elem else elem_bytes)
        for letter in letters:
            if letter != PAIR:
                size *= widths[letter]
        if PAIR in letters:
            pair += size
        else:
            token += size
    return Rate(token, pair)


def legend(text: str, widths: Mapping[str, int]) -> str:
    """What the letters of ``text`` mean and are: ``H = 4,096 (hidden size)``; its own element types first."""
    found = terms(text)
    types = [f"{elem}: {_OTHER_NAMES[elem]}" for elem in dict.fromkeys(term.elem for term in found) if elem]
    letters = [letter for letter in dict.fromkeys("".join(term.letters for term in found)) if letter in widths]
    return ", ".join((*types, *(f"{letter} = {widths[letter]:,} ({NAMES[letter]})" for letter in letters)))


def widths_of(layer: Layer, hidden: int, vocab: int, rotary: int = 0) -> dict[str, int]:
    """The letters of ActivationForm for one layer; 0 for what it doesn't have."""
    found = dict.fromkeys(LETTERS, 0) | {"H": hidden, "W": vocab, "R": rotary}
    for mixer in layer.mixers:
        found |= _attention(mixer) | _state(mixer)
    for ffn in layer.ffns:
        if ffn.kind == "dense":
            found["I"] = ffn.intermediate
        else:
            found |= {"A": ffn.n_active, "E": ffn.n_experts, "M": ffn.intermediate, "S": ffn.shared_intermediate}
    return found


def _attention(mixer: Mixer) -> dict[str, int]:
    match mixer.kind:
        case "full" | "sliding" | "chunked":
            return _heads(mixer.n_heads, mixer.n_kv_heads, mixer.head_dim, mixer.v_head_dim)
        case "compressed" | "cross":
            return _heads(mixer.n_heads, mixer.n_kv_heads, mixer.head_dim, mixer.head_dim)
        case "mla":
            heads = _heads(mixer.n_heads, mixer.n_heads, mixer.nope_head_dim + mixer.rope_head_dim, mixer.v_head_dim)
            latent = {"K": mixer.kv_lora_rank, "V": mixer.rope_head_dim, "P": mixer.nope_head_dim, "U": mixer.q_lora_rank or 0}
            return heads | latent | {"J": mixer.indexer.n_heads if mixer.indexer else 0}
        case "mamba1" | "mamba2" | "gated_delta" | "linear" | "short_conv" | "rwkv" | "rg_lru":  # pragma: no branch - the kinds end here
            return {}


def _state(mixer: Mixer) -> dict[str, int]:
    match mixer.kind:
        case "mamba1":
            return {"D": mixer.inner_dim, "C": mixer.inner_dim, "Z": mixer.state_elems}
        case "mamba2":
            return {
                "D": mixer.inner_dim,
                "C": mixer.conv_dim,
                "T": mixer.n_heads,
                "F": mixer.n_heads * mixer.state_dim,
                "Z": mixer.state_elems,
            }
        case "gated_delta":
            heads = mixer.n_v_heads
            widths = {"D": heads * mixer.v_head_dim, "C": mixer.conv_dim, "Z": mixer.state_elems}
            return widths | {"T": heads, "F": heads * mixer.k_head_dim}
        case "linear":
            return {"D": mixer.n_heads * mixer.v_head_dim, "Z": mixer.state_elems}
        case "short_conv":
            return {"D": mixer.channels, "C": mixer.channels}
        case "rwkv":
            return {"D": mixer.hidden_size, "Z": mixer.state_elems}
        case "rg_lru":
            return {"D": mixer.width, "C": mixer.width, "Z": mixer.state_elems}
        case "full" | "sliding" | "chunked" | "compressed" | "mla" | "cross":  # pragma: no branch - the kinds end here
            return {}


def _heads(n_heads: int, n_kv_heads: int, head_dim: int, v_head_dim: int) -> dict[str, int]:
    return {
        "N": n_heads,
        "G": n_kv_heads,
        "Q": n_heads * head_dim,
        "O": n_heads * v_head_dim,
        "K": n_kv_heads * head_dim,
        "V": n_kv_heads * v_head_dim,
    }
