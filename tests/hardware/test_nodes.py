import pytest

from kvplan.core.device import UNKNOWN_NODE
from kvplan.core.errors import RequestError
from kvplan.hardware import catalog


@pytest.mark.parametrize(
    ("text", "n_gpus", "node_id", "gpus"),
    [
        pytest.param("l4", None, "l4", ["l4"], id="one"),
        pytest.param("l4", 1, "l4", ["l4"], id="one, said"),
        pytest.param("l4", 4, "l4", ["l4"] * 4, id="--gpus"),
        pytest.param("h100-sxm:8", None, "h100-sxm", ["h100-sxm"] * 8, id="colon"),
        pytest.param("h100-sxm:8", 8, "h100-sxm", ["h100-sxm"] * 8, id="colon and the same --gpus"),
        pytest.param("rtx-4090+rtx-3060-12", None, "rtx-4090+rtx-3060-12", ["rtx-4090", "rtx-3060-12"], id="unequal"),
        pytest.param(" 4090 + rtx 3090 ", 2, "rtx-4090+rtx-3090", ["rtx-4090", "rtx-3090"], id="unequal, as people type it"),
        pytest.param("rtx-3090:2+rtx-4090", None, "rtx-3090:2+rtx-4090", ["rtx-3090"] * 2 + ["rtx-4090"], id="two and one"),
        pytest.param("l4+l4", None, "l4", ["l4", "l4"], id="equal, written out"),
    ],
)
def test_a_node(text: str, n_gpus: int | None, node_id: str, gpus: list[str]) -> None:
    node = catalog.node(text, n_gpus=n_gpus)
    assert (node.id, node.source, [gpu.id for gpu in node.gpus]) == (node_id, "flag", gpus)
    assert [place.capacity_bytes for place in node.places()] == [gpu.cuda_bytes for gpu in node.gpus]


def test_the_label_of_a_node_reads_back() -> None:
    node = catalog.node("rtx-3090:2+rtx-4090")
    assert node.id is not None
    assert catalog.node(node.id) == node


@pytest.mark.parametrize("n_gpus", [None, 1])
def test_none_is_no_gpu(n_gpus: int | None) -> None:
    assert catalog.node("None", n_gpus=n_gpus) == UNKNOWN_NODE


@pytest.mark.parametrize(
    ("text", "n_gpus", "kind", "words"),
    [
        pytest.param("l4", 0, "bad_number", "--gpus 0", id="no GPUs"),
        pytest.param("l4", -1, "bad_number", "--gpus -1", id="negative"),
        pytest.param("l4", 10**12, "bad_number", "1 to 1024", id="huge"),
        pytest.param("local", 0, "bad_number", "--gpus 0", id="local, no GPUs"),
        pytest.param("l4:0", None, "bad_number", "found 0", id="colon 0"),
        pytest.param("l4:-1", None, "bad_number", "found '-1'", id="colon negative"),
        pytest.param("l4:", None, "bad_number", "found ''", id="colon nothing"),
        pytest.param("l4:two", None, "bad_number", "found 'two'", id="colon word"),
        pytest.param("l4:2:2", None, "bad_number", "found '2:2'", id="two colons"),
        pytest.param("l4:٣", None, "bad_number", "after the colon", id="digits that are not ASCII"),
        pytest.param("l4:9999999999", None, "bad_number", "after the colon", id="colon huge"),
        pytest.param("l4:1000+l4:1000", None, "bad_number", "found 2000", id="huge in sum"),
        pytest.param("l4:8", 4, "contradiction", "8 GPUs, --gpus says 4", id="two counts"),
        pytest.param("l4+t4", 4, "contradiction", "2 GPUs, --gpus says 4", id="unequal cards and another count"),
        pytest.param("none", 2, "contradiction", "contradict", id="two of none"),
        pytest.param("l4+local", None, "bad_number", "stands alone", id="local in a sum"),
        pytest.param("local:2", None, "bad_number", "stands alone", id="local with a colon"),
        pytest.param("l4+", None, "unknown_gpu", "''", id="trailing plus"),
        pytest.param("l4+0", None, "unknown_gpu", "'0'", id="not the L40"),
        pytest.param("+", None, "unknown_gpu", "''", id="plus"),
    ],
)
def test_nonsense_is_refused(text: str, n_gpus: int | None, kind: str, words: str) -> None:
    with pytest.raises(RequestError, match=r".*") as caught:
        catalog.node(text, n_gpus=n_gpus)
    assert caught.value.kind == kind
    assert words in caught.value.message
    assert caught.value.hint
