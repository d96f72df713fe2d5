"""Settings as commands and options make them."""

import shlex

import kvplan
from kvplan.core.device import Node
from kvplan.core.engine import Parsed
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp.command import parse
from kvplan.engines.llamacpp.resolve import resolve
from kvplan.engines.llamacpp.settings import Settings
from kvplan.hardware import catalog

LLAMA = kvplan.load_model("llama-3.1-8b")
LATENT = kvplan.load_model("deepseek-v2-lite")
NOWHERE = Node(None, None, ())
LOAD = Workload(4096, 2, 4095)
NEWEST = "b11434"


def parsed(line: str, version: str = "") -> Parsed:
    return parse(shlex.split(line), {}, version)


def settled(line: str, version: str = NEWEST, model: ModelSpec = LLAMA, node: Node = NOWHERE) -> Settings:
    return resolve(parsed(line, version), LOAD, model, node, version)


def cards(name: str, n_gpus: int) -> Node:
    return catalog.node(name, n_gpus=n_gpus)
