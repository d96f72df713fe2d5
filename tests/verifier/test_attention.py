"""What a pretended GPU's attention makes beside its output."""

import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)
pytest.importorskip("transformers", exc_type=ImportError)

from kvplan.verifier.child import fake  # noqa: E402 - needs torch
from kvplan.verifier.child.attention import Attention  # noqa: E402
from kvplan.verifier.child.dispatch import ASSUMED  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize(
    ("shape", "dtype", "mask", "grouped", "n_bytes"),
    [
        pytest.param((2, 4, 24, 64), "bfloat16", False, False, 2 * 4 * 24 * (2 * 64 + 4), id="flash: output and sums"),
        pytest.param((2, 4, 24, 64), "bfloat16", False, True, 2 * 4 * 24 * (2 * 64 + 4), id="flash in groups"),
        pytest.param((2, 4, 24, 60), "bfloat16", False, False, 2 * 4 * 24 * (4 * 2 * 64 + 4), id="flash, padded"),
        pytest.param((2, 4, 24, 64), "float32", False, False, 2 * 4 * 24 * 4 * 64, id="efficient"),
        pytest.param((2, 4, 24, 64), "bfloat16", True, False, 2 * 4 * 24 * 2 * 64 + 24 * 24 * 2, id="efficient: a bias"),
        pytest.param((2, 4, 20, 64), "bfloat16", True, False, 2 * 4 * 20 * 2 * 64 + 20 * 24 * 2, id="efficient: a bias, padded"),
        pytest.param((2, 4, 24, 256), "bfloat16", True, False, 2 * 4 * 24 * 6 * 256 + 24 * 24 * 2, id="efficient: wide heads"),
    ],
)
def test_what_attention_takes_on_a_gpu(shape: tuple[int, ...], dtype: str, mask: bool, grouped: bool, n_bytes: int) -> None:  # noqa: FBT001 - parameters of cases
    live, on_gpu = fake.Traced("cuda"), Attention(ASSUMED)
    assert fake.cuda_device()
    with fake.world(live, ASSUMED, on_gpu), torch.no_grad():
        query = torch.zeros(shape, dtype=getattr(torch, dtype), device="cuda:0")
        key = torch.zeros(shape[0], 2 if grouped else shape[1], *shape[2:], dtype=query.dtype, device="cuda:0")
        allowed = torch.ones(shape[2], shape[2], dtype=torch.bool, device="cuda:0") if mask else None
        before = live.live_bytes
        out = on_gpu(query, key, key, allowed, enable_gqa=grouped)
        assert out.shape == shape
        assert abs(live.peak_bytes - before - n_bytes) < 64  # beside a seed and an offset
