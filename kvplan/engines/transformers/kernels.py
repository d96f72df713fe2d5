"""Attention kernels: which one PyTorch takes, and the tensors it needs beside what the layer keeps alive.

Source: transformers 5.24 integrations/sdpa_attention.py (repeat_kv, pack_gqa, use_gqa_in_sdpa); PyTorch 2.13
aten/src/ATen/native/transformers/cuda/sdp_utils.cpp (choice of flash, memory-efficient, math) and attention.cu.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from kvplan.core.mixers import Mixer
from kvplan.core.units import ceil_to

Kernel = Literal["flash", "efficient", "math", "eager"]

FLASH_HEAD_DIM = 256
AMPERE = (8, 0)
FLOAT32 = 4


class Moment(NamedTuple):
    """Bytes alive at one moment: per token of the pass, per pair of tokens that attend, and per token attended to.

    ``padded`` is like ``pair`` with the tokens attended to rounded up to 8; ``ragged`` the same, and only where they are no
    multiple of 8. ``square`` is per pair, shared by all sequences. ``what`` are its elements per token as in an ActivationForm,
    and after a comma words that say when.
    """

    token: int
    pair: int = 0
    attended: int = 0
    padded: int = 0
    ragged: int = 0
    square: int = 0
    what: str = ""


class Shape(NamedTuple):
    """What the choice of a kernel depends on: head counts and widths of one attention layer."""

    n_heads: int
    n_kv_heads: int
    head_dim: int
    v_head_dim: int

    @property
    def grouped(self) -> bool:
        """Whether several query heads share a KV head."""
        return self.n_heads != self.n_kv_heads


class Context(NamedTuple):
    """The run around the kernel: setting, element size, device, and whether it is decoding under a mask.

    ``packs_queries`` and ``reads_groups`` are the version's, ``kv_heads`` is the form's: what happens where they are fewer
    than the query heads. ``alone``: the batch is one sequence, ``biased``: the mask is a bias of each head.
    """

    attn: str
    kv_heads: str
    elem_bytes: int
    bfloat16: bool
    capability: tuple[int, int] | None
    decoding: bool
    masked: bool
    packs_queries: bool
    reads_groups: bool = True
    alone: bool = False
    biased: bool = False


def shape_of(mixer: Mixer) -> Shape | None:
    """The attention shape of a mixer as its kernel sees it; None for mixers without one."""
    match mixer.kind:
        case "full" | "sliding" | "chunked":
            return Shape(mixer.n_heads, mixer.n_kv_heads, mixer.head_dim, mixer.v_head_dim)
        case "mla":
            return Shape(mixer.n_heads, mixer.n_heads, mixer.nope_head_dim + mixer.rope_head_dim, mixer.v_head_dim)
        case "compressed" | "cross":
            return Shape(mixer.n_heads, mixer.n_kv_heads, mixer.head_dim, mixer.head_dim)
        case "mamba1" | "mamba2" | "gated_delta" | "linear" | "short_conv" | "rwkv" | "rg_lru":  # pragma: no branch - the kinds end here
            return None


def choose(shape: Shape, run: Context) -> tuple[Kernel, bool]:
    """The kernel, and whether keys and values are first repeated for each query head.

    Order of PyTorch: flash (half precision, no mask, equal head dims up to 256, compute capability 8.0), memory-efficient
    (equal head counts), math. Transformers lets SDPA read keys in groups only without a mask.
    """
    if run.attn == "eager":
        return "eager", shape.grouped and run.kv_heads == "repeated"
    if run.attn == "flash_attention_2":
        return "flash", False
    if shape.grouped and run.kv_heads == "broadcast":
        return "math", False
    in_groups = _in_groups(shape, run)
    packed = shape.grouped and not in_groups and run.decoding and run.packs_queries
    half = run.elem_bytes == 2
    ampere = run.capability is None or run.capability >= AMPERE
    if half and ampere and not run.masked and shape.head_dim == shape.v_head_dim <= FLASH_HEAD_DIM:
        return "flash", shape.grouped and not packed and not in_groups
    fits = not in_groups and (not half or shape.head_dim % 8 == shape.v_head_dim % 8 == 0) and (ampere or not run.bfloat16)
    return ("efficient" if fits else "math"), shape.grouped and not packed and not in_groups


def _in_groups(shape: Shape, run: Context) -> bool:
    """Whether Transformers leaves it to SDPA to read keys in groups."""
    return (
        run.reads_groups
        and shape.grouped
        and not run.masked
        and run.kv_heads != "broadcast"
        and shape.head_dim == shape.v_head_dim <= FLASH_HEAD_DIM
    )


def moments(shape: Shape, run: Context, core: Moment, scores: Moment, widths: Mapping[str, int]) -> tuple[Moment, ...]:
    """Moments inside the kernel: ``core`` is alive around it, ``scores`` are eager attention's own."""
    kernel, repeats = choose(shape, run)
    elem = run.elem_bytes
    copies = repeats and shape.n_kv_heads > 1  # a single head is expanded into a view
    around = core._replace(attended=core.attended + elem * (widths["Q"] + shape.n_heads * shape.v_head_dim) * copies)
    match kernel:
        case "eager":
            shared = shape.grouped and not copies and not (repeats and run.alone)
            return _eager(shape, around, scores, elem * widths["Q"] if shared else 0, elem)
        case "flash":
            return (_flash(shape, around, elem),)
        case "efficient":
            return _efficient(shape, run, around)
        case "math":  # pragma: no branch - the kinds end here
            return _math(shape._replace(n_kv_heads=shape.n_heads if repeats else shape.n_kv_heads), run, around, widths)


def _eager(shape: Shape, around: Moment, scores: Moment, copied: int, elem: int) -> tuple[Moment, ...]:
    """Scores and their softmax; where KV heads are shared, the product itself copies keys for each query head (``copied`` bytes)."""
    what = f"{around.what} + {scores.what}, in eager attention"
    found = around._replace(token=around.token + scores.token, pair=around.pair + scores.pair, what=what)
    if not copied:
        return (found,)
    what = f"{around.what} + NL, and keys copied for each head"
    return found, around._replace(pair=around.pair + elem * shape.n_heads, attended=around.attended + copied, what=what)


def _efficient(shape: Shape, run: Context, around: Moment) -> tuple[Moment, ...]:
    """The output, in half precision with a float32 accumulator where heads are wider than 128; under a mask also its bias."""
    elem, out = run.elem_bytes, shape.n_heads * shape.v_head_dim
    accumulator = FLOAT32 * out if max(shape.head_dim, shape.v_head_dim) > 128 and elem == 2 else 0
    what = f"{around.what} + O{' + fO' if accumulator else ''}, in the memory-efficient kernel"
    after = around._replace(token=around.token + elem * out + accumulator, what=what)
    # A bias is made of the bool mask for each layer; unless it ends on a multiple of 8 it is copied into one that does.
    if not run.masked or run.biased:
        return (after._replace(ragged=elem * shape.n_heads * run.masked),)
    bias = around._replace(pair=around.pair + elem, ragged=elem, what=f"{around.what}, as the mask becomes a bias")
    return after._replace(padded=elem), bias


def _flash(shape: Shape, around: Moment, elem: int) -> Moment:
    """Output and float32 log-sum-exp; head dims that are no multiple of 8 are padded in copies of q, k and v."""
    width = ceil_to(shape.head_dim, 8)
    token = elem * shape.n_heads * width + FLOAT32 * shape.n_heads
    what = f"{around.what} + O + fN, in the flash kernel"
    if width == shape.head_dim:
        return around._replace(token=around.token + token, what=what)
    keys = elem * 2 * shape.n_kv_heads * width
    return around._replace(token=around.token + token + elem * shape.n_heads * width, attended=around.attended + keys, what=what)


def _math(shape: Shape, run: Context, around: Moment, widths: Mapping[str, int]) -> tuple[Moment, ...]:
    """Queries in float32 and scaled, float32 copies of keys and values, repeated for each query head where they are in groups; the
    scores, and three times as many while softmax looks for rows without any; the output, beside probabilities rounded for nobody.
    Its own causal mask, or the bias that a mask becomes.

    Source: PyTorch 2.13 attention.cpp, _scaled_dot_product_attention_math and _safe_softmax.
    """
    half = run.elem_bytes < FLOAT32
    per_head = FLOAT32 * (shape.head_dim + shape.v_head_dim)
    expanded = per_head * shape.n_heads if _in_groups(shape, run) else 0
    held = around.attended + expanded + (per_head * shape.n_kv_heads if half else 0)
    scaled = FLOAT32 * shape.head_dim * (shape.n_heads if expanded else shape.n_kv_heads)
    copies = run.kv_heads == "broadcast" and shape.grouped and not run.alone  # products copy keys and values for each query head
    scaled += FLOAT32 * shape.head_dim * shape.n_heads if copies else 0
    queries, scores = FLOAT32 * widths["Q"], FLOAT32 * shape.n_heads
    kept = around._replace(
        token=around.token + queries * (2 if half else 1),
        attended=held,
        square=around.square + (0 if run.masked or run.decoding else FLOAT32),
        pair=around.pair + (run.elem_bytes if run.masked else 0),
    )
    what, where = f"{around.what} + {'2' if half else ''}fQ", ", in SDPA's math kernel"
    copied = 0 if run.decoding else queries  # the product wants heads in rows
    out = shape.n_heads * shape.v_head_dim
    ends = kept._replace(token=kept.token + FLOAT32 * out, pair=kept.pair + scores + (run.elem_bytes * shape.n_heads if half else 0))
    rounded, valued = run.elem_bytes * out if half else 0, FLOAT32 * out if copies else 0
    return (
        kept._replace(token=kept.token + copied, pair=kept.pair + scores, attended=held + scaled, what=f"{what} + fQ + fNL{where}"),
        kept._replace(pair=kept.pair + 3 * scores + shape.n_heads, what=f"{what} + 3fNL{where}"),
        ends._replace(attended=held + valued, what=f"{what} + fO + NL + fNL{where}"),
        ends._replace(token=ends.token + rounded, what=f"{what} + O + fO + NL + fNL{where}"),
    )
