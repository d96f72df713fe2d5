"""From a plan to the command that asks for it: the user's own words with a few values changed."""

from kvplan.recommender.case import Case, Spelling
from kvplan.recommender.plan import KNOBS, Form, Plan

CONTAINERS = ("docker", "podman", "nerdctl")


def command(case: Case, plan: Plan) -> tuple[str, ...]:
    """The case's command with what ``plan`` changes; flags that were not there come last, where both engines let them win."""
    words = list(_named(case, plan))
    for knob in changed(case, plan):
        if knob == "weights" and not _is_flag(case, plan):
            continue
        for spelling in case.dialect.spellings.get(knob, ()):
            _set(words, spelling, case.dialect.said(knob, plan))
    return tuple(words)


def changed(case: Case, plan: Plan) -> tuple[str, ...]:
    """Knobs that the command must say: those that differ, and in a command of kvplan's own always the two sizes."""
    always = () if case.pasted else ("ctx_tokens", "sequences")
    return tuple(knob for knob in KNOBS if knob in always or differs(case, knob, plan, case.base))


def differs(case: Case, knob: str, plan: Plan, other: Plan) -> bool:
    """Whether two plans say a knob's flag differently; one may depend on another knob."""
    said = case.dialect.said
    return getattr(plan, knob) != getattr(other, knob) or said(knob, plan) != said(knob, other)


def on_paper(case: Case, plan: Plan) -> str | None:
    """The scheme that is said with the model's name: weights that lie so on paper alone, or that no flag says; else None."""
    found = form(case, plan)
    return plan.weights if found.needs_checkpoint or found.named else None


def form(case: Case, plan: Plan) -> Form:
    """What is known of the way that the plan's weights lie; of one that the search would not choose, its name."""
    return next((form for form in case.forms if form.name == plan.weights), Form(plan.weights, case.stored_bits, on_load=True))


def model_name(case: Case, plan: Plan) -> str:
    """The model's name, with a scheme behind it where its weights lie so on paper alone."""
    scheme = on_paper(case, plan)
    return f"{case.ref}:{scheme}" if scheme and case.by_name else case.ref


def _is_flag(case: Case, plan: Plan) -> bool:
    """Whether the engine is told of the weights, or finds them so."""
    return bool(case.dialect.said("weights", plan) or case.dialect.said("weights", case.base))


def _named(case: Case, plan: Plan) -> tuple[str, ...]:
    if plan.weights == case.base.weights:
        return case.command
    old, new = model_name(case, case.base), model_name(case, plan)
    return tuple(word if word != old else new for word in case.command)


def _set(words: list[str], spelling: Spelling, value: str) -> None:
    """``value`` in the place of the flag's last one; an empty one takes the flag out, ``on`` is a switch."""
    names = (spelling.flag, *spelling.others)
    for i in range(len(words) - 1, -1, -1):
        name, equals, _ = words[i].partition("=")
        if name not in names:
            continue
        if value in ("", "on"):
            words[i : i + (1 if equals or value == "on" or i + 1 == len(words) or words[i + 1].startswith("-") else 2)] = (
                [name] if value == "on" else []
            )
        elif equals:
            words[i] = f"{name}={value}"
        else:
            words[i + 1 : i + 2] = [value]
        return
    if value:
        _add(words, spelling, value)


def _add(words: list[str], spelling: Spelling, value: str) -> None:
    """A word that was not there; variables of a container are said to it."""
    match spelling.kind:
        case "flag":
            words.extend((spelling.flag,) if value == "on" else (spelling.flag, value))
        case "parameter":
            words.append(f"{spelling.flag}={value}")
        case "variable":
            at = next((i + 1 for i, word in enumerate(words) if word in ("run", "create") and words[i - 1] in CONTAINERS), None)
            words[at or 0 : at or 0] = [f"{spelling.flag}={value}"] if at is None else ["-e", f"{spelling.flag}={value}"]
