"""Sums of tensors in letters, and the widths behind them."""

import pytest

from kvplan.core.indexer import Indexer
from kvplan.core.mixers.compressed import CompressedAttention
from kvplan.core.mixers.full import FullAttention
from kvplan.core.mixers.gated_delta import GatedDeltaNet
from kvplan.core.mixers.linear import LinearAttention
from kvplan.core.mixers.mamba1 import Mamba1
from kvplan.core.mixers.mamba2 import Mamba2
from kvplan.core.mixers.mla import Mla
from kvplan.core.mixers.rg_lru import RgLru
from kvplan.core.mixers.rwkv import Rwkv
from kvplan.core.mixers.short_conv import ShortConv
from kvplan.core.model import DenseFfn, Ffn, Layer, MoeFfn
from kvplan.engines.transformers.widths import rate, terms, widths_of

WIDTHS = {"H": 100, "I": 300, "N": 4, "A": 2}


@pytest.mark.parametrize(
    ("text", "token", "pair"),
    [
        ("4H + 3I", 2 * 1300, 0),
        ("H", 200, 0),
        ("2fH", 2 * 100 * 4, 0),
        ("iA + bH", 2 * 8 + 100, 0),
        ("NL + 2fNL", 0, 4 * 2 + 2 * 4 * 4),
        ("4AH", 2 * 4 * 200, 0),
        ("i", 8, 0),
        ("1536", 2 * 1536, 0),
        ("", 0, 0),
    ],
)
def test_bytes_of_a_sum(text: str, token: int, pair: int) -> None:
    assert rate(text, WIDTHS, 2) == (token, pair)


@pytest.mark.parametrize("text", ["4h", "H I", "2x", "H +", "4.5H"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a count"):
        terms(text)


@pytest.mark.parametrize(
    ("mixer", "ffn", "expected"),
    [
        pytest.param(
            FullAttention(8, 2, 16, 8), DenseFfn(99), {"Q": 128, "K": 32, "V": 16, "O": 64, "N": 8, "G": 2, "I": 99, "R": 6}, id="full"
        ),
        pytest.param(CompressedAttention(8, 1, 16, 4, 4), DenseFfn(1), {"Q": 128, "K": 16, "V": 16}, id="compressed"),
        pytest.param(
            Mla(8, 32, 4, 16, 12, 48, Indexer(5, 8, 2)),
            MoeFfn(64, 6, 24, 10),
            {"Q": 160, "K": 32, "V": 4, "O": 96, "P": 16, "U": 48, "J": 5, "A": 6, "E": 64, "M": 24, "S": 10},
            id="mla",
        ),
        pytest.param(Mla(8, 32, 4, 16, 12, None), DenseFfn(1), {"U": 0, "J": 0}, id="mla without low-rank queries or indexer"),
        pytest.param(Mamba1(32, 16, 4, 8), DenseFfn(1), {"D": 32, "C": 32, "Z": 512, "N": 0}, id="mamba1"),
        pytest.param(Mamba2(4, 8, 16, 1, 4), DenseFfn(1), {"D": 32, "C": 64, "Z": 512, "T": 4, "F": 64}, id="mamba2"),
        pytest.param(GatedDeltaNet(2, 4, 8, 16, 4), DenseFfn(1), {"D": 64, "C": 96, "Z": 512, "T": 4, "F": 32}, id="gated delta"),
        pytest.param(LinearAttention(4, 8, 6), DenseFfn(1), {"D": 24, "Z": 192}, id="linear"),
        pytest.param(ShortConv(64, 3), DenseFfn(1), {"D": 64, "C": 64}, id="short convolution"),
        pytest.param(Rwkv(64, 4, 16), DenseFfn(1), {"D": 64, "Z": 1024}, id="rwkv"),
        pytest.param(RgLru(64, 4), DenseFfn(1), {"D": 64, "C": 64, "Z": 64}, id="rg-lru"),
    ],
)
def test_widths(mixer: FullAttention, ffn: Ffn, expected: dict[str, int]) -> None:
    found = widths_of(Layer((mixer,), (ffn,), ()), 100, 1000, 6)
    assert expected.items() <= found.items()
    assert (found["H"], found["W"]) == (100, 1000)
