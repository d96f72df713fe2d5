"""What a shell may offer after an option, or as MODEL."""


def values(flag: str) -> list[str]:
    """Everything that can follow ``flag``; nothing where any text can."""
    if flag == "--gpu":
        from kvplan.hardware import table

        return ["local", "none", *table.ids()]
    if flag == "--dtype":
        from kvplan.core.dtypes import PLAIN
        from kvplan.specs import paper

        return ["auto", *PLAIN, *paper.names()]
    if flag == "--kv-dtype":
        from kvplan.core.dtypes import DTYPES

        return ["auto", *DTYPES]
    if flag == "--engine":
        from kvplan.estimator import registry

        return registry.known_engines()
    return []


def models() -> list[str]:
    """Ids of the built-in models."""
    from kvplan.specs import builtin

    return builtin.ids()


def pages() -> list[str]:
    """Rules and terms that have a page."""
    from kvplan.explainer import manual

    return list(manual.ids())
