"""States of fixed size as engines split them over ranks."""

from kvplan.core.mixers import Mixer


def state_elems(mixer: Mixer, tp: int, n_drafted: int = 0) -> tuple[int, int]:
    """Elements of one sequence on one rank: past inputs of the convolution, ``n_drafted`` more than it needs, and the state.

    Zeros for kinds that no server keeps. Source: vllm 0.33 model_executor/layers/mamba/mamba_utils.py, MambaStateShapeCalculator;
    sglang 0.5.23 srt/configs/mamba_utils.py, Mamba2StateShape.create.
    """
    match mixer.kind:
        case "mamba1":
            rows = mixer.inner_dim // tp
            return rows * (mixer.conv_kernel - 1), rows * mixer.state_dim
        case "mamba2":
            groups = mixer.n_groups if mixer.n_groups % tp == 0 else tp
            channels = (mixer.inner_dim + 2 * groups * mixer.state_dim) // tp
            return channels * (mixer.conv_kernel - 1 + n_drafted), mixer.n_heads // tp * mixer.head_dim * mixer.state_dim
        case "gated_delta":
            channels = mixer.conv_dim // tp
            return channels * (mixer.conv_kernel - 1 + n_drafted), mixer.n_v_heads // tp * mixer.v_head_dim * mixer.k_head_dim
        case "short_conv":
            return mixer.channels // tp * (mixer.conv_kernel - 1 + n_drafted), 0
        case "linear":
            return 0, mixer.state_elems // tp
        case _:
            return 0, 0


def asked_dtype(mixer: Mixer) -> str | None:
    """The element type that the model itself asks for, None where it asks for none."""
    if mixer.kind == "gated_delta":
        return "float32" if mixer.per_channel else mixer.state_dtype
    return mixer.state_dtype if mixer.kind == "mamba2" else None
