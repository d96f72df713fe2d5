import builtins
import sys
from pathlib import Path

import pytest

from kvplan.core.errors import RequestError, UnavailableError
from kvplan.core.units import GIB, MIB
from kvplan.hardware import catalog, host, probe
from tests.hardware.memory import fake_memory, hide_memory
from tests.hardware.nvml import Card, FakeNvml, NVMLError, attach

H100 = Card("NVIDIA H100 80GB HBM3", 81559, 471, 1000)


def test_a_known_card_with_its_totals_as_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, H100)
    node = probe.required(None)
    (gpu,) = node.gpus
    assert (node.id, node.source, gpu.id) == ("h100-sxm", "attached", "h100-sxm")
    assert (gpu.driver_bytes, gpu.cuda_bytes, gpu.cuda_total_known) == (81559 * MIB, 81088 * MIB, True)
    assert gpu.bandwidth_gb_s == 3350
    (place,) = node.places()
    assert place.usable_bytes == 80088 * MIB
    assert catalog.node("LOCAL") == node


def test_a_driver_that_does_not_tell_what_it_reserves(monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, Card("NVIDIA H100 80GB HBM3", 81559, None, 500))
    node = probe.required(None)
    known = catalog.find("h100-sxm")
    assert node.gpus[0].cuda_bytes == known.cuda_bytes
    assert not node.gpus[0].cuda_total_known
    assert node.used_before_bytes == (500 * MIB - (known.driver_bytes - known.cuda_bytes),)


@pytest.mark.parametrize(
    ("total_mib", "gpu_id"),
    [
        pytest.param(16380, "rtx-4060-ti-16", id="16 GB"),
        pytest.param(8188, "rtx-4060-ti-8", id="8 GB"),
        pytest.param(12282, "nvidia-geforce-rtx-4060-ti", id="neither"),
    ],
)
def test_cards_that_share_a_name_are_told_apart_by_size(monkeypatch: pytest.MonkeyPatch, total_mib: int, gpu_id: str) -> None:
    attach(monkeypatch, Card("NVIDIA GeForce RTX 4060 Ti", total_mib, 300))
    node = probe.required(None)
    assert node.gpus[0].id == gpu_id
    assert node.gpus[0].cuda_bytes == (total_mib - 300) * MIB


def test_ecc_does_not_make_another_card(monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, Card("NVIDIA RTX A6000", 46068, 600))
    assert probe.required(None).gpus[0].id == "rtx-a6000"


def test_an_uncatalogued_card_and_an_old_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, Card("NVIDIA GeForce GTX TITAN Z", 6144, None, 600))
    node = probe.required(None)
    assert node.gpus[0].id == "nvidia-geforce-gtx-titan-z"
    assert node.gpus[0].cuda_bytes == (6144 - 490) * MIB
    assert node.gpus[0].compute_capability is None
    assert node.used_before_bytes == (110 * MIB,)


def test_several_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, H100, H100, Card("NVIDIA GeForce RTX 3090", 24576, 316))
    assert probe.required(None).id == "h100-sxm:2+rtx-3090"
    assert probe.required(2).id == "h100-sxm"
    with pytest.raises(RequestError, match="3 attached"):
        probe.required(4)


def test_a_split_card_offers_its_first_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    part = Card("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 9984, 16)
    attach(monkeypatch, H100._replace(slices=(part, part)))
    node = probe.required(None)
    (gpu,) = node.gpus
    assert gpu.id == "nvidia-h100-80gb-hbm3-mig-1g.10gb"
    assert gpu.cuda_bytes == 9968 * MIB
    assert gpu.bandwidth_gb_s is None


def test_a_split_card_without_slices_offers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, H100._replace(slices=()))
    with pytest.raises(UnavailableError, match="counts none"):
        probe.required(None)


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        pytest.param("1", ["rtx-3090"], id="index"),
        pytest.param("1,0", ["rtx-3090", "h100-sxm"], id="order"),
        pytest.param("0,7,1", ["h100-sxm"], id="a bad index hides the rest"),
        pytest.param("GPU-NVIDIA GeForce", ["rtx-3090"], id="the beginning of a UUID"),
    ],
)
def test_cuda_visible_devices(monkeypatch: pytest.MonkeyPatch, visible: str, names: list[str]) -> None:
    attach(monkeypatch, H100, Card("NVIDIA GeForce RTX 3090", 24576, 316), visible=visible)
    assert [gpu.id for gpu in probe.required(None).gpus] == names


@pytest.mark.parametrize("visible", ["", "-1", "NoDevFiles"])
def test_hidden_cards_are_not_attached(monkeypatch: pytest.MonkeyPatch, visible: str) -> None:
    attach(monkeypatch, H100, visible=visible)
    assert probe.attached() is None
    with pytest.raises(UnavailableError, match="hides all"):
        probe.required(None)


def test_memory_shared_with_the_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_memory(monkeypatch, tmp_path, total_bytes=119 * GIB, available_bytes=100 * GIB)
    attach(monkeypatch, Card("NVIDIA GB10", 0, shared=True))
    node = probe.required(None)
    assert node.gpus[0].id == "dgx-spark"
    assert node.gpus[0].unified
    assert node.places()[0].usable_bytes == 100 * GIB
    attach(monkeypatch, Card("NVIDIA GB99", 0, shared=True))
    assert probe.required(None).gpus[0].cuda_bytes == 119 * GIB
    hide_memory(monkeypatch, tmp_path)
    assert probe.required(None).gpus[0].cuda_bytes == 0


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(FakeNvml):
        def nvmlInit(self) -> None:
            raise NVMLError("Driver Not Loaded")

    monkeypatch.setitem(sys.modules, "pynvml", Broken())
    assert probe.attached() is None
    with pytest.raises(UnavailableError, match="Driver Not Loaded") as caught:
        catalog.node("local")
    assert caught.value.exit_code == 3
    assert "--gpu h100-sxm" in caught.value.hint


def test_nvml_that_fails_later(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost(FakeNvml):
        def nvmlDeviceGetHandleByIndex(self, index: int) -> Card:
            raise NVMLError("GPU is lost")

    monkeypatch.setitem(sys.modules, "pynvml", Lost(H100))
    assert probe.attached() is None


def test_no_pynvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert probe.attached() is None
    with pytest.raises(UnavailableError, match="can't be imported"):
        probe.required(None)


def test_looking_up_a_card_never_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def guarded(name: str, *rest: object) -> object:
        assert name != "pynvml"
        return real(name, *rest)  # type: ignore[arg-type]  # passed through as it came

    monkeypatch.setattr(builtins, "__import__", guarded)
    assert catalog.node("rtx 4090:2").id == "rtx-4090"


def test_host_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_memory(monkeypatch, tmp_path, total_bytes=2 * MIB, available_bytes=MIB)
    assert host.memory() == host.HostMemory(2 * MIB, MIB)
    (tmp_path / "memory.max").write_text("max\n")
    assert host.memory() == host.HostMemory(2 * MIB, MIB)
    (tmp_path / "memory.max").write_text(str(MIB))
    (tmp_path / "memory.current").write_text(str(MIB // 2))
    assert host.memory() == host.HostMemory(MIB, MIB // 2)
    (tmp_path / "meminfo").write_text("nothing")
    (tmp_path / "memory.max").write_text("max\n")
    assert host.memory() is not None  # the system's own page counts
    hide_memory(monkeypatch, tmp_path)
    assert host.memory() is None
