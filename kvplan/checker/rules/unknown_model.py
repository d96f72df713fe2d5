"""KV591: a model that can't be looked up here."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.wording import found


def check(case: Case) -> Iterator[Found]:
    """A note, once a server: its flags are listed, its memory is not checked."""
    if case.reading.model is None or any(tried.estimate for tried in case.tried):
        return
    problem = next((tried.problem for tried in case.tried if tried.problem), None)
    if problem is not None:
        hint = "pin it: `kvplan models NAME --spec > FILE` in --model-dir, or map its name under models: in .kvplan.yaml"
        model = case.reading.model
        yield found("KV591", "note", case, (), f"{model.text}: not checked for memory: {problem}", hint)._replace(
            line=model.line, column=model.column
        )
