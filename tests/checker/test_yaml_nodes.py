"""YAML as text with places."""

import pytest

from kvplan.checker.server import Text, Unreadable, Word
from kvplan.checker.yaml_nodes import MISSING, Node, documents, within


def _read(text: str) -> list[Node | Unreadable]:
    return list(documents(Text("a.yaml", text)))


def test_every_value_knows_where_it_stands() -> None:
    (node,) = _read("a:\n  b: [x, {c: 2}]\n  d: |\n    one\n    two\n  e: 'yes'\n  f:\n  g: true\n")
    assert isinstance(node, Node)
    assert node.get("a", "b").items[0].word == Word("x", 2, 7)
    assert node.get("a", "b").items[1].get("c").number == 2
    assert node.get("a", "d").word == Word("one\ntwo\n", 4, 5)
    assert (node.get("a", "e").truth, node.get("a", "g").truth, node.get("a", "f").truth) == (True, True, None)
    assert not node.get("a", "f")
    assert node.get("a", "nothing", "there") is MISSING
    assert [key.text for key, _ in node.get("a").named()] == ["b", "d", "e", "f", "g"]
    assert MISSING.word is None
    assert node.get("a", "b").words() == (Word("x", 2, 7),)


def test_a_broken_document_loses_only_itself() -> None:
    found = _read("a: 1\n---\n{{foo}}: [\n---\n# nothing\n---\n<<<<<<< HEAD\nx: 1\n=======\n---\n%YAML 1.2\n---\nb: 2\n...\n")
    assert [one.line if isinstance(one, Node) else (one.line, one.reason) for one in found] == [
        1,
        (4, "invalid YAML: did not find expected node content"),
        (7, "Git's conflict markers stand in it"),
        13,
    ]


def test_the_last_of_equal_keys_and_merged_maps() -> None:
    (node,) = _read("base: &b {x: 1, y: 2}\nmine:\n  <<: *b\n  y: 3\n  y: 4\nmany: {<<: [*b, {z: 5}]}\n")
    assert isinstance(node, Node)
    assert {key.text: value.text for key, value in node.get("mine").named()} == {"x": "1", "y": "4"}
    assert {key.text: value.text for key, value in node.get("many").named()} == {"x": "1", "y": "2", "z": "5"}


LAUGHS = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: &x [*x]", None),
        ("a: *nope", None),
        (LAUGHS, "aliases expanded"),
        ("[" * 200 + "]" * 200, "nested more than 100 deep"),
        ("[" * 5000, "nesting depth"),
        ("a: \x00", "unacceptable character"),
        ("a: b: c", "mapping values are not allowed"),
    ],
)
def test_what_is_too_much_or_wrong_is_said(text: str, reason: str | None) -> None:
    (found,) = _read(text)
    if reason is None:
        assert isinstance(found, Node)
    else:
        assert isinstance(found, Unreadable)
        assert reason in found.reason


def test_yaml_inside_a_file_counts_from_its_line() -> None:
    (node,) = within("a.yaml", "x: 1\ny: 2\n", 40)
    assert isinstance(node, Node)
    assert node.get("y").line == 41
