"""The modeled engines as a table or JSON."""

from kvplan.estimator import registry
from kvplan.render.envelope import document
from kvplan.render.table import aligned

_FOOT = (
    "",
    "--engine NAME@VERSION chooses one, the newest unless said; a version between two",
    "behaves as the older one; --json lists all, and other names that engines go by",
)


def listing(*, as_json: bool) -> str:
    """Every engine with its names and the versions whose rules are modeled."""
    found = registry.engines()
    if as_json:
        return document({"engines": [{"name": names[0], "names": names, "versions": list(engine.versions)} for engine, names in found]})
    rows = [(names[0], engine.versions[0], engine.versions[-1], str(len(engine.versions))) for engine, names in found]
    return "\n".join((*aligned([("engine", "oldest", "newest", "versions"), *rows], left=frozenset({0, 1, 2})), *_FOOT, ""))
