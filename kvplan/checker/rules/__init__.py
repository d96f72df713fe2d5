"""One module per rule with ``check(case: Case) -> Iterator[Found]``; its manual page stands in ``kvplan/explainer/pages``."""
