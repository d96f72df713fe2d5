"""What people write for a model of the Hub."""

import pytest
from huggingface_hub import constants

from kvplan import KvplanError
from kvplan.specs.hub.address import Address, parse

HOME = constants.HUGGINGFACE_CO_URL_HOME


@pytest.mark.parametrize(
    ("ref", "address"),
    [
        ("Qwen/Qwen3-8B", Address("Qwen/Qwen3-8B")),
        ("Qwen/Qwen3-8B@v1.0", Address("Qwen/Qwen3-8B", "v1.0")),
        ("Qwen/Qwen3-8B@refs/pr/3", Address("Qwen/Qwen3-8B", "refs/pr/3")),
        ("a/b:c-Q4_K_M.gguf", Address("a/b", None, "c-Q4_K_M.gguf")),
        ("a/b:UD-Q4_K_XL", Address("a/b", None, "UD-Q4_K_XL")),
        ("a/b@main:UD-Q4/c.gguf", Address("a/b", "main", "UD-Q4/c.gguf")),
        ("a/b:config.json", Address("a/b")),
        (f"{HOME}a/b", Address("a/b")),
        (f"{HOME}a/b/", Address("a/b")),
        (f"{HOME}gpt2", Address("gpt2")),
        (f"{HOME}gpt2/tree/main", Address("gpt2", "main")),
        (f"{HOME}a/b/tree/main?show_file_info=c", Address("a/b", "main")),
        (f"{HOME}a/b/tree/refs%2Fpr%2F3", Address("a/b", "refs/pr/3")),
        (f"{HOME}a/b/tree/refs/pr/3", Address("a/b", "refs/pr/3")),
        (f"{HOME}a/b/blob/main/config.json", Address("a/b", "main")),
        (f"{HOME}a/b/blob/main/x/c.gguf", Address("a/b", "main", "x/c.gguf")),
        (f"{HOME}a/b/resolve/main/c%20d.gguf?download=true", Address("a/b", "main", "c d.gguf")),
        ("http://mirror:8080/hub/a/b", Address("a/b")),
    ],
)
def test_addresses(ref: str, address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    if "mirror" in ref:
        monkeypatch.setattr(constants, "ENDPOINT", "http://mirror:8080/hub")
    found = parse(ref)
    assert found == address
    if "://" not in ref and not ref.endswith(".json"):
        assert str(found) == ref


def test_addresses_as_browsers_show_them() -> None:
    assert parse("huggingface.co/a/b/tree/main") == Address("a/b", "main")
    assert parse("hf.co/a/b") == Address("a/b")


@pytest.mark.parametrize("name", ["a", "a/b/c", "/a/b", "a/b@", "a/b:", "a//b", "a/b--c", "a/b..c", "a/b.git", "a/" + "b" * 100, "a b/c"])
def test_what_is_no_address(name: str) -> None:
    assert parse(name) is None


@pytest.mark.parametrize(
    ("ref", "says"),
    [
        ("https://example.com/a/b", "expected an address at "),
        ("https://[::1/a/b", "not a web address"),
        (f"{HOME}datasets/a/b", "expected a model, found datasets"),
        (HOME, "no address of a model"),
        (f"{HOME}a/b/discussions", "no address of a model"),
        (f"{HOME}a/b/tree/main/folder", "no address of a model"),
        (f"{HOME}a/b/blob/main/README.md", "expected a .gguf file"),
        ("a/b:model.safetensors", "expected a .gguf file"),
        ("a/b:../c.gguf", "expected a .gguf file"),
        ("a/b@..", "expected a branch, tag or commit, found '..'"),
        ("a/b@.", "expected a branch, tag or commit"),
        ("a/b@../../x", "expected a branch, tag or commit"),
        ("a/b@/etc/x", "expected a branch, tag or commit"),
        ("a/b@main/", "expected a branch, tag or commit"),
        (f"{HOME}a/b/tree/%2e%2e", "expected a branch, tag or commit"),
    ],
)
def test_addresses_of_something_else(ref: str, says: str) -> None:
    with pytest.raises(KvplanError, match=says) as caught:
        parse(ref)
    assert (caught.value.kind, caught.value.exit_code) == ("bad_address", 2)
