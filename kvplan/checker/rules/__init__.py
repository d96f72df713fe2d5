"""One module per rule: ``ID`` and ``check(case: Case) -> Iterator[Found]``; its manual page stands in ``kvplan/explainer/pages``."""
