"""Settings as commands and options make them."""

import shlex

import kvplan
from kvplan.core.device import Node
from kvplan.core.engine import Flag, Parsed
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.vllm.command import parse
from kvplan.engines.vllm.resolve import resolve
from kvplan.engines.vllm.settings import Settings
from kvplan.hardware import catalog

LLAMA = kvplan.load_model("llama-2-7b")
HYBRID = kvplan.load_model("granite-4.0-h-tiny")
LATENT = kvplan.load_model("deepseek-v2-lite")
WHISPER = kvplan.load_model("whisper-large-v3")
MIXTRAL = kvplan.load_model("mixtral-8x7b")
GEMMA = kvplan.load_model("gemma-3-1b")
NOWHERE = Node(None, None, ())
LOAD = Workload(4096, 2, 4095)


def card(name: str, n_gpus: int = 1) -> Node:
    return catalog.node(name, n_gpus=n_gpus)


def settled(flags: str = "", version: str = "0.33.0", model: ModelSpec = LLAMA, node: Node | None = None, front: str = "") -> Settings:
    parsed = parse(shlex.split(f"{front} vllm serve m {flags}"), {}, version)
    return resolve(parsed, LOAD, model, node or card("h100-sxm"), version)


def chosen(model: ModelSpec, node: Node, *flags: Flag, version: str = "0.33.0") -> Settings:
    return resolve(Parsed("vllm", version, None, flags), LOAD, model, node, version)
