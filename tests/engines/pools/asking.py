"""Commands of servers with pools of tokens, as the estimator answers them."""

import shlex

import kvplan
from kvplan.core.device import Gpu, Node
from kvplan.core.units import GIB, MIB
from kvplan.estimator import Estimate, Options, answer
from kvplan.hardware import catalog

LLAMA, GEMMA, LATENT = (kvplan.load_model(name) for name in ("llama-3.1-8b", "gemma-3-1b", "deepseek-v2-lite"))
SPARSE, HYBRID, WINDOWED = (kvplan.load_model(name) for name in ("deepseek-v3.2", "nemotron-3-nano-30b-a3b", "gpt-oss-20b"))
NOWHERE = Node(None, None, ())


def card(name: str, n_gpus: int = 1) -> Node:
    return catalog.node(name, n_gpus=n_gpus)


def large(n_gpus: int = 1, capability: tuple[int, int] | None = None) -> Node:
    """Cards that hold anything."""
    gpu = Gpu("large", "large", "", 10**15 // MIB * MIB, 10**15, compute_capability=capability)
    return Node("large", "flag", (gpu,) * n_gpus)


def asked(command: str, gpu: str | None = "h100-sxm", **options: str) -> Estimate:
    return answer(Options(command=tuple(shlex.split(command)), gpu=gpu or "none", **options))


def rules(found: Estimate) -> set[str]:
    """Ids of what it refuses and finds."""
    return {refusal.rule for refusal in found.refusals} | {finding.rule for finding in found.findings}


__all__ = ["GEMMA", "GIB", "HYBRID", "LATENT", "LLAMA", "NOWHERE", "SPARSE", "WINDOWED", "asked", "card", "large", "rules"]
