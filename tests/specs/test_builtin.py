from pathlib import Path

import pytest
import yaml

from kvplan.specs import builtin, load_model
from kvplan.specs.raw import validated


@pytest.mark.parametrize("name", builtin.ids())
def test_a_spec_sums_to_its_declared_total_and_says_where_it_is_from(name: str) -> None:
    spec, data = load_model(name), builtin.read(name)
    assert spec.id == name
    assert spec.n_params == data["n_params"]
    assert data["facts"]
    assert data["as_of"]


@pytest.mark.parametrize("name", builtin.ids())
def test_the_quick_reader_reads_what_yaml_reads(name: str) -> None:
    plain = yaml.safe_load(builtin.text(name))
    lowered = {**plain, "aliases": [alias.lower() for alias in plain["aliases"]]}
    assert validated(lowered, where=name) == validated(builtin.read(name), where=name)


def test_ids_and_aliases_are_unique() -> None:
    names = [name for model_id in builtin.ids() for name in (model_id, *builtin.aliases(model_id))]
    assert len(names) == len(set(names))


def test_the_index_is_what_the_specs_say(request: pytest.FixtureRequest) -> None:
    path = Path(builtin.folder()) / builtin.INDEX
    if request.config.getoption("--update-golden"):
        path.write_text(builtin.index(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == builtin.index(), "run: pytest --update-golden tests/specs/test_builtin.py"


def test_names_are_found_whatever_their_case() -> None:
    assert load_model("Llama-2-7B").id == "llama-2-7b"
    assert builtin.find("Meta-Llama/Llama-2-7B-hf") == "llama-2-7b"
