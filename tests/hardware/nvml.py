"""NVML at the border."""

import sys
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from kvplan.core.units import MIB


class NVMLError(Exception):
    pass


class Card(NamedTuple):
    name: str
    total_mib: int
    reserved_mib: int | None = 0
    used_mib: int = 0
    slices: "tuple[Card, ...] | None" = None
    shared: bool = False


class FakeNvml:
    """pynvml as kvplan uses it: version 2 of the memory info says what the driver reserves, version 1 counts it as used."""

    NVMLError = NVMLError
    NVML_DEVICE_MIG_ENABLE = 1
    nvmlMemory_v2 = 2

    def __init__(self, *cards: Card) -> None:
        self.cards = cards

    def nvmlInit(self) -> None: ...

    def nvmlShutdown(self) -> None: ...

    def nvmlDeviceGetCount(self) -> int:
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Card:
        return self.cards[index]

    def nvmlDeviceGetName(self, card: Card) -> bytes | str:
        return card.name.encode() if card.reserved_mib is None else card.name  # old versions of pynvml give bytes

    def nvmlDeviceGetUUID(self, card: Card) -> str:
        return f"GPU-{card.name}-{card.used_mib}"

    def nvmlDeviceGetCudaComputeCapability(self, card: Card) -> tuple[int, int]:
        if "TITAN Z" in card.name:
            raise NVMLError("Not Supported")
        return 9, 0

    def nvmlDeviceGetMigMode(self, card: Card) -> tuple[int, int]:
        if card.slices is None:
            raise NVMLError("Not Supported")
        return 1, 1

    def nvmlDeviceGetMaxMigDeviceCount(self, card: Card) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, card: Card, index: int) -> Card:
        assert card.slices is not None
        if index >= len(card.slices):
            raise NVMLError("Not Found")
        return card.slices[index]

    def nvmlDeviceGetMemoryInfo(self, card: Card, version: int = 1) -> SimpleNamespace:
        if card.shared:
            raise NVMLError("Not Supported")
        if version == 2:
            if card.reserved_mib is None:
                raise NVMLError("Function Not Found")
            return SimpleNamespace(total=card.total_mib * MIB, reserved=card.reserved_mib * MIB, used=card.used_mib * MIB)
        return SimpleNamespace(total=card.total_mib * MIB, used=card.used_mib * MIB)


def attach(monkeypatch: pytest.MonkeyPatch, *cards: Card, visible: str | None = None) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(*cards))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
