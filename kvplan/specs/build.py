"""From a config to a ModelSpec: find the family, fill in what the config omits, check that the parts sum."""

from collections.abc import Mapping
from types import ModuleType

from kvplan import _discover
from kvplan.core.model import Caveat, ModelSpec
from kvplan.core.roles import TOWERS
from kvplan.specs.config import Config, ConfigError
from kvplan.specs.orders import ordered
from kvplan.specs.serving import served
from kvplan.specs.storage import stored

ARCHS = "kvplan.specs.archs"
_ENCODERS = ("vision_config", "audio_config", "visual")
_CAUSAL = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")


def build(data: Mapping[str, object], *, where: str) -> ModelSpec:
    """The ModelSpec of a config.json.

    ``where`` names the file in errors. Raises ConfigError for missing or contradictory keys and for an architecture
    that no adapter knows and that is not plainly LLaMA-like. The repository's own code is never run.
    """
    cfg = Config(data, where=where)
    if "model_type" not in data and "architectures" not in data:
        raise cfg.error("model_type", "missing: expected the architecture's name", hint="is this the config.json of a language model?")
    model_type = cfg.text("model_type", default="")
    module = _family(cfg, model_type)
    if module is None:
        from kvplan.specs.likeness import build_llama_like

        spec = build_llama_like(cfg, known=_known_types)
    else:
        spec = module.build(cfg)
    architecture = cfg.class_name() or model_type
    spec = spec._replace(architecture=architecture, model_type=model_type, form=ordered(spec.form, model_type))
    if not architecture.endswith(_CAUSAL) and not getattr(module, "HEAD_IN_BASE", False):
        from kvplan.specs.heads import headed

        spec = headed(spec, cfg)
    spec = spec._replace(caveats=(*spec.caveats, *_foreign_class(cfg, model_type, module)))
    return served(checked(stored(_whole(spec, cfg), cfg), where=where), cfg)


def _family(cfg: Config, model_type: str) -> ModuleType | None:
    """The adapter that claims ``model_type``, or the model class where the two contradict each other.

    Some configs carry another model's type (Grok-2 calls itself ``git``); then the class, which engines go by, decides.
    """
    named = cfg.class_name()
    if named and not (model_type and _plain(named).startswith(_plain(model_type))):
        by_class: ModuleType | None = _discover.claimant(ARCHS, "ARCHITECTURES", named)
        if by_class is not None:
            return by_class
    found: ModuleType | None = _discover.claimant(ARCHS, "MODEL_TYPES", model_type) if model_type else None
    return found


def _foreign_class(cfg: Config, model_type: str, module: ModuleType | None) -> tuple[Caveat, ...]:
    """A class of one family under the type of another: engines that go by the class will build something else."""
    named = cfg.class_name()
    family = named.removesuffix("ForCausalLM").lower()
    if not named.endswith("ForCausalLM") or _plain(model_type).startswith(_plain(family)) or _plain(family).startswith(_plain(model_type)):
        return ()
    other = _discover.claimant(ARCHS, "MODEL_TYPES", family)
    if other is None or other is module:
        return ()
    message = f"{cfg.where}: architectures says {named}, model_type says {model_type}: counted as {model_type}, which Transformers goes by"
    return (Caveat("KV015", "warning", message, "vLLM goes by architectures: make the two agree"),)


def _whole(spec: ModelSpec, cfg: Config) -> ModelSpec:
    """``spec``, with a warning where the config describes an encoder and no weight group stands for one."""
    described = next((key for key in _ENCODERS if isinstance(cfg.data.get(key), Mapping)), None)
    counted = any(group.role in TOWERS for group in spec.weights)
    if described is None or counted or any(caveat.rule == "KV009" for caveat in spec.caveats):
        return spec
    caveat = Caveat(
        "KV009",
        "warning",
        f"{cfg.where}: {described}: '{spec.model_type}' is counted as the language model that it is without this encoder",
        "add the encoder's bytes from the checkpoint's index",
    )
    return spec._replace(exact=False, caveats=(*spec.caveats, caveat))


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def _known_types() -> list[str]:
    return list(_discover.claimants(ARCHS, "MODEL_TYPES"))


def checked(spec: ModelSpec, *, where: str) -> ModelSpec:
    """``spec`` itself, if it can be a model.

    Raises ConfigError when a size that keys make together is negative, when a tied group names nothing, or when a KV-sharing
    layer reads from a layer without a cache.
    """
    small = next((group for group in spec.groups() if min(group.rows, group.cols, group.n_copies) < 0), None)
    if small is not None:
        size = f"{small.n_copies} times {small.rows} × {small.cols}"
        raise ConfigError(where, f"weight group '{small.name}' would be {size}", hint="a size that it is made of is too small for another")
    names = {group.name for group in spec.groups()}
    dangling = [group for group in spec.groups() if group.tied_to and group.tied_to not in names]
    if dangling:
        raise ConfigError(where, f"weight group '{dangling[0].name}' is tied to '{dangling[0].tied_to}', which is not there")
    layers = list(spec.layers())
    for i, layer in enumerate(layers):
        source = layer.kv_source
        if source is not None and not (0 <= source < i and layers[source].kv_source is None):
            raise ConfigError(where, f"layer {i} shares the keys and values of layer {source}, which keeps none of its own")
    return spec
