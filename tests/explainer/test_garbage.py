"""Whatever is in a log, reading it answers; and what an engine prints is found under whatever wraps it."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvplan.core.errors import RequestError
from kvplan.explainer import lines, shapes
from kvplan.explainer.explanation import Explanation, of_blocks
from kvplan.render import explanation
from tests.running import Run, refused

TEMPLATES = shapes.templates()
PIECES = st.one_of(
    st.text(max_size=40),
    st.sampled_from([template.shape.text for template in TEMPLATES]).map(lambda text: text.replace("{", "").replace("}", "")),
    st.sampled_from([template.shape.text.partition("{")[0] for template in TEMPLATES]),
    st.sampled_from(
        ["12.5 GiB", "-0.71 GiB", "1,048,576 tokens", "x", "99999999999999999999 bytes", "(TP0 pid=1)", "\x1b[31m", '{"log":"', ", "]
    ),
)
KV = "(EngineCore_DP0 pid=7) INFO 11-06 12:08:55 [kv_cache_utils.py:1229] GPU KV cache size: 715,072 tokens"


def explained(text: str | bytes) -> Explanation:
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    return of_blocks(lines.blocks(io.BytesIO(raw)))


@settings(max_examples=60)
@given(st.lists(st.lists(PIECES, max_size=6).map("".join), max_size=12).map("\n".join))
def test_any_text_is_answered(text: str) -> None:
    found = explained(text)
    assert json.loads(explanation.as_json(found))["outcome"] == found.outcome
    assert explanation.text(found, paint=lambda words, style: words).endswith("\n")
    assert explanation.markdown(found)


@settings(max_examples=60)
@given(st.binary(max_size=400).filter(lambda raw: not raw.startswith(tuple(lines.PACKED))))
def test_any_bytes_are_answered(raw: bytes) -> None:
    assert explained(raw).n_lines == raw.count(b"\n") + bool(raw[-1:] not in (b"", b"\n")) or raw[:2] in (b"\xff\xfe", b"\xfe\xff")


def test_wrappings() -> None:
    wrapped = (
        KV,
        f"\x1b[36m{KV}\x1b[0m",
        f"pod/vllm-0 2026-01-01T00:00:00.123Z {KV}",
        f"vllm-1  | {KV}",
        json.dumps({"log": KV + "\n", "stream": "stdout", "time": "2026-01-01T00:00:00Z"}),
        json.dumps({"timestamp": "x", "level": "INFO", "fields": {"message": KV}, "target": "t"}),
        f"{KV}\r",
        "progress 1%\rprogress 2%\r" + KV,
    )
    for text in wrapped:
        found = explained(f"first\n{text}\n")
        assert [(figure.line, figure.value) for figure in found.figures] == [(2, 715072)], text
        assert (found.engine, found.outcome) == ("vllm", "ran")


def test_utf_16() -> None:
    found = explained(f"first\r\n{KV}\r\n".encode("utf-16"))
    assert [(figure.line, figure.value) for figure in found.figures] == [(2, 715072)]


def test_a_line_without_end_is_read_in_bounded_memory() -> None:
    class Endless(io.RawIOBase):
        left = 40

        def read(self, size: int = -1) -> bytes:
            self.left -= 1
            return b"x" * size if self.left > 0 else b"\n" + KV.encode() if self.left == 0 else b""

    blocks = list(lines.blocks(Endless()))  # type: ignore[arg-type]  # reads like a file
    assert max(map(len, blocks)) < 4 * 2**20
    assert [figure.value for figure in of_blocks(blocks).figures] == [715072]


def test_of_many_alike_the_first_and_the_last_are_kept() -> None:
    text = "".join(f"INFO GPU KV cache usage: {n / 10}%, Prefix cache hit rate: 1.0%\n" for n in range(900))
    usage = [figure for figure in explained(KV + "\n" + text).figures if figure.label == "KV cache usage"]
    assert len(usage) == 65
    assert (usage[0].value, usage[-1].value, usage[-1].line) == (0.0, 89.9, 901)


def test_serving_again_after_a_failure_counts() -> None:
    busy = "srv  update_slots: all slots are idle\n" * 100
    assert explained(busy + "CUDA error: out of memory\n").outcome == "oom"
    assert explained(busy + "CUDA error: out of memory\n" + busy).outcome == "ran"


def test_every_shape_can_be_found_and_says_where_it_stands() -> None:
    assert len({(template.shape.text, template.engine) for template in TEMPLATES}) == len(TEMPLATES)
    for template in TEMPLATES:
        assert len(template.needle) >= 2, template.shape
        assert template.shape.source


def test_numbers_beyond_any_machine_are_no_figures() -> None:
    for digits in (60, 305, 400):
        found = explained(f"CUDA out of memory. Tried to allocate {'9' * digits}.00 GiB. GPU 0 has a total capacity of {'9' * digits} GiB")
        assert found.outcome == "oom"
        assert "tried to allocate" not in {figure.label for figure in found.figures}


@pytest.mark.parametrize("magic", [b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"BZh9", b"PK\x03\x04"])
def test_packed_logs_are_refused(magic: bytes) -> None:
    with pytest.raises(RequestError, match="packed by"):
        explained(magic + b"\0" * 100)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(("--gpu", "l5"), "unknown GPU 'l5'", id="an unknown GPU"),
        pytest.param(("--model", "llama-2-7x"), "did you mean 'llama-2-7b'", id="an unknown model"),
        pytest.param(("--model", "-"), "stdin is for the log", id="stdin twice"),
        pytest.param(("--url", "http://127.0.0.1:1/metrics"), "two things to explain", id="a log and a server"),
        pytest.param((), "the log is empty", id="an empty log"),
    ],
)
def test_wrong_requests(kvplan: Run, tmp_path: Path, words: tuple[str, ...], complaint: str) -> None:
    log = tmp_path / "server.log"
    log.write_text(KV if words else "")
    assert complaint in refused(kvplan, "explain", str(log), *words)
