"""``-o``: into files that are ours to write, whole or not at all."""

import json
import os
from pathlib import Path

import pytest

from tests.running import Run, refused


@pytest.mark.parametrize("name", ["", ".", "..", "folder", "file/x", "nosuch/x", "x" * 300, "a\0b", "loop", "pipe"])
def test_o_where_no_file_can_be(kvplan: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").touch()
    Path("loop").symlink_to("loop")
    os.mkfifo("pipe")
    before = sorted(Path().iterdir())
    refused(kvplan, "estimate", "llama-2-7b", "--json", "-o", name)
    assert sorted(Path().iterdir()) == before


def test_o_through_links_and_into_devices(kvplan: Run, tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    for _ in range(2):
        assert kvplan("estimate", "llama-2-7b", "-q", "-o", str(link)) == (0, "", "")
    assert link.is_symlink()
    assert target.read_text().splitlines()[-1].startswith("# made by kvplan")
    assert kvplan("estimate", "llama-2-7b", "-q", "-o", os.devnull) == (0, "", "")
    assert "6,738,415,616" in kvplan("estimate", "llama-2-7b", "-q", "-o", "-").out
    (tmp_path / "empty").touch()
    assert kvplan("estimate", "llama-2-7b", "-q", "-o", str(tmp_path / "empty")) == (0, "", "")


def test_o_overwrites_only_what_kvplan_made(kvplan: Run, tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine.json", tmp_path / "theirs.json"
    theirs.write_text("{}")
    for _ in range(2):
        assert kvplan("estimate", "llama-2-7b", "--json", "-o", str(mine)).code == 0
    assert json.loads(mine.read_text())["model"]["id"] == "llama-2-7b"
    assert "was not made by kvplan" in refused(kvplan, "estimate", "llama-2-7b", "--json", "-o", str(theirs))
    assert theirs.read_text() == "{}"
    assert kvplan("estimate", "llama-2-7b", "--json", "-o", str(theirs), "--force").code == 0
