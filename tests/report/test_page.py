"""The page: its numbers are those of the JSON, its words stay words, it needs nothing from elsewhere."""

import copy
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kvplan as library
from kvplan.cli import main
from kvplan.core.errors import RequestError
from kvplan.core.units import format_size
from kvplan.render import html, report_markdown
from tests.report.reading import Page, at
from tests.running import Run

DATA = Path(__file__).parent.parent / "data" / "report"
POOL = ("llama-3.1-8b", "--engine", "vllm", "--gpu", "l4", "--ctx", "8k", "--batch", "4")
REQUESTS = {
    "pool": POOL,
    "several": ("qwen3-8b", "--gpu", "l4,l40s", "--engine", "vllm", "--ctx", "32k"),
    "no device": ("llama-3.1-8b",),
    "host": ("llama-3.1-8b", "--engine", "llama.cpp", "--gpu", "rtx-4090", "--ram", "64GiB"),
    "budget": ("qwen3-8b", "--budget", "24GiB"),
    "command": ("--gpu", "l4", "--", "vllm", "serve", "qwen3-8b", "--max-model-len", "8192", "--max-num-seqs", "4"),
    "refused": ("qwen3-8b", "--gpu", "l4", "--engine", "vllm", "--ctx", "32k"),
    "results": tuple(str(path) for path in sorted(DATA.glob("*.json"))),
}


def document(kvplan: Run, *words: str) -> dict[str, Any]:
    split = words.index("--") if "--" in words else len(words)
    ran = kvplan("report", "--json", *words[:split], *words[split:])
    assert ran.code == 0, ran.err
    return dict(json.loads(ran.out))


MADE: dict[str, dict[str, Any]] = {}


@pytest.fixture(params=REQUESTS)
def made(request: pytest.FixtureRequest, kvplan: Run) -> dict[str, Any]:
    if request.param not in MADE:
        MADE[request.param] = document(kvplan, *REQUESTS[request.param])
    return MADE[request.param]


def test_every_number_is_that_of_the_json(made: dict[str, Any]) -> None:
    page = Page(html.page(made))
    assert len(page.numbers) > 10
    for one in page.numbers:
        found = at(made, one.attrs["data-path"])
        if one.tag == "code":
            assert one.words == found
        else:
            assert one.attrs["value"] == (repr(found) if isinstance(found, float) else str(found))
        if one.tag == "data" and one.attrs.get("title", "").endswith(" B"):
            assert isinstance(found, int)
            assert one.attrs["title"] == f"{found:,} B"
            assert one.words.removeprefix("−") in (format_size(abs(found)), f"{found:,} B")


def test_no_number_of_the_ledger_is_missing(made: dict[str, Any]) -> None:
    shown = {one.attrs["data-path"] for one in Page(html.page(made)).numbers}
    for i, subject in enumerate(made["subjects"]):
        for j, entry in enumerate(subject["estimate"]["entries"]):
            if entry["high_bytes"]:
                assert {f"subjects.{i}.estimate.entries.{j}.{key}" for key in ("bytes", "formula")} <= shown
        for j, point in enumerate((subject["grid"] or {"points": []})["points"]):
            assert point["needed_bytes"] is None or f"subjects.{i}.grid.points.{j}.needed_bytes" in shown


def test_it_needs_nothing_from_elsewhere(made: dict[str, Any]) -> None:
    text = html.page(made)
    page = Page(text)
    assert len(text.encode()) < 2**20
    assert not {"img", "iframe", "object", "form"} & {one.tag for one in page.elements}
    assert [one.attrs for one in page.all("link")] == [{"rel": "icon", "href": "data:,"}]
    assert all("src" not in one.attrs and not any(name.startswith("on") for name in one.attrs) for one in page.elements)
    assert all(one.attrs["href"].startswith(("#", "https://")) for one in page.all("a"))
    assert "url(http" not in text
    assert "@import" not in text


def test_it_is_the_same_each_time(made: dict[str, Any]) -> None:
    assert html.page(made) == html.page(copy.deepcopy(made))


def test_its_structure_can_be_read_aloud(made: dict[str, Any]) -> None:
    page = Page(html.page(made))
    levels = [int(one.tag[1]) for one in page.elements if re.fullmatch("h[1-6]", one.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert len(page.all("caption")) == len(page.all("table"))
    assert all("scope" in one.attrs for one in page.all("th"))
    assert all(
        "aria-label" in one.attrs or one.attrs.get("aria-hidden") or "over" in one.attrs.get("class", "") or "viewbox" in one.attrs
        for one in page.all("svg")
    )
    ids = [one.attrs["id"] for one in page.elements if "id" in one.attrs]
    assert len(ids) == len(set(ids))
    assert {name for one in page.elements for name in one.attrs.get("aria-labelledby", "").split()} <= set(ids)


def test_the_answer_comes_first(kvplan: Run) -> None:
    page = Page(html.page(document(kvplan, *POOL)))
    sentence = page.of("sentence")[0].words
    assert sentence.startswith("llama-3.1-8b does not fit on l4 with vllm 0.33.0 for 4 users of 8,192 tokens each: ")
    assert [one.words for one in page.of("big")] == ["No", "l4", "28,400 tokens", "1"]
    assert [one.attrs["data-path"].rpartition(".")[2] for one in page.all("data")[:3]] == ["batch", "ctx_tokens", "headroom_bytes"]


def test_the_verdict_is_the_estimates(kvplan: Run) -> None:
    for gpu, batch in (("l4", 4), ("l40s", 4), ("h100-sxm", 64)):
        found = library.estimate("llama-3.1-8b", engine="vllm", gpu=gpu, ctx=8192, batch=batch)
        page = Page(html.page(document(kvplan, "llama-3.1-8b", "--engine", "vllm", "--gpu", gpu, "--ctx", "8k", "--batch", str(batch))))
        assert found.verdict in page.of("tile")[0].attrs["class"].split()


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'{{ 7*7 }}"


def test_hostile_words_stay_words() -> None:
    made = json.loads((DATA / "estimate.json").read_text())
    made["model"]["id"] = made["entries"][0]["name"] = made["entries"][0]["formula"] = HOSTILE
    made["predicted_log"] = [HOSTILE]
    made["engine"]["settings"] = {HOSTILE: HOSTILE}
    made["entries"][0]["source"] = f"javascript:alert(1) {HOSTILE}"
    made["engine"]["command"] = [HOSTILE]
    made["findings"] = [{"rule": HOSTILE, "level": HOSTILE, "message": HOSTILE, "hint": HOSTILE, "fixes": []}]
    subject = {"label": HOSTILE, "estimate": made, "grid": None, "lines": [], "ladder": []}
    whole = {"kvplan": "0", "report": {"command": [HOSTILE], "inputs": []}, "subjects": [subject], "results": []}
    page = Page(html.page(whole))
    assert len(page.all("script")) == 1
    assert "alert" not in page.all("script")[0].words
    assert not page.all("img")
    assert any(HOSTILE in one.words for one in page.all("pre"))
    assert not any(one.attrs["href"].startswith("javascript") for one in page.all("a"))
    assert "<script" not in report_markdown.text(whole).replace("&lt;script", "").split("```")[0]


def _paths(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, one in inside for deeper in _paths(one, (*path, key)))]


WHOLE: dict[str, Any] = {}


@settings(max_examples=40)
@given(st.data())
def test_any_json_gives_a_page_or_a_complaint(data: st.DataObject) -> None:
    if not WHOLE:
        WHOLE.update(_made_once())
    broken = copy.deepcopy(WHOLE)
    path = data.draw(st.sampled_from(_paths(WHOLE)[1:]))
    inside: Any = broken
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = data.draw(st.sampled_from([None, "", "x", -1, 0, 2**80, 1.5, float("nan"), float("inf"), [], {}, [None], True]))
    try:
        Page(html.page(broken))
        report_markdown.text(broken)
    except RequestError as problem:
        complaint = problem.message
    else:
        return
    assert "expected" in complaint


def _made_once() -> dict[str, Any]:
    from kvplan.comparer import sides
    from kvplan.estimator import Options
    from kvplan.render.report_json import as_json
    from kvplan.reporter import report
    from kvplan.reporter.results import read

    asked = sides(Options(engine="vllm", gpu="l4", ctx="8k", batch="2"), ["llama-3.1-8b"], ())
    results = [read(str(path)) for path in sorted(DATA.glob("*.json"))]
    return dict(json.loads(json.dumps(as_json(report(asked, tuple(one for one in results if one is not None))))))


def test_a_page_without_a_script_is_whole(kvplan: Run) -> None:
    page = Page(html.page(document(kvplan, *POOL)))
    assert all("hidden" in one.attrs for one in page.all("button"))
    assert page.all("details")


@pytest.mark.parametrize("form", ["html", "md", "json"])
def test_the_file_says_its_form(kvplan: Run, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"report.{form}"
    assert main(["report", *POOL, "-o", str(path)]) == 0
    text = path.read_text()
    assert text.startswith({"html": "<!DOCTYPE html>", "md": "<!-- made by kvplan", "json": "{"}[form])
    assert main(["report", *POOL, "-o", str(path)]) == 0  # overwrites what kvplan made
    assert path.read_text() == text
    assert "made by kvplan" not in text[400:]


def test_the_command_names_the_version_of_the_engine(kvplan: Run) -> None:
    assert document(kvplan, *POOL)["report"]["command"][:3] == ["kvplan", "report", "llama-3.1-8b"]
    assert "vllm@0.33.0" in document(kvplan, *POOL)["report"]["command"]
    commanded = document(kvplan, *REQUESTS["command"])["report"]["command"]
    assert commanded[-6:] == ["--", *REQUESTS["command"][3:]][-6:]
    assert "vllm@0.33.0" in commanded


def test_the_command_makes_the_report_again(kvplan: Run) -> None:
    for words in (POOL, REQUESTS["several"], REQUESTS["command"]):
        made = document(kvplan, *words)
        again = kvplan(*made["report"]["command"][1:])
        assert json.loads(again.out)["subjects"] == made["subjects"]
        assert json.loads(again.out)["report"] == made["report"]
