"""Assisted generation: a second model beside the first."""

from kvplan.core.device import UNKNOWN_NODE
from kvplan.core.ledger import total
from kvplan.core.workload import Workload
from kvplan.engines.transformers.engine import ENGINE
from tests.engines.transformers.running import NEWEST, by_term, deployment, gpu, model, settings

LOAD = Workload(100, 1, 90)
DRAFT = model(num_hidden_layers=1)


def test_the_assistant_has_weights_and_a_cache_of_its_own() -> None:
    deployed = deployment(model()._replace(draft=DRAFT), node=gpu(), assistant_model="d")
    entry = by_term(deployed.entries(LOAD))["draft_model"]
    assert entry.size.best == entry.size.low == 2 * DRAFT.n_params + 100 * 2 * 2 * 16 * 2
    assert entry.size.high > entry.size.best
    assert deployed.need_bytes("gpu0", LOAD) == total(entry.size for entry in deployed.entries(LOAD))


def test_without_the_word_a_draft_is_not_counted() -> None:
    assert "draft_model" not in by_term(deployment(model()._replace(draft=DRAFT)).entries(LOAD))


def test_an_assistant_that_is_not_known_is_said() -> None:
    deployed = deployment(model(), assistant_model="d")
    assert "assistant" in [item.id for item in deployed.not_modeled]


def test_settings() -> None:
    parsed = ENGINE.parse(("transformers", "m", "assistant_model=d"), {}, NEWEST)
    assert parsed.draft == "d"
    found = settings(model(), {"assistant_model": "d"})
    assert ENGINE.limits(found) == (None, 1)
    assert ENGINE.limits(settings(model())) == (None, None)
    assert ENGINE.pace(found, model()) is None  # how many of the drafted tokens are taken is not known
    assert ENGINE.pace(settings(model()), model()) is not None
    assert ENGINE.resolve(ENGINE.parse(ENGINE.command(found), {}, NEWEST), LOAD, model(), UNKNOWN_NODE, NEWEST) == found


def test_assistants_of_other_types_run_in_their_own() -> None:
    draft = model(model_type="gemma2", head_dim=16)._replace(stored_dtype="float8_e4m3fn")
    entry = by_term(deployment(model()._replace(draft=draft), assistant_model="d").entries(LOAD))["draft_model"]
    assert entry.inputs["weights"] == draft.n_params
