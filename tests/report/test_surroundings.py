"""What stands around an estimate says what an estimate at the same place would."""

import pytest

from kvplan.comparer import Side
from kvplan.estimator import Options, answer
from kvplan.estimator.sweep import Sweep, axes, points
from kvplan.reporter import Subject
from kvplan.reporter.surroundings import surrounded

COMMAND = ("vllm", "serve", "qwen3-8b", "--max-model-len", "8192", "--max-num-seqs", "4", "--kv-cache-dtype", "fp8")
ASKED = {
    "options": Options(model="qwen3-8b", engine="vllm", gpu="l4", ctx="8k", batch="2"),
    "command": Options(command=COMMAND, gpu="l4"),
    "no pool": Options(model="qwen3-8b", gpu="l4", ctx="2k"),
    "llama.cpp": Options(model="qwen3-8b", engine="llama.cpp", dtype="q4_k_m", gpu="rtx-4090", ctx="16k"),
}


@pytest.fixture(params=ASKED)
def options(request: pytest.FixtureRequest) -> Options:
    return ASKED[request.param]


def subject(options: Options) -> Subject:
    return surrounded(Side("it", options), probe=False)


def of_grid(options: Options) -> Sweep:
    found = subject(options).grid
    assert found is not None
    return found


def test_a_cell_is_an_estimate(options: Options) -> None:
    for point in of_grid(options).points[::5]:
        assert point.load is not None
        found = answer(options._replace(ctx=str(point.load.ctx_tokens), batch=str(point.load.batch)), elsewhere=False)
        assert (point.needed, point.verdict, point.refusals) == (found.needed, found.verdict, found.refusals)


def test_what_was_asked_is_a_cell(options: Options) -> None:
    found = subject(options)
    assert found.grid is not None
    assert [point.needed for point in found.grid.points if point.load == found.found.workload] == [found.found.needed]


def test_the_first_line_is_this_engine_s(options: Options) -> None:
    found = subject(options)
    assert found.lines[0].label == f"{found.found.engine} · {found.found.kv.k_dtype} cache"
    assert found.found.needed in [point.needed for point in found.lines[0].found.points]
    assert len({line.label for line in found.lines}) == len(found.lines)


def test_rungs_are_estimates_that_fit(options: Options) -> None:
    for rung in subject(options).ladder:
        found = answer(options._replace(batch=str(rung.concurrency)), elsewhere=False)
        assert found.verdict in ("fits", "tight")
        assert (rung.needed, rung.verdict, rung.performance) == (found.needed, found.verdict, found.performance)


def test_the_largest_batch_is_a_rung() -> None:
    found = subject(Options(model="qwen3-8b", engine="vllm", gpu="l40s", ctx="8k"))
    assert found.found.capacity is not None
    assert found.found.capacity.max_batch in [rung.concurrency for rung in found.ladder]


def test_a_grid_goes_no_further_than_the_command() -> None:
    ctx, batch = of_grid(ASKED["command"]).axes[-2:]
    assert ctx.values[-1] == "8192"
    assert batch.values[-1] == "4"


def test_beyond_a_command_s_limits_there_is_no_answer() -> None:
    varied = axes({"gpu": ("l4",), "ctx": ("4096", "16384"), "batch": ("1", "8")})
    errors = [point.error and point.error.kind for point in points(varied, command=COMMAND)]
    assert errors == [None, "beyond_limit", "beyond_limit", "beyond_limit"]


def test_without_hardware_there_is_no_grid_and_no_speed() -> None:
    found = subject(Options(model="qwen3-8b", gpu="none"))
    assert found.grid is None
    assert found.ladder == ()
    assert found.lines
