import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kvplan.core.errors import RequestError
from kvplan.verifier import files, verify
from kvplan.verifier.process import dumps
from kvplan.verifier.record import Built, Device, Job, Phase, Record, Snapshot, from_json
from kvplan.verifier.timings import Pass, summary

ROOT = Path(__file__).parent.parent.parent
RECORD = Record(
    job=Job("meta-llama/Llama-2-7b", {"model_type": "llama", "layer_types": ["a"]}, "float16", 4096, 8, 4088, max_bytes=7),
    outcome="ran",
    error=None,
    taken_at="2026-11-29T15:00:01Z",
    versions={"torch": "2.11.0", "driver": None},
    device=Device("cuda", "NVIDIA H200", "9.0", 1, 2),
    before=Snapshot(device_used_bytes=3),
    model=Built("LlamaForCausalLM", "sdpa", 1, 2, 3, 0.5),
    loaded=Snapshot(allocated_bytes=4),
    prefill=Phase(1, 0.25, 5, 0, Snapshot(peak_allocated_bytes=6)),
    timings=summary([Pass(0.5, (0.25, 0.5)), Pass(0.75, (0.25, 0.25))], batch=8, n_warmup=1, build_s=0.5),
)


def test_a_record_reads_back() -> None:
    data = json.loads(dumps(RECORD))
    assert data.pop("schema_version") == 1
    assert from_json(data) == RECORD


@pytest.mark.parametrize("text", ['{"job": {}}', "{}", '{"job": 1}'])
def test_anything_else_does_not(text: str) -> None:
    with pytest.raises((KeyError, TypeError)):
        from_json(json.loads(text))


@pytest.mark.parametrize(
    ("kind", "device", "gpu"),
    [
        pytest.param("cuda", "NVIDIA H200", "h200", id="of the catalogue"),
        pytest.param("cuda", "NVIDIA GeForce RTX 4060 Ti", "nvidia-geforce-rtx-4060-ti", id="a name that two cards share"),
        pytest.param("cuda", "Some/GPU (X)", "some-gpu-x", id="unknown"),
        pytest.param("cpu", "x86_64", "cpu", id="cpu"),
        pytest.param("trace", "a GPU of compute capability 8.0", "trace", id="trace"),
    ],
)
def test_the_file_name_says_what_was_measured(kind: str, device: str, gpu: str, tmp_path: Path) -> None:
    path = files.write(RECORD._replace(device=Device(kind, device, None, None, None)), tmp_path / "new")
    assert path.name == f"{gpu}_meta-llama-llama-2-7b_ctx4096_b8_2026-11-29T150001Z.json"
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_record_that_can_not_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        files.write(RECORD._replace(versions={"torch": object()}), tmp_path)  # type: ignore[dict-item]  # not JSON on purpose
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_can_not_be_written_to_is_known_before_a_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RequestError, match="file: File exists"):
        verify("llama-2-7b", record_in=tmp_path / "file")
    with pytest.raises(RequestError, match="Not a directory"):
        verify("llama-2-7b", record_in=tmp_path / "file" / "folder")


def test_an_interruption_while_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write(RECORD, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_ends_the_measuring_process(tmp_path: Path) -> None:
    """SIGINT to kvplan alone, as from a supervisor: the process that holds the GPU must not live on.

    Both hold a named pipe open, which ends when neither lives any more: nothing is waited for by the clock.
    """
    pipe, child = tmp_path / "pipe", tmp_path / "python"
    os.mkfifo(pipe)
    child.write_text(
        f"#!{sys.executable}\nimport signal, sys, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsys.stdin.read()\n"
        f"with open({str(pipe)!r}, 'w') as told:\n    print('here', file=told, flush=True)\n"
        "    time.sleep(60)\n    told.write('survived')\n"
    )
    child.chmod(0o755)
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where the tests run in the background
        "from kvplan.verifier.process import measure; from kvplan.verifier.record import Job\n"
        f"held = open({str(pipe)!r}, 'w')\n"
        f"measure(Job('x', {{}}, 'float32', 2, 1, 1), timeout_s=600, python={str(child)!r})"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL, start_new_session=True, cwd=ROOT)
    with pipe.open(encoding="utf-8") as told:
        assert told.readline() == "here\n"
        parent.send_signal(signal.SIGINT)
        assert told.read() == ""
    assert parent.wait() != 0
