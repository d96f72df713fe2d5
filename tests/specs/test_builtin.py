import pytest

from kvplan.specs import builtin, load_model


@pytest.mark.parametrize("name", builtin.ids())
def test_every_builtin_spec_sums_to_its_declared_total(name: str) -> None:
    spec = load_model(name)
    assert spec.id == name
    assert spec.n_params > 0
