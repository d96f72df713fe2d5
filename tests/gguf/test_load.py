"""From files to models: one file, parts, folders, and what is no model."""

from pathlib import Path

import pytest

from kvplan.core.errors import RequestError
from kvplan.specs import load_model
from tests.gguf.writing import Entry, Typed, header, llama, llama_tensors
from tests.running import Run

N_PARAMS = sum(tensor.shape[0] * (tensor.shape[1] if len(tensor.shape) > 1 else 1) for tensor in llama_tensors())
N_BYTES = sum(tensor.n_bytes for tensor in llama_tensors())
PARTS = ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf")


def write(path: Path, values: dict[str, object], tensors: list[Entry]) -> Path:
    head, n_data = header(values, tensors)
    path.write_bytes(head + bytes(n_data))
    return path


def write_parts(folder: Path) -> None:
    tensors = llama_tensors()
    splits = (tensors[:5], tensors[5:])
    for i, (name, held) in enumerate(zip(PARTS, splits, strict=True)):
        split = {"split.no": Typed("uint16", i), "split.count": Typed("uint16", 2), "split.tensors.count": Typed("int32", len(tensors))}
        write(folder / name, (llama() if i == 0 else {}) | split, held)


def refusal(ref: Path | str) -> RequestError:
    with pytest.raises(RequestError) as caught:
        load_model(str(ref))
    return caught.value


def test_one_file(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", llama(), llama_tensors())
    spec = load_model(str(path))
    assert (spec.id, spec.source, spec.n_params, spec.weight_bytes) == (str(path), "gguf", N_PARAMS, N_BYTES)
    checkpoint = spec.checkpoint
    assert checkpoint is not None
    assert (checkpoint.format, checkpoint.basis, checkpoint.n_files, checkpoint.n_bytes) == ("gguf", "headers", 1, N_BYTES)
    assert checkpoint.file_bytes == path.stat().st_size
    assert len(checkpoint.tensors) == len(llama_tensors())
    assert sum(held.n_bytes for held in checkpoint.holdings) == checkpoint.bytes_in("model") == N_BYTES
    assert {held.role for held in checkpoint.holdings} == {"embedding", "norm", "attention", "mlp"}


@pytest.mark.parametrize("named", [*PARTS, ""])
def test_all_parts(tmp_path: Path, named: str) -> None:
    write_parts(tmp_path)
    spec = load_model(str(tmp_path / named))
    assert (spec.n_params, spec.id) == (N_PARAMS, str(tmp_path / named))
    assert spec.checkpoint is not None
    assert spec.checkpoint.n_files == 2
    assert spec.checkpoint.file_bytes == sum((tmp_path / name).stat().st_size for name in PARTS)


def test_a_part_that_is_missing(tmp_path: Path) -> None:
    write_parts(tmp_path)
    (tmp_path / PARTS[1]).unlink()
    problem = refusal(tmp_path / PARTS[0])
    assert "part 2 of 2 is needed: " in problem.message
    assert PARTS[1] in problem.message


def test_a_file_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert refusal("models/m.gguf").message == "models/m.gguf: No such file or directory"


def test_a_file_without_its_name(tmp_path: Path) -> None:
    path = write(tmp_path / "sha256-0123abcd", llama(), llama_tensors())
    assert load_model(str(path)).n_params == N_PARAMS


def test_the_one_model_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "m.gguf", llama(), llama_tensors())
    write(tmp_path / "mmproj-m.gguf", llama(general__architecture="clip"), [])
    spec = load_model(f"{tmp_path}/")
    assert (spec.n_params, spec.id, spec.source) == (N_PARAMS, str(tmp_path), "gguf")


def test_several_models_in_a_folder(tmp_path: Path, kvplan: Run) -> None:
    for name in ("m-Q4_K_M.gguf", "m-Q8_0.gguf"):
        write(tmp_path / name, llama(), llama_tensors())
    ran = kvplan("estimate", str(tmp_path))
    assert ran.code == 2
    assert "2 GGUF models; expected the name of one" in ran.err
    assert "KiB  m-Q8_0.gguf" in ran.err
    assert f"as in {tmp_path}/m-Q4_K_M.gguf" in ran.err


def test_a_config_beside_it_is_the_model(tmp_path: Path) -> None:
    write(tmp_path / "m.gguf", llama(), llama_tensors())
    (tmp_path / "config.json").write_text("{}")
    assert "config.json" in refusal(tmp_path).message


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (llama(general__architecture="clip"), "a projector (mmproj)"),
        (llama(general__type="mmproj"), "a projector (mmproj)"),
        (llama(general__type="adapter"), "an adapter (LoRA)"),
        (llama(general__type="imatrix"), "an importance matrix"),
    ],
)
def test_what_is_no_model(tmp_path: Path, values: dict[str, object], said: str) -> None:
    problem = refusal(write(tmp_path / "other.gguf", values, llama_tensors()))
    assert (problem.kind, said in problem.message) == ("no_model", True)


def test_a_vocabulary_alone(tmp_path: Path) -> None:
    assert "no tensors" in refusal(write(tmp_path / "vocab.gguf", llama(), [])).message


def test_a_damaged_file_is_named(tmp_path: Path, kvplan: Run) -> None:
    path = write(tmp_path / "m.gguf", llama(), llama_tensors())
    path.write_bytes(path.read_bytes()[:-100])
    ran = kvplan("estimate", str(path))
    assert ran.code == 2
    assert "100 are missing" in ran.err.replace("\n", " ")
