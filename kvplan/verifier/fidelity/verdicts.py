"""Is what a cache costs noise, some loss, or bad? The bounds, and where they are from."""

from math import comb
from typing import Literal, NamedTuple

from kvplan.verifier.fidelity.measures import Measures

Verdict = Literal["within_noise", "some_loss", "bad", "failed"]

# What quantized weights of Llama 3 8B do, which people know from use. Source: llama.cpp tools/perplexity/README.md, "LLaMA 3 8b
# Scoreboard": Q6_K, which nobody tells from float16, and Q3_K_M, which anybody does.
NOISE_KL, NOISE_RISE = 0.0055, 0.0035
BAD_KL, BAD_RISE = 0.10, 0.10

SURE = 2.0  # standard errors
CHANCE = 0.05


class Judged(NamedTuple):
    """A verdict and what decided it."""

    verdict: Verdict
    why: str


def judged(found: Measures) -> Judged:
    """The verdict on a cache: bad by one measure is bad, within noise is so by all.

    A rise of perplexity counts where it is more than two standard errors from none, lost answers where a sign test finds them
    less likely than one in twenty by chance.
    """
    kl, rise = found.judgment.kl, found.log_rise or 0.0
    is_sure = found.log_rise_error is None or abs(rise) > SURE * found.log_rise_error
    loses = _chance(found.n_lost, found.n_won) < CHANCE
    lost = f"{found.n_lost} of {found.n_answers} answers lost, {found.n_won} won"
    reasons: list[tuple[bool, Verdict, str]] = [
        (loses, "bad", f"{lost}: more than chance"),
        (kl >= BAD_KL, "bad", f"KL {kl:.3f}, at {BAD_KL} or above"),
        (is_sure and rise >= BAD_RISE, "bad", f"perplexity {_percent(rise)}, at {_percent(BAD_RISE)} or above"),
        (kl > NOISE_KL, "some_loss", f"KL {kl:.4f}, above {NOISE_KL}"),
        (is_sure and rise > NOISE_RISE, "some_loss", f"perplexity {_percent(rise)}, above {_percent(NOISE_RISE)}"),
    ]
    return next((Judged(verdict, why) for holds, verdict, why in reasons if holds), Judged("within_noise", f"KL {kl:.1g}"))


def _chance(lost: int, won: int) -> float:
    """That at least ``lost`` of so many changed answers are lost where both are as likely."""
    n = lost + won
    return sum(comb(n, k) for k in range(lost, n + 1)) / float(2**n)


def _percent(share: float) -> str:
    return f"{100 * share:+.2g} %"
