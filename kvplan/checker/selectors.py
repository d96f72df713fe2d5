"""Which accelerators a pod asks for: its resources, and the labels of the nodes that it may land on.

Source: NVIDIA gpu-feature-discovery README (nvidia.com/gpu.product, .memory), GKE "GPUs in Standard node pools"
(cloud.google.com/gke-accelerator, gke-gpu-partition-size), Karpenter's well-known labels, CoreWeave's node labels (gpu.nvidia.com/model),
AMD's k8s-device-plugin labeller.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from kvplan.checker.server import Gpus, Word
from kvplan.checker.yaml_nodes import Node

PRODUCTS = (
    *("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "gpu.nvidia.com/model", "gpu.nvidia.com/class"),
    *("karpenter.k8s.aws/instance-gpu-name", "eks.amazonaws.com/instance-gpu-name", "karpenter.azure.com/sku-gpu-name"),
    *("k8s.amazonaws.com/accelerator", "amd.com/gpu.product-name", "beta.amd.com/gpu.product-name", "skypilot.co/accelerator"),
)
"""Labels whose values name a card."""

INSTANCES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
"""Labels whose values name a machine; a card named beside it says more."""

_MEMORY = "nvidia.com/gpu.memory"
_PARTITION = "cloud.google.com/gke-gpu-partition-size"
_HINTS = re.compile(r"gpu|accelerator|instance", re.IGNORECASE)
_COUNTED = re.compile(
    r"(?:nvidia|amd)\.com/gpu(?:\.shared)?|gpu\.intel\.com/(?:xe|i915)|habana\.ai/gaudi|google\.com/tpu|aws\.amazon\.com/neuron\w*"
)
_MIG = re.compile(r"nvidia\.com/mig-(\d+(?:c\.\d+)?g\.\d+gb(?:\.\w+)?)")

Labels = Mapping[str, tuple[Word, ...]]


def gpus(spec: Node, container: Node) -> Gpus:
    """What ``container`` of the pod ``spec`` gets."""
    n_gpus, resource = _counted(container.get("resources"))
    return chosen(n_gpus, resource, _terms(spec))


def chosen(n_gpus: int | None, resource: Word | None, terms: Iterable[Labels]) -> Gpus:
    """``n_gpus`` of a resource (``nvidia.com/mig-1g.5gb`` are slices) on nodes with the labels of one of the ``terms``."""
    sliced = _MIG.fullmatch(resource.text) if resource else None
    cut = sliced[1] if sliced else ""
    terms = [labels for labels in terms if labels]
    names = [word for labels in terms for word in _named(labels, cut)]
    if resource and cut and all("=" in word.text for word in names):
        names = [resource._replace(text=f"MIG-{cut}")]
    memory = next((words[0].text for labels in terms for key, words in labels.items() if key == _MEMORY and len(words) == 1), "")
    return Gpus(n_gpus, tuple(dict.fromkeys(names)), int(memory) if memory.isdecimal() else None)


def _counted(resources: Node) -> tuple[int | None, Word | None]:
    """How many of what is a card or a slice of one."""
    for where in (resources.get("limits"), resources.get("requests")):
        for key, value in where.named():
            if _MIG.fullmatch(key.text) or _COUNTED.fullmatch(key.text):
                return value.number, key
    return None, None


def _terms(spec: Node) -> Iterator[Labels]:
    """What each alternative demands of a node: the selector and one term of the affinity, which are alternatives to each other."""
    selected = {key.text: (value.word,) for key, value in spec.get("nodeSelector").named() if value.word}
    required = spec.get("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = required.get("nodeSelectorTerms").items
    for term in terms:
        yield {**expressions(term), **selected}
    if not terms:
        yield selected


def expressions(term: Node) -> dict[str, tuple[Word, ...]]:
    """The labels that ``matchExpressions`` demands: those with ``operator: In``."""
    return {
        expression.get("key").text or "": expression.get("values").words()
        for expression in term.get("matchExpressions").items
        if expression.get("operator").text == "In"
    }


def _named(labels: Labels, cut: str) -> tuple[Word, ...]:
    """The cards that labels name: by product, else by machine, else by what looks like it; a slice of one is called so.

    Labels whose keys say nothing are left as KEY=VALUE, which only the project's own map of labels can know.
    """
    key = next((key for key in (*PRODUCTS, *INSTANCES) if key in labels), None)
    key = key or next((key for key in labels if _HINTS.search(key) and key not in (_MEMORY, _PARTITION)), None)
    if key is None:
        said = ((key, word) for key, words in labels.items() if key not in (_MEMORY, _PARTITION) for word in words)
        return tuple(word._replace(text=f"{key}={word.text}") for key, word in said)
    words = labels[key]
    cut = cut or next((word.text for word in labels.get(_PARTITION, ())), "")
    if not cut or key in INSTANCES:
        return words
    return tuple(word if "MIG-" in word.text.upper() else word._replace(text=f"{word.text}-MIG-{cut}") for word in words)
