"""What people should know of their settings."""

import pytest

from kvplan.core.device import Node
from kvplan.core.ledger import Finding
from kvplan.engines.llamacpp.advice import advice
from kvplan.engines.llamacpp.context import resolved
from kvplan.engines.llamacpp.settings import Settings
from tests.engines.llamacpp.resolving import LLAMA, NOWHERE, cards, settled

CARD = cards("rtx-3090", 1)


def advised(settings: Settings, node: Node) -> tuple[Finding, ...]:
    return advice(LLAMA, settings, node, resolved(LLAMA, settings))


@pytest.mark.parametrize(
    ("line", "node", "rules"),
    [
        ("llama-server -m x -np 1", NOWHERE, []),
        ("llama-server -m x", NOWHERE, ["KV331"]),
        ("llama-server -m x -c 8192 -np 4", NOWHERE, ["KV331"]),
        ("llama-bench -m x -n 0", CARD, []),
        ("llama-cli -m x -ngl 9", CARD, ["KV332"]),
        ("llama-cli -m x -ngl 9", NOWHERE, []),
        ("llama-cli -m x -ngl 9 --fit off", CARD, []),
        ("llama-cli -m x -ot exps=CPU", CARD, ["KV332"]),
        ("llama-cli -m x --n-cpu-moe 3", CARD, ["KV332"]),
        ("llama-cli -m x", CARD, []),
        ("llama-cli -m x -md d.gguf", NOWHERE, ["KV333"]),
        ("llama-cli -m x --spec-type draft-mtp", NOWHERE, []),
    ],
)
def test_rules(line: str, node: Node, rules: list[str]) -> None:
    assert [finding.rule for finding in advised(settled(line, node=node), node)] == rules


def test_slots_round_up() -> None:
    """Source: measured on b11434: -c 4096 -np 3 is 1536 x 3 = 4608."""
    message = advised(settled("llama-server -m x -c 4096 -np 3"), NOWHERE)[0].message
    assert message == "each of 3 slots holds 1,536 tokens: 4,608 in all, 512 more than asked for"
    message = advised(settled("llama-server -m x -c 8192 -np 4"), NOWHERE)[0].message
    assert message == "each of 4 slots holds 2,048 tokens: 8,192 in all"


def test_a_newer_build() -> None:
    assert advised(settled("llama-cli -m x", "b20000"), NOWHERE)[0].rule == "KV330"


def test_ollama_has_words_of_its_own_for_layers() -> None:
    settings = settled("llama-cli -m x -ngl 9", node=CARD)._replace(app="ollama")
    assert ["num_gpu" in finding.message for finding in advised(settings, CARD) if finding.rule == "KV332"] == [True]


def test_a_name_without_a_type_is_mostly_four_bits_to_ollama() -> None:
    settings = settled("llama-cli -m x", node=CARD)
    assert [finding.rule for finding in advised(settings._replace(app="ollama"), CARD)] == ["KV335"]
    assert advised(settings, CARD) == ()
