"""Which file of a folder is the model."""

import pytest

from kvplan.core.errors import RequestError
from kvplan.specs.gguf.choice import choose, tagged

GIB = 2**30


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["model.gguf", "README.md"], "model.gguf"),
        (["model.gguf", "mmproj-F16.gguf"], "model.gguf"),
        (["model.gguf", "model-mmproj-f16.gguf", "imatrix_unsloth.gguf"], "model.gguf"),
        (["m-00002-of-00002.gguf", "m-00001-of-00002.gguf"], "m-00001-of-00002.gguf"),
        (["m-00002-of-00002.gguf"], "m-00001-of-00002.gguf"),
        (["mmproj-tests/model.GGUF"], "mmproj-tests/model.GGUF"),
    ],
)
def test_the_one_model(names: list[str], chosen: str) -> None:
    assert choose(dict.fromkeys(names, GIB), "here") == chosen


@pytest.mark.parametrize("names", [[], ["README.md"], ["mmproj-F16.gguf"]])
def test_no_model(names: list[str]) -> None:
    with pytest.raises(RequestError) as caught:
        choose(dict.fromkeys(names, GIB), "here")
    assert (caught.value.kind, caught.value.message[:7]) == ("no_model", "here: e")


def test_several_models_are_listed_with_their_sizes() -> None:
    files = {"m-Q4_K_M.gguf": 4 * GIB, "m-Q8_0.gguf": 8 * GIB, "BF16/m-00001-of-00002.gguf": GIB, "BF16/m-00002-of-00002.gguf": GIB}
    with pytest.raises(RequestError) as caught:
        choose(files, "here")
    assert caught.value.kind == "several_models"
    assert "3 GGUF models" in caught.value.message
    assert [line.split(maxsplit=2)[:2] for line in caught.value.details] == [["2.00", "GiB"], ["4.00", "GiB"], ["8.00", "GiB"]]
    assert "(2 parts)" in caught.value.details[0]


def test_a_long_list_ends() -> None:
    with pytest.raises(RequestError) as caught:
        choose({f"m{i}.gguf": 1 for i in range(60)}, "here")
    assert len(caught.value.details) == 51
    assert "10 more" in caught.value.details[-1]


QUANTIZED = ("m-Q4_K_M.gguf", "m-UD-Q4_K_M.gguf", "m-Q8_0.gguf", "BF16/m-BF16-00001-of-00002.gguf", "BF16/m-BF16-00002-of-00002.gguf")


@pytest.mark.parametrize(
    ("tag", "chosen"),
    [
        ("Q4_K_M", "m-Q4_K_M.gguf"),
        ("q8_0", "m-Q8_0.gguf"),
        ("UD-Q4_K_M", "m-UD-Q4_K_M.gguf"),
        ("bf16", "BF16/m-BF16-00001-of-00002.gguf"),
        ("Q4_K", None),
        ("F16", None),
    ],
)
def test_a_quantization_names_a_file(tag: str, chosen: str | None) -> None:
    assert tagged(dict.fromkeys((*QUANTIZED, "mmproj-F16.gguf", "README.md"), GIB), tag) == chosen
