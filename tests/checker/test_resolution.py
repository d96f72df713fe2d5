"""Files of a tree, cards by what labels call them, models by what files call them."""

import json
import os
from pathlib import Path

import pytest

from kvplan.checker import cards, instances, models, walk
from kvplan.checker.models import Sources
from kvplan.checker.server import Gpus, Unreadable, Word
from kvplan.core.errors import RequestError
from tests.checker.found import cases, row


def _paths(tree: walk.Tree, skipped: list[Unreadable]) -> list[str]:
    reader = walk.Reader(tree, {})
    return [text.path for place in walk.places(tree) if (text := reader.text(place, skipped))]


def _files(folder: Path, exclude: tuple[str, ...] = ()) -> tuple[list[str], list[Unreadable]]:
    skipped: list[Unreadable] = []
    found = _paths(walk.tree([str(folder)], exclude), skipped)
    return found, skipped


def test_files_in_order_without_what_is_not_ours(tmp_path: Path) -> None:
    for name in ("b/a.sh", "a.yaml", "Dockerfile.x", "node_modules/x.yaml", ".git/x.yaml", "b/readme.md", "gen/z.yaml", "run"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a: 1\n")
    (tmp_path / "binary.yaml").write_bytes(b"a\0b")
    (tmp_path / "huge.yaml").write_bytes(b"#" * (walk.MAX_BYTES + 1))
    outside = tmp_path.parent / f"{tmp_path.name}-outside.yaml"
    outside.write_text("a: 1\n")
    (tmp_path / "link.yaml").symlink_to(outside)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "within.yaml").symlink_to(tmp_path / "a.yaml")
    found, skipped = _files(tmp_path, ("gen",))
    assert found == ["Dockerfile.x", "a.yaml", "run", "within.yaml", "b/a.sh"]
    assert [(one.file, one.reason) for one in skipped] == [("link.yaml", "it links out of the tree")]


def test_named_files_are_read_whatever_they_are_called(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a")
    (tmp_path / "y.txt").write_bytes(b"\0")
    skipped: list[Unreadable] = []
    tree = walk.tree([str(tmp_path / "x.txt"), str(tmp_path / "y.txt"), str(tmp_path)])
    assert _paths(tree, skipped) == ["x.txt"]
    assert skipped == [Unreadable("y.txt", 1, "it is binary")]


def test_paths_are_relative_to_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "a.sh").write_text("x")
    assert _files(tmp_path / "deploy")[0] == ["deploy/a.sh"]


def test_a_path_that_is_not_there() -> None:
    with pytest.raises(RequestError, match="no such file"):
        walk.tree(["/nowhere/at/all"])


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("x")
    (tmp_path / "a.sh").chmod(0)
    assert _files(tmp_path)[1] == [Unreadable("a.sh", 1, "Permission denied")]


def _cards(*names: str, memory: int | None = None, default: str | None = None) -> list[str | None]:
    said = Gpus(1, tuple(Word(name, 1) for name in names), memory)
    return [card.matched.gpu if card.matched else card.problem for card in cards.find(said, {"pool-a": "l40s"}, default)]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("NVIDIA-H100-80GB-HBM3",), ["h100-sxm"]),
        (("nvidia-tesla-t4", "NVIDIA-L4"), ["t4", "l4"]),
        (("NVIDIA-L4-SHARED",), ["l4"]),
        (("A10G:4",), ["a10g"]),
        (("pool-a",), ["l40s"]),
        (("g5.12xlarge",), ["a10g"]),
        (("Standard_NC24ads_A100_v4",), ["a100-80-pcie"]),
        (("Standard_NC16_A2",), ["a2"]),
        (("Standard_NV6ads_A10_v5",), ["Standard_NV6ads_A10_v5 has a slice of a a10"]),
        (("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb",), ["'NVIDIA-A100-SXM4-80GB-MIG-1g.10gb' is a MIG slice, not a whole GPU"]),
        (("nothing-known",), ["unknown GPU 'nothing-known'"]),
        ((), [None]),
    ],
)
def test_cards(names: tuple[str, ...], expected: list[str | None]) -> None:
    assert _cards(*names) == expected


def test_a_default_serves_only_where_nothing_is_said() -> None:
    assert _cards(default="l40s") == ["l40s"]
    assert _cards("NVIDIA-L4", default="l40s") == ["l4"]
    assert _cards("workload-pool", default="l40s") == ["l40s"]
    assert _cards("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", default="l40s") != ["l40s"]
    assert _cards(default="none") == [None]
    (card,) = cards.find(Gpus(0), {}, "l40s")
    assert card.matched is None


def test_memory_beats_the_name() -> None:
    assert _cards("A100", memory=81920) == ["a100-80"]
    assert _cards("A100", memory=40960) == ["a100-40"]
    assert _cards("A100", memory=9728) == ["a100-80 with 9728 MiB is a slice, or not in the catalogue"]


@pytest.mark.parametrize(
    ("name", "n_gpus"),
    [
        ("p4d.24xlarge", 8),
        ("a2-highgpu-4g", 4),
        ("g2-standard-24", 2),
        ("Standard_NC64as_T4_v3", 4),
        ("p3.9xlarge", None),
        ("m5.large", None),
    ],
)
def test_machines(name: str, n_gpus: int | None) -> None:
    found = instances.find(name)
    assert (found.n_gpus if found else None) == n_gpus


def test_machines_have_cards_of_the_catalogue() -> None:
    from kvplan.hardware import table

    assert {gpu for _, gpu, _ in instances._rows()} <= set(table.ids())


def test_models_by_what_files_call_them(tmp_path: Path) -> None:
    folder = tmp_path / "vendored"
    for name in ("org/one/config.json", "two.json", "three.yaml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps({}))
    sources = Sources({"prod": "x/y"}, folder, tmp_path)
    assert models.find("prod", sources) == "x/y"
    assert models.find("hf://org/one", sources) == str(folder / "org/one")
    assert models.find("/mnt/cache/org/one/", sources) == str(folder / "org/one")
    assert models.find("any/two", sources) == str(folder / "two.json")
    assert models.find("three", sources) == str(folder / "three.yaml")
    assert models.find("meta-llama/Llama-2-7b-hf", sources) == "llama-2-7b"
    assert models.find("no/such", sources) == "no/such"
    assert models.find("./vendored/org/one", Sources(root=tmp_path)) == str(folder / "org/one")
    for name in ("/mnt/models", "s3://bucket/x", "../../etc/passwd", "name\0"):
        with pytest.raises(RequestError):
            models.find(name, Sources(root=tmp_path))


def test_a_server_has_the_flags_of_its_file_of_settings(tmp_path: Path) -> None:
    files = {
        "run.sh": "vllm serve --gpu-memory-utilization 0.8 --config conf/a.yaml\nvllm serve x/y --config=/etc/b.yaml --max-num-seqs 9\n",
        "conf/a.yaml": "model: o/m\nport: 8000\nmax_model_len: 4096\ngpu-memory-utilization: 0.9\n",
        "b.yaml": "max-model-len: 2048\nmax-num-seqs: 3\n",
        "other/c.yaml": "model: o/n\nmax-model-len: 1024\n",
    }
    found = cases(tmp_path, files)
    assert [row(one) for one in found] == [
        "1 - vllm o/m 4096 - 1/1/1 -",
        "2 - vllm x/y 2048 9 1/1/1 -",
        "1 - vllm o/n 1024 - 1/1/1 -",
    ]
    assert [one.reading.utilization for one in found] == [0.8, None, None]


def test_no_file_of_settings_is_read_out_of_the_tree(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("max-model-len: 4096\n")
    named = ("../a.yaml", str(tmp_path / "a.yaml"), "", "no/such.yaml", "~/a.yaml", "/dev/zero", ".")
    files = {"run.sh": "".join(f"vllm serve o/m --config '{name}'\n" for name in named)}
    assert {one.reading.ctx_tokens for one in cases(tmp_path / "tree", files)} == {None}
