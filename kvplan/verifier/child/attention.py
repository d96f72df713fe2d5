"""``scaled_dot_product_attention`` as a GPU runs it, down to the operators that make tensors.

Without a GPU torch always takes the path of plain matrix products, and would make every score. What is made around the kernels
follows PyTorch 2.13 aten/src/ATen/native/transformers/{attention.cpp, cuda/attention.cu} and aten/src/ATen/native/cudnn/MHA.cpp.
"""

import torch
from torch.nn import functional

from kvplan.verifier.child.dispatch import Call, Capability, Kernel, choose

_PLAIN = functional.scaled_dot_product_attention
_HALF = (torch.float16, torch.bfloat16)
_ONE_PASS = 128  # widest heads that the memory-efficient kernel keeps in registers; wider ones accumulate in float32
_MASK_ALIGNMENT = 8  # elements


class Attention:
    """The attention of a GPU of one compute capability. ``used`` are the kernels that ran since it was emptied."""

    def __init__(self, capability: Capability) -> None:
        """``capability`` decides which kernels there are."""
        self.used: dict[Kernel, int] = {}
        self._capability = capability

    def __call__(  # noqa: PLR0913 - torch's own signature
        self,
        query: "torch.Tensor",
        key: "torch.Tensor",
        value: "torch.Tensor",
        attn_mask: "torch.Tensor | None" = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,  # noqa: FBT001, FBT002 - the same
        scale: float | None = None,
        enable_gqa: bool = False,  # noqa: FBT001, FBT002 - the same
    ) -> "torch.Tensor":
        """The output, with everything made on the way to it."""
        call = Call(query, key, value, attn_mask is not None, dropout_p, is_causal, enable_gqa)
        kernel = choose(call, self._capability)
        self.used[kernel] = self.used.get(kernel, 0) + 1
        match kernel:
            case "cudnn":
                return _cudnn(query, value, attn_mask)
            case "flash":
                return _flash(call, scale)
            case "efficient":
                return _efficient(call, attn_mask, scale)
            case "math":
                return _PLAIN(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)


def _cudnn(query: "torch.Tensor", value: "torch.Tensor", mask: "torch.Tensor | None") -> "torch.Tensor":
    """The output in the layout of the queries, beside the bias that a yes-or-no mask becomes; without gradients no sums are kept.

    The workspace that cuDNN asks for is not known, and not made.
    """
    bias = None if mask is None else _as_bias(mask, query)
    n_sequences, n_heads, n_tokens, _ = query.shape
    in_tokens = query.stride(1) < query.stride(2)
    shape = (n_sequences, n_tokens, n_heads, value.shape[-1]) if in_tokens else (n_sequences, n_heads, n_tokens, value.shape[-1])
    out = torch.empty(shape, dtype=query.dtype, device=query.device)
    del bias
    return out.transpose(1, 2) if in_tokens else out


def _flash(call: Call, scale: float | None) -> "torch.Tensor":
    """The output beside the logarithms of the sums; heads are padded to a multiple of 8."""
    query, key, value = call.query, call.key, call.value
    width = query.shape[-1]
    missing = -width % 8
    if missing:
        query, key, value = (functional.pad(tensor, (0, missing)) for tensor in (query, key, value))
    scale = width**-0.5 if scale is None else scale  # of the width before padding
    made = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, is_causal=call.is_causal, scale=scale)
    out: torch.Tensor = made[0]
    return out[..., :width] if missing else out


def _efficient(call: Call, mask: "torch.Tensor | None", scale: float | None) -> "torch.Tensor":
    """The output, beside the bias that a mask becomes and the accumulator of wide heads."""
    query, key, value = call.query, call.key, call.value
    bias = None if mask is None else _padded(_as_bias(mask, query), query, key)
    made = torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, bias, compute_log_sumexp=False, is_causal=call.is_causal, scale=scale
    )
    out: torch.Tensor = made[0]
    if query.dtype in _HALF and max(query.shape[-1], value.shape[-1]) > _ONE_PASS:
        torch.empty(out.shape, dtype=torch.float32, device=out.device)
    return out


def _as_bias(mask: "torch.Tensor", query: "torch.Tensor") -> "torch.Tensor":
    """What is added to the scores: a yes or no becomes 0 or -inf in the type of the query."""
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=query.dtype).masked_fill_(mask.logical_not(), float("-inf"))


def _padded(mask: "torch.Tensor", query: "torch.Tensor", key: "torch.Tensor") -> "torch.Tensor":
    """The bias for every head, its rows padded to a length that the kernel can read."""
    n_keys = key.shape[-2]
    missing = -n_keys % _MASK_ALIGNMENT
    if missing:
        mask = functional.pad(mask, (0, missing))[..., :n_keys]
    return mask.expand(query.shape[0], query.shape[1], query.shape[-2], n_keys)
