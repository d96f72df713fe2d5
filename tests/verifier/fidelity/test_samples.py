"""What models are asked."""

import json
from pathlib import Path

import pytest

from kvplan.core.errors import RequestError
from kvplan.verifier.fidelity import phrases, samples
from kvplan.verifier.fidelity.samples import Sample, matches


def test_the_built_in_ones_are_what_they_say() -> None:
    found = samples.built_in()
    assert [one.kind for one in found] == sorted((one.kind for one in found), key=["arithmetic", "code", "copy", "recall", "text"].index)
    assert len({one.name for one in found}) == len(found)
    assert found == samples.built_in()
    for one in found:
        if one.kind == "recall":
            assert one.prompt.count(str(one.answer)) == 1
        if one.kind == "copy":
            assert f"{one.prompt.rpartition(': ')[2]} {one.answer}." in one.prompt
    assert len(set(phrases.WORDS)) == len(phrases.WORDS) == 47


@pytest.mark.parametrize(
    ("output", "answer", "right"),
    [
        (" 38\n14 + 2", "38", True),
        (" 380", "38", False),
        ("Marta. She", "Marta", True),
        ("Martas", "Marta", False),
        ("return  a *\n b", "return a * b", True),
        ("a * b)", "a * b", True),
        ("", "x", False),
        ("items[2]x", "items[2]", True),
    ],
)
def test_an_output_matches_when_it_begins_with_the_answer(output: str, answer: str, right: bool) -> None:  # noqa: FBT001 - a case
    assert matches(output, answer) is right


def test_a_file_of_samples(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"prompt": "2 + 2 =", "answer": "4"}\n\n{"id": "t", "text": "Once."}\n')
    assert samples.read(str(file)) == (Sample("line-1", "yours", "2 + 2 =", "4"), Sample("t", "text", "Once."))
    file.write_text('{"id": 7, "prompt": "2 + 2 =", "answer": "4"}\n')
    assert samples.read(str(file)) == (Sample("7", "yours", "2 + 2 =", "4"), *samples.texts())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "expected a JSON object, found something else"),
        ("[1]", r"expected a JSON object, found \[1\]"),
        ('{"prompt": "x"}', "expected the keys prompt and answer, or text, found prompt"),
        ("{}", "found none"),
        ('{"prompt": "x", "answer": 4}', "answer: expected text, found 4"),
        ('{"text": " "}', "text: expected text"),
        ('{"id": [], "text": "x"}', "id: expected text or a number"),
        ('{"prompt": "x", "answer": "y", "text": "z"}', "found answer, prompt, text"),
        ("\xff", "expected a JSON object"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, words: str) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_bytes(json.dumps({"text": "x"}).encode() + b"\n" + line.encode("latin-1") + b"\n")
    with pytest.raises(RequestError, match=rf"mine.jsonl:2: .*{words}") as caught:
        samples.read(str(file))
    assert caught.value.hint


def test_a_file_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="No such file"):
        samples.read(str(tmp_path / "none.jsonl"))
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(RequestError, match="no samples in it"):
        samples.read(str(tmp_path / "empty.jsonl"))
