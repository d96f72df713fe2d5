"""What older builds make of the same command."""

import pytest

import kvplan
from kvplan.core.device import Node
from kvplan.core.units import MIB
from kvplan.engines.llamacpp.cache import cache
from kvplan.engines.llamacpp.context import Context, resolved
from kvplan.engines.llamacpp.devices import CPU, layout
from kvplan.engines.llamacpp.laid import Laid
from kvplan.engines.llamacpp.rules import VERSIONS
from tests.engines.llamacpp.resolving import cards, settled

NOWHERE = Node(None, None, ())
GEMMA, LLAMA = kvplan.load_model("gemma-3-1b"), kvplan.load_model("llama-3.1-8b")


def context(line: str, build: str) -> Context:
    return resolved(LLAMA, settled(f"llama-server -m x {line}", build))


@pytest.mark.parametrize(("build", "n_ctx", "n_ctx_seq"), [("b6924", 1000, 333), ("b6981", 1536, 512), ("b11434", 1536, 512)])
def test_contexts_are_padded_since_november_2025(build: str, n_ctx: int, n_ctx_seq: int) -> None:
    found = context("-c 1000 -np 3", build)
    assert (found.n_ctx, found.n_ctx_seq) == (n_ctx, n_ctx_seq)


@pytest.mark.parametrize(
    ("build", "flash", "full", "windows"),
    [
        ("b6325", "off", 992, 544),
        ("b6325", "on", 1024, 768),
        ("b6868", "on", 980, 524),
        ("b6981", "off", 1024, 768),
        ("b11434", "on", 1024, 768),
    ],
)
def test_cells_are_padded_by_build(build: str, flash: str, full: int, windows: int) -> None:
    """Source: public log of b6182 without flash attention: 640 cells of 512 tokens of window and a step of 128."""
    settings = settled(f"llama-completion -m x -c 980 -ub 12 -fa {flash}", build, model=GEMMA)
    found = cache(GEMMA, settings, resolved(GEMMA, settings), GEMMA.runs)
    assert {kind: pool.cells for kind, pool in found.pools.items()} == {"full": full, "swa": windows}


@pytest.mark.parametrize(("build", "n_outputs"), [("b8000", 512), ("b9490", 2)])
def test_servers_reserved_a_row_for_every_token(build: str, n_outputs: int) -> None:
    assert context("-c 4096 -np 2", build).n_outputs == n_outputs


@pytest.mark.parametrize(("build", "blocks", "output"), [("b7426", (-1, -1, 0, 0), -1), ("b7540", (-1, -1, -1, 0), 0)])
def test_the_output_layer_was_offloaded_last(build: str, blocks: tuple[int, ...], output: int) -> None:
    node = cards("rtx-4090", 1)
    found = layout(settled("llama-server -m x -ngl 2", build, node=node), node, 4)
    assert (found.blocks, found.output) == (blocks, output)


@pytest.mark.parametrize("build", VERSIONS)
def test_every_build_answers(build: str) -> None:
    assert context("-c 4096", build).n_ctx == 4096


@pytest.mark.parametrize(("build", "n_cells"), [("b6325", 4 * 512), ("b6868", 4 * 256), ("b6981", 4 * 512), ("b11434", 4 * 512)])
def test_slots_that_do_not_divide_the_context(build: str, n_cells: int) -> None:
    """1025 tokens of four slots: rounded up and padded, then rounded down, then padded to 1280 before they are divided."""
    settings = settled("llama-server -m x -c 1025 -np 4", build)
    found = cache(LLAMA, settings, resolved(LLAMA, settings), LLAMA.runs)
    assert found.pools["full"].n_cells == n_cells


@pytest.mark.parametrize(("build", "mib"), [("b9000", 298), ("b9490", 132)])
def test_rows_of_logits_made_compute_buffers_larger(build: str, mib: int) -> None:
    """Source: llama.cpp PR 23861 and 23988: what Llama 3 8B reserved before and since."""
    model = kvplan.load_model("llama-3-8b")
    found = Laid(model, settled("llama-server -m x -c 8192 -np 1 -dev none", build, model=model), NOWHERE)
    assert found.compute.n_bytes[CPU] / MIB == pytest.approx(mib, abs=1)
