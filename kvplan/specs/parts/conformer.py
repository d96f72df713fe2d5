"""The Universal Speech Model's conformer, as Gemma's audio encoders have it: no biases, RMS norms, a light convolution.

Source: Zhang et al. 2023, arXiv:2303.01037 §2; transformers 5.24 models/{gemma3n,gemma4}.
"""

from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.tower import conv, parameter


def conformer_layer(hidden: int, n_heads: int, kernel: int) -> Groups:
    """Two feed-forwards around attention with relative positions and a depthwise convolution of ``kernel`` taps."""
    return (
        *_feed_forward("ffw_layer_start", hidden),
        *_attention(hidden, n_heads),
        *_light_conv(hidden, kernel),
        *_feed_forward("ffw_layer_end", hidden),
        *norm("norm_out", hidden),
    )


def _feed_forward(name: str, hidden: int) -> Groups:
    return (
        *norm(f"{name}.pre_layer_norm", hidden),
        *linear(f"{name}.ffw_layer_1", 4 * hidden, hidden, role="audio"),
        *linear(f"{name}.ffw_layer_2", hidden, 4 * hidden, role="audio"),
        *norm(f"{name}.post_layer_norm", hidden),
    )


def _attention(hidden: int, n_heads: int) -> Groups:
    """The heads share ``hidden`` in whole elements; one learned scale per element of a head."""
    head_dim = hidden // n_heads
    inner = n_heads * head_dim
    return (
        *norm("norm_pre_attn", hidden),
        *(
            group
            for name in ("q_proj", "k_proj", "v_proj", "relative_k_proj")
            for group in linear(f"self_attn.{name}", inner, hidden, role="audio")
        ),
        *linear("self_attn.post", hidden, inner, role="audio"),
        parameter("self_attn.per_dim_scale", head_dim),
        *norm("norm_post_attn", hidden),
    )


def _light_conv(hidden: int, kernel: int) -> Groups:
    return (
        *norm("lconv1d.pre_layer_norm", hidden),
        *linear("lconv1d.linear_start", 2 * hidden, hidden, role="audio"),
        *conv("lconv1d.depthwise_conv1d", hidden, 1, kernel, bias=False),
        *norm("lconv1d.conv_norm", hidden),
        *linear("lconv1d.linear_end", hidden, hidden, role="audio"),
    )
