"""The measuring process at its border: what it is given, and what it would answer."""

import importlib.util
import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from kvplan.verifier.record import Device, Job, Record, Snapshot, to_json
from tests.verifier.models import LLAMA

Answer = Callable[[Job], str]


class Process:
    """Stands for ``subprocess.Popen`` of the measuring process: ends with ``code`` and this on stdout, ``boom`` on stderr."""

    stdin = stdout = stderr = None

    def __init__(self, answer: Answer, environment: dict[str, str], code: int) -> None:
        self.environment, self.returncode = environment, code
        self._answer = answer

    def communicate(self, text: str, timeout: float) -> tuple[str, str]:
        assert timeout > 0
        return self._answer(Job(**json.loads(text))), "boom"

    def kill(self) -> None:
        """It is over."""

    def wait(self) -> int:
        return self.returncode


def child(monkeypatch: pytest.MonkeyPatch, answer: Answer, *, code: int = 0) -> list[Process]:
    """The processes that are started from now on."""
    started: list[Process] = []

    def start(*_: object, env: dict[str, str], **__: Any) -> Process:
        started.append(Process(answer, env, code))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    return started


def no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """To start a process is an error."""

    def start(*_: object, **__: object) -> object:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", start)


def pretend_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)


def ended(outcome: str, device: str = "cpu") -> str:
    job = Job("x", LLAMA, "bfloat16", 24, 1, 23, device=device)
    record = Record(job, outcome, "words of the run", "2026-11-29T12:00:00Z", {}, Device(device, "x86_64", None, None, None), Snapshot())
    return json.dumps(to_json(record))
