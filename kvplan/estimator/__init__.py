"""Joins a model, a workload, an engine and a node into one answer."""

from functools import lru_cache
from typing import TYPE_CHECKING

from kvplan.core.device import Node, Place
from kvplan.core.engine import Deployment, Engine, Parsed
from kvplan.core.errors import KvplanError, RequestError
from kvplan.core.ledger import Entry, total
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.estimator import engines, findings, inverse, machine, nodes, on_paper, precision
from kvplan.estimator.answer import Candidate, Estimate, PlaceTotal
from kvplan.estimator.demand import ANY, workload
from kvplan.estimator.loading import sized as _model
from kvplan.estimator.loading import stamp as _stamp
from kvplan.estimator.options import Options, in_words
from kvplan.estimator.registry import check_reads

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from kvplan.estimator.options import Keywords

__all__ = ["Estimate", "Options", "answer", "estimate"]


def estimate(model: str, **options: "Unpack[Keywords]") -> Estimate:
    """Where each byte goes for ``model``: ``estimate("llama-2-7b", ctx=4096, batch=8, gpu="h100-sxm")``.

    Options are those of the command line, as numbers or text: ctx, batch, prompt, engine, dtype, kv_dtype, attn, cache,
    forward, usage, tp, pp, dp, ep, gpu, gpus, budget, ram, host. The answer has ``verdict``, ``needed`` (bytes: low, best, high),
    ``entries``, ``kv``, ``phases``, ``capacity``, ``performance``, ``fits_on`` and ``findings``. No hardware is probed. Raises
    KvplanError for a wrong request.
    """
    return answer(in_words(model, options))


def answer(options: Options, *, probe: bool = False, elsewhere: bool = True) -> Estimate:
    """Where each byte goes for this request, and whether it fits.

    ``probe`` looks for an attached GPU when the request names no hardware, ``elsewhere`` for nodes that would do where this one
    does not. Raises RequestError for a wrong request.
    """
    engine, version, parsed, meant = engines.asked(options, default=_default_engine(options))
    ref, form = on_paper.parted(options.model or parsed.model or "")
    model, size = _model(ref, _stamp(ref))
    check_reads(engine, model)
    scheme = None if meant.is_plain and model.quantization is None else meant.checkpoint
    if form is not None:
        parsed, scheme = _as_formed(parsed, options, form, engine.name)
    if scheme:
        model = _on_paper(ref, _stamp(ref), scheme)
    if parsed.draft is not None:
        model = _drafted((ref, _stamp(ref)), scheme, (parsed.draft, _stamp(parsed.draft)))
    node = machine.node(options, probe=probe)
    commanded = len(options.command) > 1  # its flags are the limits, whatever the workload; a program's name alone says nothing
    if commanded:
        settings = engine.resolve(parsed, ANY, model, node, version)
        load, notes = workload(options, model, engine.limits(settings))
    else:
        load, notes = workload(options, model)
        settings = engine.resolve(parsed, load, model, node, version)
    deployment = _deployment(engine, model, settings, node)
    entries, kv = deployment.entries(load), deployment.kv(load)
    places = tuple(_place_total(place, entries, deployment, load) for place in _places(node, entries))
    capacity = inverse.capacity(deployment, node, load, model.max_ctx_tokens)
    found = Estimate(
        model=model,
        size=size,
        engine=engine.name,
        version=version,
        settings={**engine.shown(settings), **deployment.resolved()},
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
            *findings.of_split(options, node, engine.shown(settings)),
            *findings.of_model(model, kv.reserved_bytes),
            *deployment.findings,
            *findings.of_pool(engine.name, deployment, node, load, capacity),
        ),
    )
    if node.gpus:
        from kvplan.estimator import speed

        found = found._replace(performance=speed.of(found, engine, settings, deployment))
    if found.verdict in ("fits", "tight") or not elsewhere:
        return found
    shape = ANY if commanded else load
    return found._replace(fits_on=_fits_on(engine, lambda other: engine.resolve(parsed, shape, model, other, version), found))


def _as_formed(parsed: Parsed, options: Options, form: str, engine: str) -> tuple[Parsed, str | None]:
    """The checkpoint on paper that the model's name asks for, under that name."""
    if options.dtype is not None:
        raise RequestError("contradiction", f"--dtype {options.dtype}: the model's name says '{form}' already", hint="give one of them")
    return parsed._replace(model=options.model or parsed.model), precision.read(form, engine).checkpoint


def _default_engine(options: Options) -> str:
    """The engine where nobody named one: the one that runs the model's file as it lies."""
    if options.engine is not None or options.command or options.model is None:
        return engines.DEFAULT_ENGINE
    ref, form = on_paper.parted(options.model)
    if form is not None:
        return precision.runs(form, engines.DEFAULT_ENGINE, engines.GGUF_ENGINE)
    model, _ = _model(ref, _stamp(ref))
    return engines.GGUF_ENGINE if model.checkpoint is not None and model.checkpoint.format == "gguf" else engines.DEFAULT_ENGINE


def _places(node: Node, entries: tuple[Entry, ...]) -> tuple[Place, ...]:
    """The node's places, and the host where something lies there; without a known GPU and anything on one, the host alone."""
    found, used = node.places(), {entry.place for entry in entries}
    if "host" in used and all(place.id != "host" for place in found):
        found = (*found, Place("host", None))
    return found if node.gpus or "host" not in used else tuple(place for place in found if place.id in used)


@lru_cache(maxsize=256)
def _on_paper(ref: str, stamp: tuple[int, int] | None, name: str) -> ModelSpec:
    from kvplan.specs.paper import requantized

    return requantized(_model(ref, stamp)[0], name)


@lru_cache(maxsize=64)
def _drafted(key: tuple[str, tuple[int, int] | None], scheme: str | None, draft: tuple[str, tuple[int, int] | None]) -> ModelSpec:
    """The model with the one that drafts for it; without, where that can't be loaded, which the engine then says."""
    model = _on_paper(*key, scheme) if scheme else _model(*key)[0]
    try:
        return model._replace(draft=_model(*draft)[0])
    except KvplanError:
        return model._replace()


def _fits_on(engine: Engine[object], settle: "Callable[[Node], object]", found: Estimate) -> tuple[Candidate, ...]:
    from kvplan.hardware import catalog

    def deploy(node: Node) -> Deployment | None:
        try:
            settings = settle(node)
        except RequestError:  # flags that contradict such a node
            return None
        used = nodes.n_devices(engine.shown(settings))
        return _deployment(engine, found.model, settings, node) if used == max(1, len(node.gpus)) else None

    return nodes.fits_on(deploy, catalog.candidates(0), found)


_deployments: dict[tuple[int, object, Node], tuple[ModelSpec, Deployment]] = {}


def _deployment(engine: Engine[object], model: ModelSpec, settings: object, node: Node) -> Deployment:
    """The deployment; equal settings of one model object on an equal node share it (which keeps the object's id taken)."""
    key = (id(model), settings, node)
    if key not in _deployments:
        if len(_deployments) >= 512:
            _deployments.clear()
        _deployments[key] = model, engine.deploy(model, settings, node)
    return _deployments[key][1]


def _place_total(place: Place, entries: tuple[Entry, ...], deployment: Deployment, load: Workload) -> PlaceTotal:
    needed = deployment.need_bytes(place.id, load)
    here = total(entry.size for entry in entries if entry.place == place.id)
    usable = inverse.usable_bytes(deployment, place)
    return PlaceTotal(place, usable, here, needed, inverse.verdict(usable, needed))
