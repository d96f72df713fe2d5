"""A few of the bench's random questions: every proposed command, estimated by itself, starts and fits."""

import pytest

import kvplan
from kvplan.estimator import Options, answer
from tests.recommender.triples import Triple, triples


@pytest.mark.parametrize("asked", list(triples(24)), ids=str)
def test_every_command_fits_when_it_is_estimated_alone(asked: Triple) -> None:
    found = kvplan.recommend(asked.model, gpu=asked.gpu, goal=asked.goal)
    for proposal in found.proposals:
        alone = answer(Options(command=proposal.command, gpu=asked.gpu))
        assert alone.verdict == "fits"
        assert not alone.refusals
    assert found.proposals or found.rejected


@pytest.mark.parametrize("engine", ["transformers", "ollama"])
@pytest.mark.parametrize("asked", list(triples(40))[30:], ids=str)
def test_so_do_commands_of_engines_that_are_asked_for(asked: Triple, engine: str) -> None:
    found = kvplan.recommend(asked.model, gpu=asked.gpu, goal=asked.goal, engine=engine)
    for proposal in found.proposals:
        alone = answer(Options(command=proposal.command, gpu=asked.gpu))
        assert alone.engine == engine
        assert alone.verdict == "fits"
        assert not alone.refusals
        full = Options(command=proposal.command, gpu=asked.gpu, ctx=str(proposal.plan.ctx_tokens), batch=str(proposal.plan.sequences))
        assert answer(full).verdict == "fits"
