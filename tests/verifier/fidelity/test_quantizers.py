"""Tensors as quantized caches give them back."""

from typing import TYPE_CHECKING

import pytest

from kvplan.verifier.fidelity.variant import parse

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", exc_type=ImportError)
pytestmark = pytest.mark.torch

from kvplan.verifier.child.fidelity.quantizers import hadamard, quantizer  # noqa: E402 - needs torch


def rounded(name: str, x: "torch.Tensor") -> "torch.Tensor":
    return quantizer(parse(name).k)(x)


def test_four_bits_have_sixteen_values_of_a_head() -> None:
    x = torch.linspace(-1, 2, 64).repeat(2, 3, 1) + torch.arange(3)[None, :, None]
    found = rounded("int4", x)
    assert found.shape == x.shape
    assert all(len(found[h, t].unique()) == 16 for h in range(2) for t in range(3))
    assert (found - x).abs().max() <= 0.5 * 3 / 15 + 2e-3
    assert len(rounded("int4:group=32", x)[0, 0].unique()) == 32


def test_a_channel_has_its_own_scale() -> None:
    x = torch.randn(1, 32, 64, generator=torch.Generator().manual_seed(0))
    x[..., 5] *= 100  # an outlier channel, as keys have
    by_token, by_channel = (rounded(name, x) - x for name in ("int4", "int4:k=channel"))
    rest = [i for i in range(64) if i != 5]
    assert by_channel[..., rest].abs().mean() < by_token[..., rest].abs().mean() / 5


def test_equal_values_stay() -> None:
    x = torch.full((1, 2, 64), 0.5)
    for name in ("int8", "int4", "int2", "fp16", "bf16", "fp8", "fp8_e5m2", "q4_0:rotate=off"):
        assert torch.equal(rounded(name, x), x), name
    for name in ("int8", "q8_0", "q4_0"):
        assert torch.equal(rounded(name, torch.zeros(1, 2, 64)), torch.zeros(1, 2, 64)), name


def test_blocks_are_those_of_ggml() -> None:
    x = torch.cat([torch.arange(32.0) - 20, torch.full((32,), 3.0)])[None, None]
    found = rounded("q4_0:rotate=off", x)[0, 0]
    step = 2.5  # −20 / −8
    assert found[0] == -20
    assert found[31] == min(15, int(11 / step + 8.5)) * step - 8 * step
    assert torch.equal(found[32:], torch.full((32,), 3.0))
    eight = rounded("q8_0:rotate=off", x)[0, 0]
    assert eight[1] == round(-19 / (20 / 127)) * float(torch.tensor(20 / 127).half())


def test_large_values_become_the_largest_of_fp8() -> None:
    x = torch.tensor([[[1000.0, -1000.0, 3.3]]])
    assert rounded("fp8", x).tolist() == [[[448.0, -448.0, 3.25]]]


def test_hadamard_is_its_own_inverse() -> None:
    for side in (1, 2, 64, 128):
        assert torch.allclose(hadamard(side) @ hadamard(side), torch.eye(side), atol=1e-5)
    x = torch.randn(1, 4, 64, generator=torch.Generator().manual_seed(0))
    x[..., 3] *= 50
    plain, spread = (rounded(name, x) - x for name in ("q4_0:rotate=off", "q4_0"))
    assert spread.pow(2).mean() < plain.pow(2).mean()


def test_values_are_spread_by_sixty_four() -> None:
    x = torch.randn(1, 2, 128, generator=torch.Generator().manual_seed(0))
    halves = torch.cat([rounded("q4_0", part) for part in x.split(64, dim=-1)], dim=-1)
    assert torch.equal(quantizer(parse("q4_0").v, widest=64)(x), halves)
    assert not torch.equal(rounded("q4_0", x), halves)
    assert torch.equal(rounded("q4_0", x[..., :32]), rounded("q4_0:rotate=off", x[..., :32])), "a narrow head is not spread"
