"""What a request says of the host."""

import pytest

from kvplan.core.device import UNKNOWN_NODE, Place
from kvplan.core.errors import RequestError
from kvplan.core.units import GIB
from kvplan.estimator.machine import described
from kvplan.estimator.options import Options
from kvplan.hardware import catalog


def test_its_processor_and_its_memory() -> None:
    node = described(Options(host="arm64", ram="64GiB"), catalog.node("l4", n_gpus=1))
    assert (node.isa, node.ram_bytes) == ("arm64", 64 * GIB)
    assert node.places()[-1] == Place("host", 64 * GIB)
    assert described(Options(), UNKNOWN_NODE) is UNKNOWN_NODE
    assert [place.id for place in described(Options(ram="8GB"), UNKNOWN_NODE).places()] == ["gpu0", "host"]


@pytest.mark.parametrize(("options", "message"), [(Options(host="x86"), "unknown processor"), (Options(ram="64"), "with a unit")])
def test_what_it_can_not_be(options: Options, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        described(options, UNKNOWN_NODE)
