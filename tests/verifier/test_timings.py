"""Times by a clock that the test winds: no test waits, and none asks how fast this machine is."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kvplan.estimator import estimate
from kvplan.render import timed as shown
from kvplan.render import without_cache
from kvplan.verifier import Verification, files, timings
from kvplan.verifier.child.timing import timed
from kvplan.verifier.record import Device, Job, Phase, Record, Snapshot
from kvplan.verifier.timings import Pass, Spread, spread, summary


class FakeDevice:
    """Queues its work: a forward returns at once, and the clock moves on when the device is waited for."""

    def __init__(self, costs: Iterator[float]) -> None:
        self.now = 0.0
        self.queued = 0.0
        self._costs = costs
        self.log: list[str] = []

    def clock(self) -> float:
        return self.now

    def finish(self) -> None:
        self.now += self.queued
        self.queued = 0.0

    def prefill(self) -> None:
        self.log.append("prefill")
        self.queued += next(self._costs)

    def decode(self) -> None:
        self.log.append("decode")
        self.queued += next(self._costs)

    @contextlib.contextmanager
    def decoding(self) -> Iterator[None]:
        self.log.append("decoding")
        yield
        self.log.append("done")


def test_each_forward_is_waited_for_and_timed_by_itself() -> None:
    device = FakeDevice(iter([0.5, 0.25, 0.125]))
    device.queued = 9.0  # what was queued before the pass is none of its time

    assert timed(lambda: device, n_steps=2, finish=device.finish, clock=device.clock) == Pass(0.5, (0.25, 0.125))
    assert device.log == ["prefill", "decoding", "decode", "decode", "done"]


def test_percentiles_are_values_that_were_measured() -> None:
    assert spread([3.0, 1.0, 2.0]) == Spread(p50=2.0, p95=3.0, min=1.0, max=3.0)
    assert spread([float(n) for n in range(1, 101)]) == Spread(p50=50.0, p95=95.0, min=1.0, max=100.0)
    assert spread([4.0]) == Spread(4.0, 4.0, 4.0, 4.0)


def test_the_statistics_of_passes() -> None:
    passes = [Pass(1.0, (0.25,) * 19 + (4.25,)), Pass(2.0, (0.25,) * 20), Pass(3.0, (0.5,) * 20)]
    found = summary(passes, batch=4, n_warmup=2, build_s=9.0)
    assert found.ttft_s == Spread(2.0, 3.0, 1.0, 3.0)
    assert found.tpot_s == Spread(0.25, 0.5, 0.25, 4.25)
    assert found.tpot_by_decile_s == (*[1 / 3] * 9, 1.0), "the last tenth holds the step that jitters"
    assert found.decode_tokens_per_s == pytest.approx(4 * 20 / 9)
    assert (found.decode_tokens_per_s_min, found.decode_tokens_per_s_max) == (8.0, 16.0)
    assert (found.n_steps, found.n_warmup, found.n_repeats, found.build_s) == (20, 2, 3, 9.0)


@pytest.mark.parametrize(
    ("steps", "deciles"),
    [
        pytest.param((1.0, 2.0, 3.0), (1.0, 2.0, 3.0), id="fewer steps than tenths"),
        pytest.param(tuple(map(float, range(11))), (*map(float, range(9)), 9.5), id="one more than tenths"),
    ],
)
def test_parts_of_the_positions(steps: tuple[float, ...], deciles: tuple[float, ...]) -> None:
    assert summary([Pass(1.0, steps)], batch=1, n_warmup=1, build_s=0.0).tpot_by_decile_s == deciles


def test_a_prefill_alone_has_no_decode_steps() -> None:
    found = summary([Pass(1.0, ())], batch=4, n_warmup=1, build_s=0.5)
    assert (found.tpot_s, found.tpot_by_decile_s, found.decode_tokens_per_s) == (None, (), None)
    assert [line.partition(":")[0] for line in shown.lines(found)] == ["time to first token"]
    answer = shown.as_json(found)
    assert answer
    assert answer["tpot_s"] is None


def test_timings_as_text_and_json() -> None:
    found = summary([Pass(1.5, (0.02, 0.04))], batch=2, n_warmup=1, build_s=0.5)
    assert list(shown.lines(found)) == [
        "time to first token: 1.50 s (p95 1.50 s, 1.50 s – 1.50 s) · 1 pass after 1, made in 500.0 ms",
        "time per output token: 20.0 ms (p95 40.0 ms, 20.0 ms – 40.0 ms) · 2 steps",
        "from the first steps to the last: 20.0 ms 40.0 ms",
        "decode: 66.7 tokens/s (66.7 – 66.7)",
    ]
    answer = shown.as_json(found)
    assert answer
    assert answer["ttft_s"] == {"p50": 1.5, "p95": 1.5, "min": 1.5, "max": 1.5}
    assert timings.from_json(json.loads(json.dumps(answer))) == found


def test_a_trace_takes_no_time() -> None:
    assert shown.as_json(None) is None
    assert list(shown.lines(None)) == []


def winding() -> Callable[[], float]:
    """A clock that goes on by a second each time it is read."""
    seconds = iter(range(10_000))
    return lambda: float(next(seconds))


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_a_run_is_timed_after_its_memory_is_counted() -> None:
    pytest.importorskip("torch", exc_type=ImportError)
    pytest.importorskip("transformers", exc_type=ImportError)
    from kvplan.verifier.child import passes
    from kvplan.verifier.child.meters import CpuMeter
    from kvplan.verifier.child.tracing import TraceMeter
    from tests.verifier.models import LLAMA

    job = Job("llama", LLAMA, "float32", 24, 2, 20, n_warmup=2, n_repeats=3)
    blank = Record(job, "ran", None, "", {}, Device("cpu", "", None, None, None), Snapshot())
    *_, before, last = passes.run(blank, CpuMeter(), clock=winding())
    assert before.timings is None
    assert last == before._replace(timings=last.timings)
    assert last.timings
    assert last.timings.ttft_s == last.timings.tpot_s == Spread(1.0, 1.0, 1.0, 1.0)
    assert last.timings.decode_tokens_per_s == 2.0
    assert (last.timings.n_steps, last.timings.n_warmup, last.timings.n_repeats) == (4, 2, 3)
    *_, traced = passes.run(blank, TraceMeter("cpu"))
    assert traced.timings is None


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_a_trace_without_a_cache_is_a_real_run_to_the_byte() -> None:
    pytest.importorskip("torch", exc_type=ImportError)
    pytest.importorskip("transformers", exc_type=ImportError)
    from kvplan.verifier.child import passes
    from kvplan.verifier.child.meters import CpuMeter
    from kvplan.verifier.child.tracing import TraceMeter
    from tests.verifier.models import LLAMA

    peaks = []
    for meter in (CpuMeter(), TraceMeter("cpu")):
        job = Job("llama", LLAMA, "bfloat16", 23, 2, 20, use_cache=False)
        *_, last = passes.run(Record(job, "ran", None, "", {}, Device("", "", None, None, None), Snapshot()), meter)
        assert last.decode
        assert last.decode.kv_bytes == 0
        peaks.append(last.decode.memory.peak_allocated_bytes)
    assert peaks[0] == peaks[1]


def test_what_a_cache_buys(tmp_path: Path) -> None:
    job = Job("llama", {}, "float32", 24, 2, 20)
    blank = Record(job, "ran", None, "", {"torch": "2"}, Device("cpu", "x86_64", None, None, None), Snapshot())

    def ran(seconds: float, peak: int, *, use_cache: bool) -> Record:
        phases = [Phase(n, seconds, 0, 0, Snapshot(peak_allocated_bytes=peak // (2 - i))) for i, n in enumerate((1, 4))]
        took = summary([Pass(1.0, (seconds,) * 4)], batch=2, n_warmup=1, build_s=0.5)
        return blank._replace(job=job._replace(use_cache=use_cache), prefill=phases[0], decode=phases[1], timings=took)

    estimated = estimate("llama-2-7b")
    found = Verification("cpu", estimated, ran(0.25, 2048, use_cache=True), (), (), ran(1.0, 1024, use_cache=False))
    assert list(without_cache.lines(found))[1:] == [
        "with a cache              8.0   250.0 ms  2.00 KiB",
        "without                   2.0     1.00 s  1.00 KiB",
        "the cache makes decoding 4.0 × as fast",
    ]
    answer = without_cache.as_json(found)
    assert answer
    assert (answer["decode_factor"], answer["peak_bytes"], answer["cached_peak_bytes"]) == (4.0, 1024, 2048)

    died = found._replace(uncached=blank._replace(outcome="oom", error="out of memory"))
    assert list(without_cache.lines(died))[2:] == ["without                     -          -         -  oom"]
    answer = without_cache.as_json(died)
    assert answer
    assert (answer["outcome"], answer["decode_factor"], answer["peak_bytes"]) == ("oom", None, None)
    assert without_cache.as_json(found._replace(uncached=None)) is None
    assert list(without_cache.lines(found._replace(uncached=None))) == []
    names = [path.name for path in (files.write(record, tmp_path) for record in (found.record, ran(1.0, 1, use_cache=False)))]
    assert names == ["cpu_llama_ctx24_b2_.json", "cpu_llama_ctx24_b2_no-cache_.json"]
