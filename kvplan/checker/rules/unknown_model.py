"""KV591: a server whose memory is not checked: its model can't be looked up here, or its engine is not modeled."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.wording import found

_PIN = "pin it: `kvplan models NAME --spec > FILE` in --model-dir, or map its name under models: in .kvplan.yaml"


def check(case: Case) -> Iterator[Found]:
    """A note, once a server: its flags are listed, its memory is not checked."""
    if case.reading.model is None or any(tried.estimate for tried in case.tried):
        return
    problem = next((tried.problem for tried in case.tried if tried.problem), None)
    if problem is not None:
        model = case.reading.model
        hint = "" if problem.startswith(case.reading.engine or "-") else _PIN
        yield found("KV591", "note", case, (), f"{model.text}: not checked for memory: {problem}", hint)._replace(
            line=model.line, column=model.column
        )
