"""States of fixed size as vLLM shards and stores them."""

from typing import NamedTuple

from kvplan.core.mixers import Mixer
from kvplan.core.state_shapes import asked_dtype, state_elems
from kvplan.core.units import ceil_to
from kvplan.engines.vllm.content import PLAIN


class StateForm(NamedTuple):
    """How states are kept: element types (``ssm_dtype`` ``auto``: as the model asks, else as the convolution's), tokens
    drafted at once, whose inputs the convolution keeps too, the blocks of one sequence, and the tokens of a block.
    ``every_block``: the state at the end of each block is kept."""

    conv_dtype: str
    ssm_dtype: str = "auto"
    n_drafted: int = 0
    n_blocks: int = 1
    block_tokens: int = 0
    every_block: bool = False


def state_bytes(mixer: Mixer, tp: int, form: StateForm) -> int:
    """Bytes of one sequence's state on one rank.

    Source: vllm 0.33 model_executor/layers/mamba/mamba_utils.py, MambaStateDtypeCalculator.
    """
    conv, state = state_elems(mixer, tp, form.n_drafted)
    if mixer.kind == "linear":
        return state * PLAIN[form.conv_dtype]
    return conv * PLAIN[form.conv_dtype] + state * _ssm(asked_dtype(mixer), form)


def _ssm(asked: str | None, form: StateForm) -> int:
    """Bytes of a state's element."""
    named = form.ssm_dtype if form.ssm_dtype != "auto" else asked
    return PLAIN[named or form.conv_dtype]


def checkpoint_tokens(mixer: Mixer, capability: tuple[int, int] | None) -> int | None:
    """The grid on which a layer can export its state inside a prefill, None where it can't.

    Source: vllm 0.33 mamba_mixer2.py (any token), gdn/qwen_gdn_linear_attn.py, _resolve_gdn_prefill_backend (FlashInfer's
    kernel: Hopper, and Blackwell for key heads of 128); Kimi's has none, gdn/kimi_gdn_linear_attn.py.
    """
    if mixer.kind == "mamba2":
        return 1
    if mixer.kind == "gated_delta" and capability is not None and not mixer.per_channel:
        blackwell = capability[0] in (10, 12) and mixer.k_head_dim == 128
        return GDN_CHUNK if capability[0] == 9 or blackwell else None
    return None


GDN_CHUNK = 64
SCAN_CHUNK = 256  # tokens of Mamba-2's chunked scan, to which blocks are aligned where every block's state is kept


def aligned_block(block_tokens: int, kernel_tokens: int, grid: int, state: int, token: int) -> int:
    """The block of a hybrid: at least ``block_tokens``, whose attention page holds ``state`` bytes.

    ``kernel_tokens`` is the smallest block of the attention kernel, ``grid`` that of checkpoints, ``token`` the bytes of one
    token in one attention layer. Source: vllm 0.33 platforms/interface.py, _align_hybrid_block_size.
    """
    import math

    step = math.lcm(max(kernel_tokens, block_tokens), grid)
    return max(block_tokens, ceil_to(step * -(-state // (step * token)), kernel_tokens))
