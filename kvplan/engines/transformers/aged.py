"""A family's form as older versions of its modeling code had it.

Source: traces of transformers 4.40.2 to 5.16.1 of LLaMA, Mistral, Mixtral and DeepSeek-V3, and the files that ``Rules`` names.
"""

from kvplan.core.forms import ActivationForm
from kvplan.engines.transformers.rules import Experts, Rules

ROUTING = "4iA + fA + E"
_GROUPED = {
    True: (f"4H + 4AH + {ROUTING}", f"4H + AH + 4AM + {ROUTING}"),
    False: (f"4H + 4AH + {ROUTING}", f"4H + AH + 2AM + {ROUTING}"),
}
_VISIT = "iAE + fE + 2fA"
_LOOP = {True: (f"6H + 3M + {_VISIT}", f"6H + 3S + {_VISIT}"), False: (f"6H + 2M + {_VISIT}", f"6H + 2S + {_VISIT}")}
"""One expert after the other, all tokens of the batch in one of them: at most; and a mask of each token, expert and choice."""

_EXPANDED_CORE = "3H + K + V + 2Q + NV + NP + O"


def as_of(form: ActivationForm, rules: Rules, *, latent: bool) -> ActivationForm:
    """``form`` by ``rules``; ``latent`` says whether its attention caches a latent now, which was expanded before it was cached."""
    if rules.float32_logits and form.rotary_dim:  # families as old as GPT-2 left it in the model's type
        form = form._replace(logits=f"{form.logits} + fW")
    return form._replace(core=_EXPANDED_CORE, context="") if latent and not rules.latent else form


def moe(form: ActivationForm, experts: Experts, *, gated: bool) -> tuple[str, ...]:
    """Moments of a mixture of experts: the family's own, or the usual ones."""
    texts = form.moe or _GROUPED[gated]
    match experts:
        case "grouped":
            return texts
        case "copy":
            return tuple(f"{text} + AH" for text in texts)
        case "copies":
            return tuple(f"{text} + AH + {'AM' if 'AM' in text else '2AM'}" for text in texts)
        case "loop":  # pragma: no branch - the ways end here
            return _LOOP[gated]
