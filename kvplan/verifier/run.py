"""How a model is run to be measured, as it is asked for."""

from typing import TYPE_CHECKING, Literal, NamedTuple

from kvplan.core.errors import RequestError

if TYPE_CHECKING:
    from kvplan.estimator.options import Keywords

    class RunKeywords(Keywords, total=False):
        """The options of ``kvplan.verify``: those of ``kvplan.estimate``, and how to run."""

        backend: "Tier | None"
        n_layers: int | None
        warmup: int
        repeats: int
        no_cache: bool
        weights: str | None


Tier = Literal["cuda", "cpu", "trace"]


class Run(NamedTuple):
    """How to run, whatever the model and the workload.

    ``backend`` None is the attached GPU, else a trace; with ``n_layers`` only the first layers are built. ``n_repeats`` passes are
    timed after ``n_warmup`` passes, at least one, of which the first counts memory; a trace takes no time. With ``uncached`` it is
    run without a cache, too. ``weights`` is the folder of a checkpoint to load, None for random weights.
    """

    backend: Tier | None = None
    n_layers: int | None = None
    n_warmup: int = 1
    n_repeats: int = 3
    uncached: bool = False
    weights: str | None = None


def parted(options: "RunKeywords") -> "tuple[Run, Keywords]":
    """How to run, and what to estimate. Raises RequestError for fewer than one layer or warm-up pass, or repeats below none."""
    usual = Run()
    run = Run(
        backend=options.pop("backend", None),
        n_layers=options.pop("n_layers", None),
        n_warmup=options.pop("warmup", usual.n_warmup),
        n_repeats=options.pop("repeats", usual.n_repeats),
        uncached=options.pop("no_cache", usual.uncached),
        weights=options.pop("weights", None),
    )
    counts = (("n_layers", run.n_layers, 1), ("warmup", run.n_warmup, 1), ("repeats", run.n_repeats, 0))
    for name, count, least in counts:
        if count is not None and count < least:
            raise RequestError("bad_count", f"{name}: expected a whole number from {least} on, found {count}", hint="leave it out")
    return run, options
