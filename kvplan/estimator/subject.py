"""What a request is about, whatever its workload: engine, model and hardware; each model and deployment is made once."""

from functools import lru_cache
from typing import NamedTuple

from kvplan.core.device import Node
from kvplan.core.engine import Deployment, Engine, Parsed
from kvplan.core.errors import KvplanError, RequestError
from kvplan.core.ledger import Finding
from kvplan.core.model import ModelSpec
from kvplan.estimator import engines, machine, on_paper, precision
from kvplan.estimator.answer import Size
from kvplan.estimator.loading import sized, stamp
from kvplan.estimator.options import Options
from kvplan.estimator.registry import check_reads


class Subject(NamedTuple):
    """An engine with its version and what is said to it, a model as it will be loaded with its size as published, a node."""

    engine: Engine[object]
    version: str
    parsed: Parsed
    model: ModelSpec
    size: Size
    node: Node


def subject(options: Options, *, probe: bool) -> Subject:
    """What these options are about; ``probe`` looks for an attached GPU where they name no hardware.

    Raises RequestError for a wrong request, a calibration of something else among them, UnavailableError for a model that can't be
    had.
    """
    engine, version, parsed, meant = engines.asked(options, default=_default_engine(options))
    ref, form = on_paper.parted(options.model or parsed.model or "")
    model, size = sized(ref, stamp(ref))
    check_reads(engine, model)
    scheme = None if meant.is_plain and model.quantization is None else meant.checkpoint
    if form is not None:
        parsed, scheme = _as_formed(parsed, options, form, engine.name)
    if scheme:
        model = _on_paper(ref, stamp(ref), scheme)
    if parsed.overrides is not None:
        model, parsed = _overridden(model, parsed, parsed.overrides)
    if parsed.draft is not None:
        model = _drafted((ref, stamp(ref)), scheme, (parsed.draft, stamp(parsed.draft)))
    node = machine.node(options, probe=probe)
    if options.calibration is not None:
        from kvplan.estimator.calibration import calibrated

        engine = calibrated(engine, node, options.calibration, stamp(options.calibration))
    return Subject(engine, version, parsed, model, size, node)


def _as_formed(parsed: Parsed, options: Options, form: str, engine: str) -> tuple[Parsed, str | None]:
    """The checkpoint on paper that the model's name asks for, under that name."""
    if options.dtype is not None:
        raise RequestError("contradiction", f"--dtype {options.dtype}: the model's name says '{form}' already", hint="give one of them")
    return parsed._replace(model=options.model or parsed.model), precision.read(form, engine).checkpoint


def _overridden(model: ModelSpec, parsed: Parsed, said: str) -> tuple[ModelSpec, Parsed]:
    """The model with the positions that the command gives it, and a warning of other keys, which are not followed."""
    from kvplan.specs import overrides

    left = overrides.unfollowed(said)
    kept = "bears on memory and is not followed: the model is estimated as its own config describes it"
    findings = tuple(Finding("KV211", "warning", f"{key} in the command {kept}") for key in left)
    return overrides.overridden(model, said), parsed._replace(findings=(*parsed.findings, *findings))


def _default_engine(options: Options) -> str:
    """The engine where nobody named one: the one that runs the model's file as it lies."""
    if options.engine is not None or options.command or options.model is None:
        return engines.DEFAULT_ENGINE
    ref, form = on_paper.parted(options.model)
    if form is not None:
        return precision.runs(form, engines.DEFAULT_ENGINE, engines.GGUF_ENGINE)
    model, _ = sized(ref, stamp(ref))
    return engines.GGUF_ENGINE if model.checkpoint is not None and model.checkpoint.format == "gguf" else engines.DEFAULT_ENGINE


@lru_cache(maxsize=256)
def _on_paper(ref: str, stamp: tuple[int, int] | None, name: str) -> ModelSpec:
    from kvplan.specs.paper import requantized

    return requantized(sized(ref, stamp)[0], name)


@lru_cache(maxsize=64)
def _drafted(key: tuple[str, tuple[int, int] | None], scheme: str | None, draft: tuple[str, tuple[int, int] | None]) -> ModelSpec:
    """The model with the one that drafts for it; without, where that can't be loaded, which the engine then says."""
    model = _on_paper(*key, scheme) if scheme else sized(*key)[0]
    try:
        return model._replace(draft=sized(*draft)[0])
    except KvplanError:
        return model._replace()


_deployments: dict[tuple[Engine[object], int, object, Node], tuple[ModelSpec, Deployment]] = {}


def deployment(engine: Engine[object], model: ModelSpec, settings: object, node: Node) -> Deployment:
    """The deployment; equal settings of one model object on an equal node share it (which keeps the object's id taken)."""
    key = (engine, id(model), settings, node)
    if key not in _deployments:
        if len(_deployments) >= 512:
            _deployments.clear()
        _deployments[key] = model, engine.deploy(model, settings, node)
    return _deployments[key][1]
