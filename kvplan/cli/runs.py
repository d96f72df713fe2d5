"""How a model is to be run, as `verify` and `sweep --measure` are told."""

from kvplan.cli.command import Said
from kvplan.core.units import parse_count
from kvplan.verifier.run import Run, Tier

TIERS: dict[str, Tier] = {"cuda": "cuda", "cpu": "cpu", "trace": "trace"}


def asked(said: Said) -> Run:
    """The tier, layers, passes, and what to load. Raises RequestError for a count that is none."""
    counts = {name: parse_count(said.values[name], option=f"--{name}") for name in ("layers", "warmup", "repeats") if name in said.values}
    usual = Run()
    return Run(
        backend=TIERS.get(said.values.get("backend") or ""),
        n_layers=counts.get("layers"),
        n_warmup=counts.get("warmup", usual.n_warmup),
        n_repeats=counts.get("repeats", usual.n_repeats),
        uncached="no_cache" in said.flags,
        weights=said.values.get("weights"),
    )
