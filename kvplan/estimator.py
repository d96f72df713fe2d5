"""Joins a model, a workload, an engine and a node into one answer."""

from collections.abc import Mapping
from typing import NamedTuple

from kvplan import _discover
from kvplan.core.device import UNKNOWN_NODE, Node, Place, budget_node
from kvplan.core.engine import Capacity, Deployment, Engine, Flag, Parsed
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.ledger import Entry, Finding, Interval, KvPlan, NotModeled, Phases, Refusal, Verdict, total
from kvplan.core.model import ModelSpec
from kvplan.core.units import parse_count, parse_size
from kvplan.core.workload import Workload
from kvplan.specs import load_model

DEFAULT_CTX_TOKENS = 4096


class Options(NamedTuple):
    """A request as people type it; None where they said nothing."""

    model: str
    ctx: str | None = None
    batch: str | None = None
    prompt: str | None = None
    engine: str | None = None
    dtype: str | None = None
    kv_dtype: str | None = None
    attn: str | None = None
    cache: str | None = None
    forward: str | None = None
    gpu: str | None = None
    gpus: str | None = None
    budget: str | None = None


class PlaceTotal(NamedTuple):
    """What one place holds and what this workload needs of it."""

    place: Place
    total: Interval
    needed: Interval
    verdict: Verdict


class Estimate(NamedTuple):
    """The whole answer; ``render`` turns it into text or JSON."""

    model: ModelSpec
    engine: str
    version: str
    settings: Mapping[str, int | float | str | bool | None]
    ignored: tuple[Flag, ...]
    command: tuple[str, ...]
    workload: Workload
    node: Node
    entries: tuple[Entry, ...]
    places: tuple[PlaceTotal, ...]
    phases: Phases
    kv: KvPlan
    capacity: Capacity | None
    refusals: tuple[Refusal, ...]
    predicted_log: tuple[str, ...]
    not_modeled: tuple[NotModeled, ...]
    findings: tuple[Finding, ...]

    @property
    def fullest(self) -> PlaceTotal:
        """The GPU that holds the most, or the host when there is none."""
        gpus = [total for total in self.places if total.place.id != "host"]
        return max(gpus or self.places, key=lambda total: total.needed.best)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the fullest place."""
        return self.fullest.verdict


def estimate(options: Options) -> Estimate:
    """Where each byte goes for this request, and whether it fits. Raises RequestError for a wrong request."""
    model = load_model(options.model)
    load = workload(options, model)
    node = find_node(options)
    engine, version = find_engine(options.engine)
    parsed = Parsed(engine.name, version, None, tuple(_flags(options)))
    settings = engine.resolve(parsed, load, model, node, version)
    deployment: Deployment = engine.deploy(model, settings, node)
    entries = deployment.entries(load)
    return Estimate(
        model=model,
        engine=engine.name,
        version=version,
        settings=engine.shown(settings),
        ignored=(),
        command=engine.command(settings),
        workload=load,
        node=node,
        entries=entries,
        places=tuple(_place_total(place, entries, deployment, load) for place in node.places()),
        phases=deployment.phases(load),
        kv=deployment.kv(load),
        capacity=deployment.capacity(load),
        refusals=deployment.refusals,
        predicted_log=deployment.log_lines(),
        not_modeled=deployment.not_modeled,
        findings=deployment.findings,
    )


def workload(options: Options, model: ModelSpec) -> Workload:
    """The demand; without ``--ctx`` the smaller of 4096 and the model's limit."""
    limit = model.max_ctx_tokens or DEFAULT_CTX_TOKENS
    ctx = parse_count(options.ctx, option="--ctx") if options.ctx else min(DEFAULT_CTX_TOKENS, limit)
    batch = parse_count(options.batch, option="--batch") if options.batch else 1
    prompt = parse_count(options.prompt, option="--prompt") if options.prompt else max(1, ctx - 1)
    if prompt > ctx:
        raise RequestError(
            "bad_number", f"--prompt: {prompt} tokens do not fit in --ctx {ctx}", hint="ctx holds prompt and output together"
        )
    return Workload(ctx, batch, prompt)


def find_node(options: Options) -> Node:
    """The hardware of the request."""
    if options.budget:
        return budget_node(parse_size(options.budget, option="--budget"))
    if options.gpu in (None, "none"):
        return UNKNOWN_NODE
    from kvplan.hardware import catalog

    assert options.gpu
    return Node(id=options.gpu, source="flag", gpus=(catalog.find(options.gpu),))


def find_engine(text: str | None) -> tuple[Engine[object], str]:
    """The engine and version of ``name[@version]``; the newest modelled version by default."""
    name, _, version = (text or "transformers").partition("@")
    module = _discover.claimant("kvplan.engines", "NAMES", name)
    if module is None:
        known = _discover.claimants("kvplan.engines", "NAMES")
        raise RequestError("unknown_engine", f"unknown engine '{name}'", hint=did_you_mean(name, known) or f"known: {', '.join(known)}")
    import importlib

    engine: Engine[object] = importlib.import_module(f"{module.__name__}.engine").ENGINE
    return engine, version or engine.versions[-1]


def _flags(options: Options) -> list[Flag]:
    names = {"dtype": "dtype", "kv_dtype": "kv_dtype", "attn": "attn_implementation", "cache": "cache_implementation", "forward": "forward"}
    said = options._asdict()
    return [Flag(flag, said[name]) for name, flag in names.items() if said[name]]


def _place_total(place: Place, entries: tuple[Entry, ...], deployment: Deployment, load: Workload) -> PlaceTotal:
    needed = deployment.need_bytes(place.id, load)
    return PlaceTotal(place, total(e.size for e in entries if e.place == place.id), needed, _verdict(place.usable_bytes, needed))


def _verdict(usable: int | None, needed: Interval) -> Verdict:
    if usable is None:
        return "unknown"
    if needed.best > usable:
        return "does_not_fit"
    return "fits" if needed.high <= usable else "tight"
