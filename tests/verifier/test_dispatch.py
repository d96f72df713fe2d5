"""Which attention kernel a GPU takes, and what is made around it. The rules are those of PyTorch 2.13 sdp_utils.cpp, by name."""

import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)
pytest.importorskip("transformers", exc_type=ImportError)

from kvplan.verifier.child import fake  # noqa: E402 - needs torch
from kvplan.verifier.child.attention import Attention  # noqa: E402
from kvplan.verifier.child.dispatch import Call, Capability, choose  # noqa: E402

pytestmark = pytest.mark.torch

T4, V100, P40, A100, L40S, H100, B200, RTX5090 = (7, 5), (7, 0), (6, 1), (8, 0), (8, 9), (9, 0), (10, 0), (12, 0)


def call(dtype: str = "bfloat16", *, width: int = 64, value_width: int | None = None, n_keys: int = 24, n_kv_heads: int = 4) -> Call:
    query, key, value = (
        torch.empty(2, *shape, dtype=getattr(torch, dtype), device="meta")
        for shape in ((4, 24, width), (n_kv_heads, n_keys, width), (n_kv_heads, n_keys, value_width or width))
    )
    return Call(query, key, value, masked=False, dropout=0.0, is_causal=False, enable_gqa=False)


@pytest.mark.parametrize(
    ("asked", "kernels"),
    [
        pytest.param(call(), {T4: "math", A100: "flash", L40S: "flash", H100: "cudnn", B200: "cudnn", RTX5090: "flash"}, id="bfloat16"),
        pytest.param(call("float16"), {P40: "efficient", T4: "efficient", A100: "flash", H100: "cudnn"}, id="float16"),
        pytest.param(call("float32"), {P40: "efficient", T4: "efficient", A100: "efficient", H100: "efficient"}, id="float32"),
        pytest.param(call("float64"), {T4: "math", A100: "math", H100: "math"}, id="float64"),
        pytest.param(call()._replace(masked=True), {T4: "math", A100: "efficient", H100: "cudnn"}, id="check_for_attn_mask"),
        pytest.param(call(width=256), {A100: "flash", H100: "cudnn", B200: "flash"}, id="head_dim_limit: 256 on Hopper"),
        pytest.param(call(width=264), {A100: "efficient", H100: "efficient"}, id="check_head_dim_size_flash"),
        pytest.param(call(width=192, value_width=128), {A100: "efficient", H100: "cudnn", B200: "cudnn"}, id="DeepSeek's heads"),
        pytest.param(call(width=192, value_width=64), {B200: "efficient"}, id="other unequal heads"),
        pytest.param(call(width=60), {A100: "flash", H100: "flash", L40S: "flash"}, id="flash pads"),
        pytest.param(call(width=60)._replace(masked=True), {A100: "math", H100: "math"}, id="minimum_gemm_alignment"),
        pytest.param(call("float32", width=62), {T4: "efficient", A100: "math"}, id="minimum_gemm_alignment without tensor cores"),
        pytest.param(call("float16", width=60), {V100: "math", P40: "efficient"}, id="minimum_gemm_alignment of half precision"),
        pytest.param(call(n_kv_heads=2)._replace(enable_gqa=True), {T4: "math", A100: "flash", H100: "cudnn"}, id="groups"),
        pytest.param(call(n_kv_heads=2)._replace(enable_gqa=True, masked=True), {A100: "math", H100: "cudnn"}, id="groups and a mask"),
        pytest.param(call(n_kv_heads=2), {A100: "math", H100: "math"}, id="check_batch_size_and_num_heads_dense"),
        pytest.param(
            call(n_keys=48)._replace(is_causal=True), {A100: "efficient", H100: "cudnn"}, id="check_flash_causal_non_square_seqlens"
        ),
        pytest.param(call(n_keys=1), {A100: "flash", H100: "flash"}, id="cuDNN: one key"),
        pytest.param(call()._replace(dropout=0.1), {A100: "flash", H100: "flash"}, id="check_cudnn_dropout"),
        pytest.param(call(), {(13, 0): "math", (12, 1): "flash"}, id="check_flash_attention_hardware_support"),
    ],
)
def test_the_kernel(asked: Call, kernels: dict[Capability, str]) -> None:
    assert {gpu: choose(asked, gpu) for gpu in kernels} == kernels


def test_heads_whose_elements_are_apart_are_left_to_plain_products() -> None:
    apart = call()
    apart = apart._replace(key=apart.key.transpose(-1, -2).contiguous().transpose(-1, -2))
    assert choose(apart, A100) == choose(apart, H100) == "math"
    assert choose(call()._replace(query=torch.empty(4, 24, 64, device="meta")), H100) == "math"


@pytest.mark.parametrize(
    ("gpu", "masked", "kernel", "n_bytes"),
    [
        pytest.param(H100, False, "cudnn", 2 * 4 * 24 * 2 * 64, id="cuDNN: the output alone"),
        pytest.param(H100, True, "cudnn", 2 * 4 * 24 * 2 * 64 + 24 * 24 * 2, id="cuDNN: a bias, not padded"),
    ],
)
def test_what_is_made(gpu: Capability, masked: bool, kernel: str, n_bytes: int) -> None:  # noqa: FBT001 - parameters of cases
    live, attention = fake.Traced("cuda"), Attention(gpu)
    assert fake.cuda_device()
    with fake.world(live, gpu, attention), torch.no_grad():
        query = torch.zeros(2, 24, 4, 64, dtype=torch.bfloat16, device="cuda:0").transpose(1, 2)
        allowed = torch.ones(24, 24, dtype=torch.bool, device="cuda:0") if masked else None
        before = live.live_bytes
        out = attention(query, query, query, allowed)
        assert out.shape == (2, 4, 24, 64)
        assert abs(live.peak_bytes - before - n_bytes) <= 1024
        assert torch.cuda.get_device_capability() == gpu
    assert attention.used == {kernel: 1}


def test_plain_products_make_all_scores_in_float32_and_their_softmax_twice() -> None:
    """The second is the first with rows of no score zeroed, by way of a truth value for each score."""
    live = fake.Traced("cuda")
    assert fake.cuda_device()
    with fake.world(live, T4, attention := Attention(T4)), torch.no_grad():
        query = torch.zeros(1, 2, 512, 8, dtype=torch.bfloat16, device="cuda:0")
        attention(query, query, query)
    assert attention.used == {"math": 1}
    scores = 2 * 512 * 512 * 4
    assert 3.25 * scores <= live.peak_bytes < 3.4 * scores


def test_the_output_of_cudnn_lies_as_the_queries_do() -> None:
    with fake.world(fake.Traced("cuda"), H100, attention := Attention(H100)):
        by_head = torch.zeros(2, 4, 24, 64, dtype=torch.bfloat16, device="cuda:0")
        by_token = torch.zeros(2, 24, 4, 64, dtype=torch.bfloat16, device="cuda:0").transpose(1, 2)
        for query in (by_head, by_token):
            assert attention(query, by_head, by_head).stride() == query.stride()
