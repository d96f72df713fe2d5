"""What the class in ``architectures`` puts on a decoder: an output projection, a classifier, or nothing.

Source: transformers 5.24 modeling_layers.py (GenericForSequenceClassification and its siblings).
"""

from collections.abc import Callable

from kvplan.core.model import Caveat, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear

_OWN_BASES = ("LMHeadModel", "DoubleHeadsModel", "EncoderDecoderModel", "ChatModel", "MTModel", "OmniModel", "AquilaModel")
"""Ends of class names that are no bare decoder although they end in ``Model``."""


def headed(spec: ModelSpec, cfg: Config) -> ModelSpec:
    """``spec``, built as its family's causal language model, with the head that its own class has instead.

    A model without an output projection is left as it is. A head that only the repository's code defines is counted
    as published there, with a warning; what an unknown class has is not known, and the warning says so.
    """
    if "For" in spec.architecture and not spec.architecture.endswith(_KNOWN_ENDS) and spec.architecture not in _FOREIGN:
        return spec._replace(exact=False, caveats=(*spec.caveats, _unknown(spec)))
    made = _maker(spec.architecture)
    if made is None or not any(group.role == "lm_head" for group in spec.weights):
        return spec
    rest = tuple(group for group in spec.weights if group.role != "lm_head")
    spec = spec._replace(weights=(*rest, *made(spec.hidden_size, cfg)))
    return spec._replace(caveats=(*spec.caveats, _foreign(spec.architecture))) if spec.architecture in _FOREIGN else spec


def _maker(architecture: str) -> Callable[[int, Config], Groups] | None:
    """What makes the head of a class, or None where the family's own head is right."""
    if architecture in _FOREIGN:
        return _FOREIGN[architecture]
    if architecture.endswith("Model") and not architecture.endswith(_OWN_BASES):
        return lambda hidden, cfg: ()
    return next((made for end, made in _GENERIC.items() if architecture.endswith(end)), None)


def _n_labels(cfg: Config) -> int:
    """Outputs of a classifier: the labels that the config names, else ``num_labels``, else 2."""
    return len(cfg.sub("id2label").data) or cfg.integer("num_labels", default=2)


def _sequence(hidden: int, cfg: Config) -> Groups:
    return linear("score", _n_labels(cfg), hidden, role="other")


def _token(hidden: int, cfg: Config) -> Groups:
    return linear("score", _n_labels(cfg), hidden, role="other", bias=cfg.flag("token_classification_bias", default=True))


def _answering(hidden: int, cfg: Config) -> Groups:
    return linear("qa_outputs", 2, hidden, role="other", bias=True)


def _value(hidden: int, cfg: Config) -> Groups:
    return linear("v_head", 1, hidden, role="other")


def _scored(n_outputs: int) -> Callable[[int, Config], Groups]:
    """Two layers with a ReLU between them."""
    return lambda hidden, cfg: (
        *linear("score.0", hidden, hidden, role="other", bias=True),
        *linear("score.2", n_outputs, hidden, role="other", bias=True),
    )


_GENERIC: dict[str, Callable[[int, Config], Groups]] = {
    "ForSequenceClassification": _sequence,
    "ForTokenClassification": _token,
    "ForQuestionAnswering": _answering,
}
_FOREIGN: dict[str, Callable[[int, Config], Groups]] = {
    "InternLM2ForRewardModel": _value,
    "Qwen2ForRewardModel": _scored(1),
    "Qwen2ForProcessRewardModel": _scored(2),
}
_KNOWN_ENDS = (*_GENERIC, "ToText", "Text2Text")
"""Ends of names that hold ``For``, of the classes that Transformers has beside the causal and the conditional ones."""


def _unknown(spec: ModelSpec) -> Caveat:
    return Caveat(
        "KV005",
        "warning",
        f"{spec.architecture} is no class of Transformers: counted as the causal language model of '{spec.model_type}'",
        "a head of its own, a missing output projection or other layers would change the numbers",
    )


def _foreign(architecture: str) -> Caveat:
    return Caveat(
        "KV005",
        "warning",
        f"{architecture} is its repository's own class: counted with the reward head that is published there, without an output projection",
        "an engine that loads it as a causal language model also holds the output projection",
    )
