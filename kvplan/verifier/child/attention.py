"""``scaled_dot_product_attention`` as a GPU of compute capability 8.0 runs it, down to the operators that make tensors.

Without a GPU torch always takes the path of plain matrix products, and would make every score. The choice and what is made around
the kernels follow PyTorch 2.13 aten/src/ATen/native/transformers/{attention.cpp, cuda/sdp_utils.cpp, cuda/attention.cu}.
"""

import torch
from torch.nn import functional

_PLAIN = functional.scaled_dot_product_attention
_HALF = (torch.float16, torch.bfloat16)
_WIDEST_HEAD = 256  # of the flash kernels
_ONE_PASS = 128  # widest heads that the memory-efficient kernel keeps in registers; wider ones accumulate in float32
_MASK_ALIGNMENT = 8  # elements


def on_gpu(  # noqa: PLR0913 - torch's own signature
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    attn_mask: "torch.Tensor | None" = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,  # noqa: FBT001, FBT002 - the same
    scale: float | None = None,
    enable_gqa: bool = False,  # noqa: FBT001, FBT002 - the same
) -> "torch.Tensor":
    """Flash attention where it can, else the memory-efficient kernel, else plain products."""
    if query.dim() != 4:
        return _PLAIN(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    grouped = query.shape[1] != key.shape[1]
    if _takes_flash(query, key, value) and attn_mask is None and (enable_gqa or not grouped):
        return _flash(query, key, value, is_causal=is_causal, scale=scale)
    if not grouped and _takes_efficient(query, value):
        return _efficient(query, key, value, attn_mask, is_causal=is_causal, scale=scale)
    return _PLAIN(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)


def _takes_flash(query: "torch.Tensor", key: "torch.Tensor", value: "torch.Tensor") -> bool:
    """Half precision and heads of one width."""
    width = int(query.shape[-1])
    return query.dtype in _HALF and width == key.shape[-1] == value.shape[-1] and width <= _WIDEST_HEAD


def _takes_efficient(query: "torch.Tensor", value: "torch.Tensor") -> bool:
    """Heads whose rows are aligned to 16 bytes."""
    elements = 16 // query.element_size()
    return not any(int(tensor.shape[-1]) % elements for tensor in (query, value))


def _flash(query: "torch.Tensor", key: "torch.Tensor", value: "torch.Tensor", *, is_causal: bool, scale: float | None) -> "torch.Tensor":
    """The output beside the logarithms of the sums; heads are padded to a multiple of 8."""
    width = query.shape[-1]
    missing = -width % 8
    if missing:
        query, key, value = (functional.pad(tensor, (0, missing)) for tensor in (query, key, value))
    scale = width**-0.5 if scale is None else scale  # of the width before padding
    made = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, is_causal=is_causal, scale=scale)
    out: torch.Tensor = made[0]
    return out[..., :width] if missing else out


def _efficient(
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    mask: "torch.Tensor | None",
    *,
    is_causal: bool,
    scale: float | None,
) -> "torch.Tensor":
    """The output, beside the bias that a mask becomes and the accumulator of wide heads."""
    bias = None if mask is None else _bias(mask, query, key)
    made = torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, bias, compute_log_sumexp=False, is_causal=is_causal, scale=scale
    )
    out: torch.Tensor = made[0]
    if query.dtype in _HALF and max(query.shape[-1], value.shape[-1]) > _ONE_PASS:
        torch.empty(out.shape, dtype=torch.float32, device=out.device)
    return out


def _bias(mask: "torch.Tensor", query: "torch.Tensor", key: "torch.Tensor") -> "torch.Tensor":
    """What is added to the scores: a yes or no becomes 0 or -inf in the type of the query, rows of an odd length are padded."""
    if mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill_(mask.logical_not(), float("-inf"))
    n_keys = key.shape[-2]
    missing = -n_keys % _MASK_ALIGNMENT
    if missing:
        mask = functional.pad(mask, (0, missing))[..., :n_keys]
    return mask.expand(query.shape[0], query.shape[1], query.shape[-2], n_keys)
