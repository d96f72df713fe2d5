"""What a request is about, whatever its workload: engine, model and hardware; each model and deployment is made once."""

import os
from functools import lru_cache
from typing import NamedTuple

from kvplan.core.device import Node
from kvplan.core.engine import Deployment, Engine, Parsed
from kvplan.core.errors import KvplanError
from kvplan.core.model import ModelSpec
from kvplan.estimator import engines, machine
from kvplan.estimator.answer import Size
from kvplan.estimator.options import Options
from kvplan.estimator.registry import check_reads
from kvplan.specs import load_model
from kvplan.specs.config import UnknownArchitectureError


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
    ref = options.model or parsed.model or ""
    model, size = _model(ref, _stamp(ref))
    check_reads(engine, model)
    scheme = None if meant.is_plain and model.quantization is None else meant.checkpoint
    if scheme:
        model = _on_paper(ref, _stamp(ref), scheme)
    if parsed.draft is not None:
        model = _drafted((ref, _stamp(ref)), scheme, (parsed.draft, _stamp(parsed.draft)))
    node = machine.node(options, probe=probe)
    if options.calibration is not None:
        from kvplan.estimator.calibration import calibrated

        engine = calibrated(engine, node, options.calibration, _stamp(options.calibration))
    return Subject(engine, version, parsed, model, size, node)


def _default_engine(options: Options) -> str:
    """The engine where nobody named one: the one that runs the model's file as it lies."""
    if options.engine is not None or options.command or options.model is None:
        return engines.DEFAULT_ENGINE
    model, _ = _model(options.model, _stamp(options.model))
    return engines.GGUF_ENGINE if model.checkpoint is not None and model.checkpoint.format == "gguf" else engines.DEFAULT_ENGINE


def _stamp(ref: str) -> tuple[int, int] | None:
    """What changes when the file behind ``ref`` does."""
    try:
        found = os.stat(ref)
    except (OSError, ValueError):  # ValueError: a name with a NUL or half a character
        return None
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=256)
def _model(ref: str, stamp: tuple[int, int] | None) -> tuple[ModelSpec, Size]:
    """The model and its size; many requests for one model read and count it once, as long as its file stays as it is."""
    try:
        model = load_model(ref)
    except UnknownArchitectureError as problem:
        problem.offering(ref)
        raise
    return model, Size(model.n_params, model.n_active_params)


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


_deployments: dict[tuple[Engine[object], int, object, Node], tuple[ModelSpec, Deployment]] = {}


def deployment(engine: Engine[object], model: ModelSpec, settings: object, node: Node) -> Deployment:
    """The deployment; equal settings of one model object on an equal node share it (which keeps the object's id taken)."""
    key = (engine, id(model), settings, node)
    if key not in _deployments:
        if len(_deployments) >= 512:
            _deployments.clear()
        _deployments[key] = model, engine.deploy(model, settings, node)
    return _deployments[key][1]
