"""The parts of the measuring process, with torch's CUDA functions and the driver faked at the border: no GPU is needed."""

import inspect
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.verifier.smi import fake_smi

torch = pytest.importorskip("torch", exc_type=ImportError)
pytest.importorskip("transformers", exc_type=ImportError)

from kvplan.verifier.child import loop  # noqa: E402 - needs torch
from kvplan.verifier.child.attached import CudaMeter  # noqa: E402
from kvplan.verifier.child.held import cache_bytes  # noqa: E402

pytestmark = pytest.mark.torch
MIB = 2**20


def test_a_gpu_is_read_before_and_after(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_smi(monkeypatch, tmp_path)
    calls: list[str] = []
    for name in ("synchronize", "empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda name=name: calls.append(name))
    counters = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
    for n_bytes, name in enumerate(counters, start=1):
        monkeypatch.setattr(torch.cuda, name, lambda n_bytes=n_bytes: n_bytes)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (5, 6))
    found = SimpleNamespace(name="NVIDIA H200", uuid="1", major=9, minor=0, total_memory=150_000_000_000)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: found)
    meter = CudaMeter()
    assert meter.before().device_used_bytes == 512 * MIB
    assert meter.device() == ("cuda", "NVIDIA H200", "9.0", 150_000_000_000, 143771 * MIB)
    assert meter.versions()["driver"] == "580.126.09"
    assert meter.free_bytes() == 5
    meter.settle()
    assert calls == ["synchronize", "empty_cache", "reset_peak_memory_stats"]
    assert tuple(meter.snapshot()) == (1, 2, 3, 4, None, 512 * MIB, 5, None, None)


@pytest.mark.parametrize("name", ["cache", "past_key_values", "cache_params"])
def test_the_cache_argument_by_its_names(name: str) -> None:
    parameter = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
    module = torch.nn.Linear(1, 1)
    module.forward = lambda: None
    module.forward.__signature__ = inspect.Signature([parameter])
    assert loop.cache_name(module) == name


def test_a_model_without_a_cache_is_refused() -> None:
    with pytest.raises(ValueError, match="takes no cache"):
        loop.cache_name(torch.nn.Linear(1, 1))


def test_views_count_as_the_storage_they_keep_alive() -> None:
    keys = torch.zeros(2, 1, 20, 4, dtype=torch.bfloat16)
    layer = SimpleNamespace(keys=keys[:, :, -7:], values=keys[:, :, -7:], _window=torch.tensor(8), conv_states={0: torch.zeros(2, 3)})
    shared = SimpleNamespace(layers=[layer, layer, SimpleNamespace(keys=None)])
    assert cache_bytes(shared) == (2 * 20 * 4 * 2, 2 * 3 * 4)
