"""Joins a model, a workload, an engine and a node into one answer."""

from typing import TYPE_CHECKING

from kvplan.core.device import Node, Place
from kvplan.core.engine import Deployment
from kvplan.core.errors import RequestError
from kvplan.core.ledger import Entry, total
from kvplan.core.remembered import Remembered
from kvplan.core.workload import Workload
from kvplan.estimator import findings, inverse, nodes, subject
from kvplan.estimator.answer import Estimate, PlaceTotal
from kvplan.estimator.demand import ANY, workload
from kvplan.estimator.options import Options, in_words

if TYPE_CHECKING:
    from typing import Unpack

    from kvplan.estimator.options import Keywords

__all__ = ["Estimate", "Options", "answer", "estimate"]


def estimate(model: str, **options: "Unpack[Keywords]") -> Estimate:
    """Where each byte goes for ``model``: ``estimate("llama-2-7b", ctx=4096, batch=8, gpu="h100-sxm")``.

    Options are those of the command line, as numbers or text: ctx, batch, prompt, engine, dtype, kv_dtype, attn, cache,
    forward, usage, device_map, max_memory, tp, pp, dp, ep, gpu, gpus, budget, ram, host, calibration.

    The answer has ``verdict``, ``needed`` (bytes: low, best, high), ``entries``, ``kv``, ``phases``, ``capacity``, ``performance``,
    ``fits_on`` and ``findings``. No hardware is probed. Raises KvplanError for a wrong request.
    """
    return answer(in_words(model, options))


def answer(options: Options, *, probe: bool = False, elsewhere: bool = True) -> Estimate:
    """Where each byte goes for this request, and whether it fits.

    ``probe`` looks for an attached GPU when the request names no hardware, ``elsewhere`` for nodes that would do where this one
    does not. Raises RequestError for a wrong request.
    """
    engine, version, parsed, model, size, node = subject.subject(options, probe=probe)
    commanded = len(options.command) > 1  # its flags are the limits, whatever the workload; a program's name alone says nothing
    if commanded:
        settings = engine.resolve(parsed, ANY, model, node, version)
        load, notes = workload(options, model, engine.limits(settings))
    else:
        load, notes = workload(options, model)
        settings = engine.resolve(parsed, load, model, node, version)
    deployment, shown = subject.deployment(engine, model, settings, node), engine.shown(settings)
    entries, kv = deployment.entries(load), deployment.kv(load)
    places = tuple(_place_total(place, entries, deployment, load) for place in inverse.places(node, entries))
    capacity = inverse.capacity(deployment, node, load, model.max_ctx_tokens)
    found = Estimate(
        model=model,
        size=size,
        engine=engine.name,
        version=version,
        settings={**shown, **deployment.resolved()},
        ignored=parsed.ignored,
        command=engine.command(settings),
        workload=load,
        node=node,
        entries=tuple(entry for entry in entries if entry.listed),
        places=places,
        phases=deployment.phases(load),
        kv=kv,
        capacity=capacity,
        refusals=(*parsed.refusals, *deployment.refusals),
        fits_on=(),
        predicted_log=deployment.log_lines(),
        not_modeled=deployment.not_modeled,
        findings=(
            *parsed.findings,
            *notes,
            *findings.of_node(node),
            *findings.of_split(options, node, shown),
            *findings.of_model(model, kv.reserved_bytes),
            *deployment.findings,
            *findings.of_pool(engine.name, deployment, node, load, capacity),
        ),
    )
    if node.gpus:
        from kvplan.estimator import speed

        found = found._replace(performance=speed.of(found, engine, settings, deployment))
    if found.verdict in ("fits", "tight") or found.host_is_short or not elsewhere:
        return found
    from kvplan.hardware import catalog

    about = subject.Subject(engine, version, parsed, model, size, node)
    return found._replace(fits_on=nodes.fits_on(_stock(about, ANY if commanded else load), catalog.candidates(0), found))


_stocks: Remembered[nodes.Stock] = Remembered(64)


def _stock(about: subject.Subject, shape: Workload) -> nodes.Stock:
    """Other nodes with the same on them, for all workloads that make the same settings."""
    engine, version, parsed, model = about.engine, about.version, about.parsed, about.model

    def deploy(node: Node) -> Deployment | None:
        try:
            settings = engine.resolve(parsed, shape, model, node, version)
        except RequestError:  # flags that contradict such a node
            return None
        used = nodes.n_devices(engine.shown(settings))
        return subject.deployment(engine, model, settings, node) if used == max(1, len(node.gpus)) else None

    followed = tuple(getattr(shape, name) for name in engine.follows)
    return _stocks.get(model, (engine, version, parsed, followed), lambda: nodes.Stock(deploy))


def _place_total(place: Place, entries: tuple[Entry, ...], deployment: Deployment, load: Workload) -> PlaceTotal:
    needed = deployment.need_bytes(place.id, load)
    here = total(entry.size for entry in entries if entry.place == place.id)
    usable = inverse.usable_bytes(deployment, place)
    return PlaceTotal(place, usable, here, needed, inverse.verdict(usable, needed))
