"""Sums of samples, and what is made of them."""

import math

import pytest

from kvplan.verifier.fidelity import findings
from kvplan.verifier.fidelity.asked import Bucket, Output, Played, Row, played_from, to_json
from kvplan.verifier.fidelity.measures import Answer, Judgment, Measures, measures
from kvplan.verifier.fidelity.samples import Sample
from kvplan.verifier.fidelity.study import Found
from kvplan.verifier.fidelity.variant import parse
from kvplan.verifier.fidelity.verdicts import Judged, judged

TEXT = Sample("t", "text", "…")
ASKED = Sample("q", "yours", "2 + 2 =", "4")


def output(text: str, tokens: tuple[int, ...], *, ended: bool = False, divergence: int | None = None) -> Output:
    return Output(text, tokens, ended, divergence)


def answers() -> list[Answer]:
    base = Row({0: Bucket(2, 2.0, 0.0, 0.0, 0.0, 2), 128: Bucket(2, 4.0, 0.0, 0.0, 0.0, 2)}, None)
    ours = Row({0: Bucket(2, 2.2, 0.2, 0.04, 0.1, 2), 128: Bucket(2, 4.4, 0.4, 0.16, 0.3, 1)}, None)
    right = Row({0: Bucket(4, 1.0, 0.0, 0.0, 0.0, 4)}, output(" 4 yes", (4, 5, 6, 7, 8)))
    early = Row({0: Bucket(4, 1.0, 0.0, 0.0, 0.4, 4)}, output(" 5", (9, 9, 9, 9, 9), ended=True, divergence=0))
    same = Row({0: Bucket(4, 1.0, 0.0, 0.0, 0.0, 4)}, output(" 4 yes", (4, 5, 6, 7, 8)))
    return [Answer(TEXT, 300, ours, base), Answer(ASKED, 5, early, right), Answer(ASKED, 130, same, right)]


def test_what_all_samples_say() -> None:
    found = measures(answers())
    assert found.perplexity == pytest.approx(math.exp(6.6 / 4))
    assert found.log_rise == pytest.approx(0.15)
    assert found.log_rise_error == pytest.approx(math.sqrt((0.2 / 4 - 0.15**2) / 3))
    assert found.judgment == pytest.approx((12, 0.8 / 12, 11 / 12))
    assert (found.n_answers, found.n_right, found.n_lost, found.n_won) == (2, 1, 1, 0)
    assert (found.n_diverged, found.divergence, found.n_broken_off, found.n_ran_on) == (1, 0, 1, 0)
    assert found.repetition == pytest.approx(1 - 3 / 4)
    assert [(one.from_tokens, one.to_tokens, one.judgment.n_tokens, one.n_answers, one.n_right) for one in found.distances] == [
        (0, 128, 10, 1, 0),
        (128, 512, 2, 1, 1),
    ]


def test_without_text_there_is_no_perplexity() -> None:
    found = measures(answers()[1:])
    assert (found.perplexity, found.log_rise, found.log_rise_error) == (None, None, None)


def test_a_result_goes_through_json() -> None:
    rows = tuple(one.row for one in answers())
    played = Played(5, (*rows, Row({}, None, "ValueError: no")))
    assert played_from(to_json(played)) == played


def of(kl: float = 0.0, rise: float = 0.0, error: float = 0.0, lost: int = 0, won: int = 0) -> Measures:
    return Measures(10.0, rise, error, Judgment(100, kl, 1.0), (), 10, 5, lost, won, 0, None, 0.0, 0, 0)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        pytest.param(of(), "within_noise", id="the same"),
        pytest.param(of(kl=0.0055, rise=0.0035), "within_noise", id="at the bounds"),
        pytest.param(of(kl=0.006), "some_loss", id="KL"),
        pytest.param(of(rise=0.004), "some_loss", id="perplexity"),
        pytest.param(of(rise=0.004, error=0.003), "within_noise", id="a rise within its error"),
        pytest.param(of(kl=0.1), "bad", id="KL, bad"),
        pytest.param(of(rise=0.2, error=0.05), "bad", id="perplexity, bad"),
        pytest.param(of(lost=4), "within_noise", id="four lost may be chance"),
        pytest.param(of(lost=5), "bad", id="five lost are more"),
        pytest.param(of(lost=5, won=3), "within_noise", id="some won"),
    ],
)
def test_verdicts(found: Measures, verdict: str) -> None:
    assert judged(found).verdict == verdict
    assert judged(found).why


def test_findings() -> None:
    reference = of()._replace(n_right=4)
    found = (
        Found(parse("int4"), 100, of(kl=0.2), judged(of(kl=0.2))),
        Found(parse("int4:k=channel"), 90, of(kl=0.02), judged(of(kl=0.02))),
        Found(parse("hqq-int4"), 80, None, Judged("failed", "…")),
    )
    said = findings.findings(reference, found)
    assert [one.rule for one in said] == ["KV660", "KV661", "KV662"]
    assert "int4:k=channel takes no more memory than int4" in said[1].message
    assert findings.findings(of(), found[1:]) == ()
