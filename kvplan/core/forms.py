"""What a forward pass of a family holds for a moment, written as sums of tensors."""

from typing import Literal, NamedTuple


class Scan(NamedTuple):
    """A moment of a mixer that reads its prompt in chunks.

    ``token`` is alive per token, ``chunked`` per token of a prompt that is filled up to whole chunks, ``chunk`` per chunk and
    ``sequence`` per sequence; ``copied`` is like ``chunked`` unless all the batch is one of them, which is read as it lies;
    ``ordered`` is like it where a prompt is several chunks, whose products are put in order.
    """

    token: str
    chunked: str = ""
    chunk: str = ""
    sequence: str = ""
    copied: str = ""
    ordered: str = ""


class StateMoments(NamedTuple):
    """What a mixer of ``kind`` holds while it scans a prompt in chunks, and while it makes one step, without fused kernels.

    Where there is padding it reads a copy of its input without it, and ``masked`` lives beside the scan; ``eager`` is what an eager
    attention layer before it left behind.
    """

    kind: str
    scans: tuple[Scan, ...]
    step: str
    chunk_tokens: int = 1
    masked: str = "H"
    eager: str = ""


def chunked_scan(chunk_tokens: int, *, hidden: str = "3H") -> StateMoments:
    """Mamba-2: three products of each chunk with itself per head; then chunks' states, with the first, and their sum once more.

    ``hidden`` lives around it.
    """
    token, products = f"{hidden} + D + 2C + T", f"{3 * chunk_tokens}fT"
    read = Scan(token, f"{products} + 3fF + 4fD", "fZ", "2fZ", copied="fF", ordered="fD")
    summed = Scan(token, f"{products} + 3fF + 7fD", "fZ", "2fZ")
    return StateMoments("mamba2", (read, summed), "3H + 3fZ + 2Z", chunk_tokens, masked="")


def delta_scan(token: str) -> StateMoments:
    """Gated delta rule in chunks of 64: queries, keys, values and their decayed copies in float32, three products of each chunk with
    itself per head, and one chunk's values; the state while it is renewed, or all outputs put in order. ``token`` lives around it."""
    renewing = Scan(token, "4fD + 5fF + 196fT", "", "4fZ + 128fD")
    ordering = Scan(token, "5fD + 5fF + 196fT", "", "fZ + 128fD")
    return StateMoments("gated_delta", (renewing, ordering), "3H + 3fZ + C + D", chunk_tokens=64)


STATES = (
    StateMoments("mamba1", (Scan("3H + 5D + 3fD + 3fZ"),), "2H + 5fZ"),
    chunked_scan(256),
    delta_scan("3H + C + D"),
    StateMoments("rg_lru", (Scan("3H + 13D"),), "3H + 12D"),
    StateMoments("short_conv", (Scan("3H + 6C"),), "3H + 6C"),
)
"""The loops and chunked products of transformers 5.24 modeling_mamba.py, modeling_mamba2.py (chunks of 256), modeling_qwen3_next.py,
modeling_recurrent_gemma.py, modeling_lfm2.py."""


class ActivationForm(NamedTuple):
    """What a forward pass of a family holds at once beside weights and cache, in the modeling code of Transformers.

    A pass needs as much memory as its worst moment. Each text here is one moment of a layer: the tensors alive at it, as
    elements per token of the pass. ``4H + 3I`` reads: four tensors of the hidden width and three of the feed-forward's, so
    in LLaMA-2 7B (H = 4096, I = 11008), 16 bits each, 98,816 bytes per token. Letters side by side are multiplied
    (``2AH``: two tensors of the hidden width for each expert visited); a small letter in front is another element type
    than the model's, f float32, i int64, b bool (``2fH``).

    H    hidden size                              W    vocabulary
    Q    n_heads · head_dim                       O    n_heads · v_head_dim
    K, V n_kv_heads · head_dim, · v_head_dim; of a latent its own width, and that of its rotated part
    N    n_heads                                  G    n_kv_heads
    L    tokens attended to                       R    rotary width
    P    nope_head_dim (latent)                   U    q_lora_rank (latent)
    J    indexer heads                            I    width of a dense feed-forward
    A    experts a token visits                   E    experts
    M    width of an expert                       S    width of the shared experts
    D    inner channels of a state                C    those convolved
    T    heads of a state                         F    its heads · key or state width
    Z    elements of a state

    Before the layer writes its cache: ``attention``, one text for each moment of projecting and rotating q, k and v, and
    ``full_attention`` in its place where layers that see all tokens differ, ``attention_alone`` where a batch of one does, whose
    products read views, and ``attention_context`` beside all of them for each token attended to, where they read the cache.
    Around the attention kernel: ``core`` is alive beside the kernel's own tensors (``core_alone`` where it differs in a batch of
    one, whose tensors can be views), ``context`` for each token attended to.
    Eager attention adds ``scores``; ``kept_scores`` of them outlive it, ``eager_context`` is what its products copy.
    After: ``norm``, ``mlp`` and ``moe``; where the last two are empty the engine takes the usual three or two projections.
    ``states`` are the moments of mixers that keep a state.
    Through the whole pass: ``resident``, per token, beside ids, positions and ``rope_tables`` pairs of cos and sin of
    ``rotary_dim`` (``rope_float32`` where they keep that type, ``rope_each`` where each sequence has its own),
    ``learned_positions``, ``constant_bytes``, and ``idle_masks`` made and that no layer uses. Windows have one mask for the
    batch, with ``masks_each`` one a sequence; with ``masks_all`` SDPA gets the
    causal mask of every prompt, although it would need none,
    and with ``mask_heads`` a bias of each head, which ``core`` counts. At its end: ``logits``, the copies of the output row.

    ``eager_only``: neither SDPA nor flash attention is supported (softcap, sinks). ``kv_heads`` says what happens where they
    are fewer than the query heads: ``repeated`` in eager attention, ``shared`` without a copy, ``broadcast``, which leaves
    SDPA only its math kernel, or ``expanded`` before they are cached, which then keeps one for each query head.
    ``gathers_experts``: decoding copies the experts of each token. ``merges_experts``: files hold experts one by one, and loading
    makes one tensor of them. ``checked`` is False where nobody compared the form
    with a trace of the modeling code: the engine then widens its interval. ``order`` and, of a mixture of experts, ``moe_order``
    are a layer's tensors in the order in which the pass over a prompt makes and drops them (specs/orders.py), empty where nobody traced it.
    """

    norm: str = "3H + 2fH"
    attention: tuple[str, ...] = ("3H + 4Q + K + V", "3H + 2Q + 4K + V")
    full_attention: tuple[str, ...] | None = None
    attention_alone: tuple[str, ...] | None = None
    attention_context: str = ""
    core: str = "3H + Q"
    core_alone: str = ""
    context: str = ""
    scores: str = "NL + 2fNL"
    eager_context: str = ""
    kept_scores: str = "NL"
    mlp: tuple[str, ...] = ()
    moe: tuple[str, ...] = ()
    states: tuple[StateMoments, ...] = STATES
    logits: str = "W"
    resident: str = ""
    rotary_dim: int | None = None
    rope_tables: int = 1
    rope_float32: bool = False
    rope_each: bool = False
    learned_positions: bool = False
    constant_bytes: int = 0
    idle_masks: int = 0
    masks_all: bool = False
    masks_each: bool = False
    mask_heads: bool = False
    eager_only: bool = False
    kv_heads: Literal["repeated", "shared", "broadcast", "expanded"] = "repeated"
    gathers_experts: bool = True
    merges_experts: bool = True
    checked: bool = False
    order: str = ""
    moe_order: str = ""
