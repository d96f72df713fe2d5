"""What the profile run finds, and what it depends on."""

import kvplan
from kvplan.core.device import Gpu
from kvplan.core.ledger import ZERO
from kvplan.core.model import ModelSpec
from kvplan.core.units import GIB
from kvplan.engines.vllm.profile import OVERHEADS, Profile, profile
from kvplan.engines.vllm.rules import engine_rules
from kvplan.engines.vllm.settings import Settings
from tests.engines.vllm.resolving import LLAMA, MIXTRAL, card, settled

H100 = card("h100-sxm")


def test_overheads_are_calibrated_where_three_readings_are() -> None:
    assert OVERHEADS["0.17"].basis == "calibrated"
    assert OVERHEADS["0.29"].basis == "modeled"


def gpu(capability: tuple[int, int]) -> Gpu:
    return H100.gpus[0]._replace(compute_capability=capability)


def found_by(
    settings: Settings,
    version: str = "0.33.0",
    model: ModelSpec = LLAMA,
    *,
    newer: bool = False,
    capability: tuple[int, int] = (9, 0),
) -> Profile:
    return profile(model, settings, engine_rules(version), gpu(capability), stage=0, newer=newer)


def test_the_profile_follows_what_it_depends_on() -> None:
    base = found_by(settled())
    assert found_by(settled(), newer=True).activations.high > base.activations.high
    assert found_by(settled(), capability=(10, 0)).non_torch.best - base.non_torch.best == 394 * 2**20
    assert found_by(settled("--enforce-eager")).graphs == ZERO
    assert found_by(settled("", "0.19.0"), "0.19.0").graphs == ZERO
    assert found_by(settled("", "0.19.0"), "0.19.0").later_graphs.best > 0
    assert found_by(settled("--max-num-seqs 8")).activations.best < base.activations.best
    mixtral = settled(model=MIXTRAL)
    assert found_by(mixtral, model=MIXTRAL).activations.best - found_by(mixtral._replace(tp=2), model=MIXTRAL).activations.best > 0


def test_the_sampler_runs_on_the_last_stage() -> None:
    settings = settled()._replace(pp=2)
    first, last = (profile(LLAMA, settings, engine_rules("0.19.0"), None, stage=stage, newer=False) for stage in (0, 1))
    assert first.activations.best < last.activations.best
    assert first.non_torch.best < GIB // 10
    assert first.context == ZERO


def test_encoders_are_profiled_unless_turned_off() -> None:
    gemma = kvplan.load_model("gemma-3-4b")
    on, off = (found_by(settled(flags, model=gemma), model=gemma).activations.best for flags in ("", "--skip-mm-profiling"))
    assert on > off
    limited = settled(model=gemma)._replace(mm_limits=(("image", 0),))
    assert found_by(limited, model=gemma).activations.best == off
