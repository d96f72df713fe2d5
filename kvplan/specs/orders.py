"""The order in which a layer of each family makes and drops its tensors in the pass over a prompt, by model type.

Words are read by the engine that replays an allocator: letters are a tensor of that width as in ActivationForm, ``Q/2`` half of one,
``*K`` one that is cached; ``-3`` drops the layer's fourth, ``^`` the output of the layer before. Tensors below a sixteenth of the
hidden width are left out. Source: traces of transformers 5.24 modeling_*.py with widths that all differ.
"""

from kvplan.core.forms import ActivationForm

_ORDERS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("llama", "mistral", "qwen2", "seed_oss", "smollm3"),
        (
            "fH fH -1 fH -0 H H -3 -2 Q K K Q Q/2 Q -9 Q -10 Q -8 -11 K K/2 K -14 K -15 K -13 -16 -5 -6 *K *K -17 -7 Q H -20 -12 -4 "
            "H -21 fH fH -24 fH -23 H H -26 -25 I I -28 I I -29 -30 H -31 -27 H -32 -22 ^"
        ),
        "",
    ),
    (
        ("qwen3",),
        (
            "fH fH -1 fH -0 H H -3 -2 Q fQ fQ -7 fQ -6 Q Q -9 -8 -5 K fK fK -13 fK -12 K K -15 -14 -11 K Q Q/2 Q -19 Q -20 Q -18 "
            "-21 K K/2 K -24 K -25 K -23 -26 -10 -16 *K *K -27 -17 Q H -30 -22 -4 H -31 fH fH -34 fH -33 H H -36 -35 I I -38 I I "
            "-39 -40 H -41 -37 H -42 -32 ^"
        ),
        "",
    ),
    (
        ("gemma",),
        (
            "fH fH -1 fH -0 fH -2 H -3 Q K K Q Q/2 Q -9 Q -10 Q -8 -11 K K K -14 K -13 -15 -5 -6 *K *K -16 -7 Q H -19 -12 -4 H -20 "
            "fH fH -23 fH -22 fH -24 H -25 I I -27 I I -28 -29 H -30 -26 H -31 -21 ^"
        ),
        "",
    ),
    (
        ("gemma3_text",),
        (
            "fH fH -1 fH -0 fH -2 H -3 Q K K fQ fQ -9 fQ -8 fQ -10 Q -11 -5 fK fK -14 fK -13 fK -15 K -16 -6 Q Q/2 Q -19 Q -20 Q "
            "-18 -21 K K/2 K -24 K -25 K -23 -26 -12 -17 *K *K -27 -7 Q H -30 -22 -4 fH fH -33 fH -32 fH -34 H -35 -31 H -36 fH fH "
            "-39 fH -38 fH -40 H -41 I I -43 I I -44 -45 H -46 -42 fH fH -49 fH -48 fH -50 H -51 -47 H -52 -37 ^"
        ),
        "",
    ),
    (
        ("phi3",),
        (
            "fH fH -1 fH -0 H H -3 -2 Q+K+V Q Q/2 Q -7 Q -8 Q -6 -9 Q -10 K K/2 K -13 K -14 K -12 -15 K -16 *K *K -17 Q Q -20 H -21 "
            "-5 -11 -4 H -22 fH fH -25 fH -24 H H -27 -26 fI I I -30 H -31 -29 -28 H -32 -23 ^"
        ),
        "",
    ),
    (
        ("granite",),
        (
            "fH fH -1 fH -0 H H -3 -2 Q K K Q Q/2 Q -9 Q -10 Q -8 -11 K K/2 K -14 K -15 K -13 -16 -5 -6 *K *K -17 -7 Q H -20 -12 -4 "
            "H H -22 -21 fH fH -25 fH -24 H H -27 -26 I I -29 I I -30 -31 H -32 -28 H H -34 -33 -23 ^"
        ),
        "",
    ),
    (
        ("cohere", "cohere2"),
        (
            "fH fH fH -1 -2 fH fH -3 -0 fH -4 H -5 Q K K fQ fK fQ Q fQ -13 fQ -14 fQ -12 -15 fK K fK -18 fK -19 fK -17 -20 Q K -10 "
            "-11 -16 -21 -7 -8 *K *K -23 -9 Q H -26 -22 I I -28 I I -29 -30 H -31 H H -33 -6 -27 -32 ^"
        ),
        "",
    ),
    (
        ("stablelm",),
        (
            "H H K K NR NR/2 NR -5 NR -6 NR -4 -7 H K *K *K -10 -3 H H -13 H -14 -9 -8 -1 -2 H H I I -18 I I -19 -20 H -21 -17 H -0 "
            "-16 -15 -22 ^"
        ),
        "",
    ),
    (
        ("gpt_neox",),
        (
            "H Q+K+V NR NR/2 NR -3 NR -4 NR -2 -5 NR NR/2 NR -8 NR -9 NR -7 -10 H -6 H -11 *H *H -13 H H -16 H -17 -1 -12 -0 H I I "
            "-20 H -21 -19 H H -23 -18 -22 ^"
        ),
        "",
    ),
    (
        ("gptj",),
        (
            "H H H H NR NR/2 NR -5 NR -6 NR -4 -7 NR NR/2 NR -10 NR -11 NR -9 -12 H H *H *H -14 -3 H H -18 -15 -8 -2 -13 -1 I I I I "
            "-22 I -23 I -24 I -25 I -26 I -21 -27 -20 H -28 H H -30 -0 -19 -29 ^"
        ),
        "",
    ),
    (
        ("gpt2",),
        "H Q+K+V *H *H H H -4 -1 H -0 H I I I I -10 I -11 I -12 I -13 I -14 I -9 -15 -8 H -16 H -7 -6 -5 -17 ^",
        "",
    ),
    (
        ("exaone4",),
        (
            "Q K K fQ fQ -4 fQ -3 Q Q -6 -5 -0 fK fK -9 fK -8 K K -11 -10 -1 Q Q/2 Q -14 Q -15 Q -13 -16 K K/2 K -19 K -20 K -18 "
            "-21 -7 -12 *K *K -22 -2 Q H -25 -17 fH fH -28 fH -27 H H -30 -29 -26 H -31 I I -33 I I -34 -35 H -36 fH fH -39 fH -38 "
            "H H -41 -40 -37 H -42 -32 ^"
        ),
        "",
    ),
    (
        ("mixtral",),
        "",
        (
            "fH fH -1 fH -0 H H -3 -2 Q K K Q Q/2 Q -9 Q -10 Q -8 -11 K K/2 K -14 K -15 K -13 -16 -5 -6 *K *K -17 -7 Q H -20 -12 -4 "
            "H -21 fH fH -24 fH -23 H H -26 -25 fE fE -28 -29 fH 2fM fM fM -32 -31 fH -33 2fH 2fH -35 fH H -30 -34 -36 -37 -27 H "
            "-38 -22 ^"
        ),
    ),
    (
        ("qwen2_moe",),
        "",
        (
            "fH fH -1 fH -0 H H -3 -2 Q K K Q Q/2 Q -9 Q -10 Q -8 -11 K K/2 K -14 K -15 K -13 -16 -5 -6 *K *K -17 -7 Q H -20 -12 -4 "
            "H -21 fH fH -24 fH -23 H H -26 -25 S S -28 S S -29 -30 H -31 fE fE -33 -34 AH fAM AM AM -37 -36 AH -38 AH AH -40 H -35 "
            "-39 -41 H -32 H -42 -43 -27 H -44 -22 ^"
        ),
    ),
    (
        ("qwen3_moe",),
        "",
        (
            "fH fH -1 fH -0 H H -3 -2 Q fQ fQ -7 fQ -6 Q Q -9 -8 -5 K fK fK -13 fK -12 K K -15 -14 -11 K Q Q/2 Q -19 Q -20 Q -18 "
            "-21 K K/2 K -24 K -25 K -23 -26 -10 -16 *K *K -27 -17 Q H -30 -22 -4 H -31 fH fH -34 fH -33 H H -36 -35 fE fE -38 -39 "
            "AH fAM AM AM -42 -41 AH -43 AH AH -45 H -40 -44 -46 -37 H -47 -32 ^"
        ),
    ),
    (
        ("glm4_moe",),
        "",
        (
            "fH fH -1 fH -0 H H -3 -2 Q K K Q/2 NR/2 Q/2 -9 Q/2 -10 Q/2 -8 -11 K/2 K/2 K/2 -14 K/2 -13 -15 Q -12 K -16 -5 -6 *K *K "
            "-18 -7 Q Q -21 H -22 -17 -4 H -23 fH fH -26 fH -25 H H -28 -27 fH fE -30 fE fE fE -33 -32 -34 AH fAM AM AM -37 -36 AH "
            "-38 fAH fAH -40 fH H -35 -39 -41 -42 M M -44 M M -45 -46 H -47 H -48 -43 -31 -29 H -49 -24 ^"
        ),
    ),
    (
        ("minimax_m2",),
        "",
        (
            "fH fH -1 fH -0 H H -3 -2 Q fQ fQ -7 fQ -6 Q Q -9 -8 -5 K fK fK -13 fK -12 K K -15 -14 -11 K Q/2 NR/2 Q/2 -19 Q/2 -20 "
            "Q/2 -18 -21 K/2 K/2 K/2 -24 K/2 -23 -25 Q -22 K -26 -10 -16 *K *K -28 -17 Q Q -31 H -32 -27 -4 H -33 fH fH -36 fH -35 "
            "H H -38 -37 fE fE -40 fE -41 -42 AH fAM AM AM -45 -44 AH -46 fAH fAH -48 fH H -43 -47 -49 -50 -39 H -51 -34 ^"
        ),
    ),
    (
        ("deepseek_v3",),
        (
            "fH fH -1 fH -0 H H -3 -2 U fU fU -7 fU -6 U U -9 -8 -5 Q -10 K+V fK fK -14 fK -13 K K -16 -15 NR/2 NR/2 NR/2 -18 -19 "
            "NR/2 NR/2 NR/2 -21 -22 NR -23 -20 *K -17 Q NP+O Q O fO -30 H -29 -11 -24 -12 -26 -28 -27 -4 H -31 fH fH -34 fH -33 H H "
            "-36 -35 I I -38 I I -39 -40 H -41 -37 H -42 -32 ^"
        ),
        (
            "fH fH -1 fH -0 H H -3 -2 U fU fU -7 fU -6 U U -9 -8 -5 Q -10 K+V M M -14 M -13 K K -16 -15 NR/2 NR/2 NR/2 -18 -19 NR/2 "
            "NR/2 NR/2 -21 -22 NR -23 -20 *K -17 Q NP+O Q O fO -30 H -29 -11 -24 -12 -26 -28 -27 -4 H -31 fH fH -34 fH -33 H H -36 "
            "-35 fH 2fV -38 2fV 2fV 2fV 2fV -41 -40 -43 -42 AH fAM AM AM -46 -45 AH -47 fAH fAH -49 fH H -44 -48 -50 -51 M M -53 M "
            "M -54 -55 H -56 H -57 -52 -39 -37 H -58 -32 ^"
        ),
    ),
)
"""Model types, and the order of their layers with a dense feed-forward and with a mixture of experts."""

_BY_TYPE = {model_type: (dense, mixture) for types, dense, mixture in _ORDERS for model_type in types}


def ordered(form: ActivationForm, model_type: str) -> ActivationForm:
    """``form`` with the order of its family, where it was traced."""
    dense, mixture = _BY_TYPE.get(model_type, ("", ""))
    return form._replace(order=dense, moe_order=mixture) if dense or mixture else form
