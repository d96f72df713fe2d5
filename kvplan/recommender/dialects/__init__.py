"""The engines that the search speaks, one file each with ``NAMES`` and ``DIALECT``."""

from kvplan import _discover
from kvplan.core.errors import UnavailableError
from kvplan.recommender.case import Dialect

DIALECTS = "kvplan.recommender.dialects"


def dialect(engine: str) -> Dialect:
    """The dialect of the engine called so. Raises UnavailableError for one whose settings are not searched."""
    module = _discover.claimant(DIALECTS, "NAMES", engine)
    if module is None:
        known = ", ".join(_discover.claimants(DIALECTS, "NAMES"))
        raise UnavailableError("not_modeled", f"recommend searches no settings of {engine}", hint=f"say --engine with one of: {known}")
    found: Dialect = module.DIALECT
    return found
