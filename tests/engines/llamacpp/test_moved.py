"""What --fit leaves to the host: as little as fits the card with its margin of 1024 MiB (common.h, fit_params_target)."""

import pytest

from kvplan.core.units import MIB
from kvplan.estimator import Estimate, Options, answer

MARGIN = 1024 * MIB


def asked(model: str, *flags: str, gpu: str = "rtx-4090") -> Estimate:
    command = ("llama-server", "-m", model, "-c", "4096", "-np", "1", *flags)
    return answer(Options(command=command, gpu=gpu, dtype="q4_k_m"))


def on_card(found: Estimate) -> int:
    """What it measures: model, caches and graphs."""
    counted = ("weights", "kv_cache", "recurrent_state", "compute_buffer")
    return sum(entry.size.best for entry in found.entries if entry.place == "gpu0" and entry.term in counted)


def room(found: Estimate) -> int:
    usable = found.places[0].place.usable_bytes
    assert usable is not None
    return usable - MARGIN


def rules(found: Estimate) -> set[str]:
    return {finding.rule for finding in found.findings}


def test_whole_layers_of_a_dense_model() -> None:
    found = asked("llama-2-70b")
    kept = found.settings["n_gpu_layers"]
    assert isinstance(kept, int)
    assert 0 < kept < 81
    assert on_card(found) <= room(found) < on_card(asked("llama-2-70b", "-ngl", str(kept + 1)))
    assert on_card(asked("llama-2-70b", "-ngl", str(kept))) == on_card(found)
    assert "KV334" in rules(found)


def test_experts_go_before_layers_do() -> None:
    found = asked("gpt-oss-120b")
    left = found.settings["n_cpu_moe"]
    assert isinstance(left, int)
    assert found.settings["n_gpu_layers"] == -1
    assert on_card(found) <= room(found) < on_card(asked("gpt-oss-120b", "--n-cpu-moe", str(left - 1)))


def test_experts_and_layers_where_neither_is_enough() -> None:
    found = asked("deepseek-v3", gpu="rtx-4060")
    kept = found.settings["n_gpu_layers"]
    assert isinstance(kept, int)
    assert (found.settings["n_cpu_moe"], 0 < kept < 62) == (61, True)
    assert on_card(found) <= room(found) < on_card(asked("deepseek-v3", "--cpu-moe", "-ngl", str(kept + 1), gpu="rtx-4060"))
    assert any("layers and the experts" in finding.message for finding in found.findings)


@pytest.mark.parametrize("flags", [("--fit", "off"), ("-ngl", "99"), ("-ot", "exps=CPU")])
def test_what_was_placed_by_hand_stays(flags: tuple[str, ...]) -> None:
    found = asked("llama-2-70b", *flags)
    assert "KV334" not in rules(found)
    assert on_card(found) > room(found)


def test_nothing_moves_where_all_fits() -> None:
    found = asked("llama-2-7b")
    assert (found.settings["n_gpu_layers"], found.settings["n_cpu_moe"]) == (-1, 0)
    assert "KV334" not in rules(found)
