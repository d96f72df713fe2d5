"""Whatever goes wrong on the way to the Hub is said, each in words of its own, with the exit code that fits."""

import json
from email.utils import formatdate
from pathlib import Path
from time import time

import pytest
from huggingface_hub import constants

from kvplan import KvplanError, load_model
from kvplan.specs.hub import transport
from tests.hub.conftest import wait_at_most
from tests.hub.loopback import Loopback, Reply, refusal

CONFIG = json.dumps(
    {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 256,
        "intermediate_size": 512,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 1000,
        "torch_dtype": "bfloat16",
    }
).encode()
API, FILE = "/api/models/org/model", f"/org/model/resolve/{'c0ffee' + '0' * 34}/config.json"
PAGE = b"<!DOCTYPE html><html><body>Log in</body></html>"
REQUEST, UNAVAILABLE = 2, 3


@pytest.fixture
def model(hub: Loopback) -> Loopback:
    hub.repos["org/model"] = {"README.md": b"#", "config.json": CONFIG}
    return hub


def failure(ref: str = "org/model") -> KvplanError:
    with pytest.raises(KvplanError) as caught:
        load_model(ref)
    return caught.value


REFUSALS = [
    pytest.param(API, refusal(401, "", "Invalid username or password."), "repo_not_found", REQUEST, "or a private one", id="no code"),
    pytest.param(API, refusal(401, "RepoNotFound", "x"), "repo_not_found", REQUEST, "or a private one", id="missing"),
    pytest.param(API, refusal(404, "RepoNotFound", "x"), "repo_not_found", REQUEST, "or a private one", id="missing, logged in"),
    pytest.param(API, refusal(403, "", "Access to this resource is disabled."), "repo_disabled", UNAVAILABLE, "disabled", id="disabled"),
    pytest.param(API, refusal(403, "", "Not from here."), "hub_refused", UNAVAILABLE, "answered 403 (Not from here.)", id="forbidden"),
    pytest.param(API, refusal(404, "", "Sorry"), "hub_refused", UNAVAILABLE, "answered 404 (Sorry)", id="no Hub there"),
    pytest.param(API, refusal(503, "", "Down"), "hub_error", UNAVAILABLE, "answered 503 (Down)", id="down"),
    pytest.param(API, Reply(502, PAGE), "hub_error", UNAVAILABLE, "answered 502,", id="down, in HTML"),
    pytest.param(API, refusal(429, RateLimit='"api";r=0;t=9'), "rate_limited", UNAVAILABLE, "too many requests,", id="rate"),
    pytest.param(API, refusal(429, RateLimit='"api";r=0;t=290'), "rate_limited", UNAVAILABLE, "asks to wait 291 s", id="rate, long"),
    pytest.param(API, Reply(200, PAGE), "bad_answer", UNAVAILABLE, "a web page", id="a page"),
    pytest.param(API, Reply(200, PAGE, {"Content-Type": "text/html"}), "bad_answer", UNAVAILABLE, "a web page", id="a page that says so"),
    pytest.param(API, Reply(200, b"ok"), "bad_answer", UNAVAILABLE, "something else than JSON", id="no JSON"),
    pytest.param(API, Reply(200, b"\xff\xfe"), "bad_answer", UNAVAILABLE, "something else than JSON", id="no text"),
    pytest.param(API, Reply(200, b"{}"), "bad_answer", UNAVAILABLE, "without id or files", id="another API"),
    pytest.param(API, Reply(302, headers={"Location": API}), "bad_answer", UNAVAILABLE, "something unreadable", id="a circle"),
    pytest.param(API, Reply(hang_up=True), "cut_off", UNAVAILABLE, "broke", id="hung up"),
    pytest.param(API, Reply(200, b"{}" * 99, cut=10), "cut_off", UNAVAILABLE, "broke", id="cut"),
    pytest.param(FILE, refusal(401, "GatedRepo", "x"), "gated_no_token", UNAVAILABLE, "no token was sent", id="gated"),
    pytest.param(FILE, refusal(404, "EntryNotFound", "x"), "file_not_found", REQUEST, "no such file", id="listed, not there"),
    pytest.param(FILE, Reply(200, PAGE), "bad_answer", UNAVAILABLE, "a web page", id="a page for a config"),
    pytest.param(FILE, Reply(200, b'{"model_type": '), "bad_json", REQUEST, "invalid JSON", id="broken config"),
    pytest.param(FILE, Reply(200, b"[1]"), "bad_config", REQUEST, "found a list", id="a list for a config"),
    pytest.param(FILE, Reply(200, b"\xff\xfe{}"), "bad_file", REQUEST, "UTF-8", id="no text for a config"),
    pytest.param(FILE, Reply(200, b""), "bad_file", REQUEST, "empty", id="empty config"),
    pytest.param(FILE, Reply(200, b" " * (2**24 + 1)), "bad_answer", UNAVAILABLE, "more than 16 MiB", id="endless config"),
    pytest.param(FILE, Reply(200, CONFIG, cut=20), "cut_off", UNAVAILABLE, "broke", id="config cut"),
]


@pytest.mark.parametrize(("path", "reply", "kind", "exit_code", "says"), REFUSALS)
def test_refusals(model: Loopback, path: str, reply: Reply, kind: str, exit_code: int, says: str) -> None:
    model.refusals[path] = reply
    error = failure()
    assert (error.kind, error.exit_code) == (kind, exit_code)
    assert says in error.message
    assert error.hint


@pytest.mark.parametrize("path", [API, FILE])
def test_stalls_end(model: Loopback, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    wait_at_most(monkeypatch, 0.2)
    model.refusals[path] = Reply(200, CONFIG, pause_s=3)
    error = failure()
    assert (error.kind, error.exit_code) == ("stalled", UNAVAILABLE)
    assert "stopped answering" in error.message


def test_trickles_end(model: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_at_most(monkeypatch, 0.2)
    monkeypatch.setattr(transport, "SLOWEST_BYTES_PER_S", 2**20)
    model.refusals[FILE] = Reply(200, CONFIG * 10, slow_bytes_s=500)
    assert failure().kind == "stalled"


def test_nobody_there(model: Loopback, monkeypatch: pytest.MonkeyPatch, sleeps: list[float]) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    error = failure()
    assert (error.kind, error.exit_code) == ("no_connection", 3)
    assert "the cache does not hold config.json" in error.message
    assert not sleeps


@pytest.mark.parametrize("endpoint", ["ftp://127.0.0.1", "127.0.0.1:80", "http://[::1"])
def test_an_endpoint_that_is_none(model: Loopback, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    assert failure().exit_code == 3


def test_no_such_revision(model: Loopback) -> None:
    error = failure("org/model@v9")
    assert (error.kind, error.exit_code, error.message) == ("revision_not_found", 2, "org/model: no branch, tag or commit 'v9'")


@pytest.mark.parametrize(("variable", "shown"), [("HF_TOKEN", "in HF_TOKEN"), ("", "token")])
def test_a_wrong_token(model: Loopback, monkeypatch: pytest.MonkeyPatch, variable: str, shown: str) -> None:
    _log_in(monkeypatch, variable)
    model.refusals[API] = refusal(401, "", "Invalid credentials in Authorization header")
    error = failure()
    assert (error.kind, error.exit_code) == ("bad_token", 3)
    assert shown in error.message
    assert "hf_secret" not in f"{error.message}{error.hint}{error.details}"
    assert model.asked[0].headers["authorization"] == "Bearer hf_secret"


def test_a_token_that_no_header_can_hold(model: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_\N{SNOWMAN}")
    assert failure().exit_code == 3


def test_gated_for_this_account(model: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    _log_in(monkeypatch, "HF_TOKEN")
    model.refusals[FILE] = refusal(403, "GatedRepo", "not in the authorized list")
    error = failure()
    assert (error.kind, error.exit_code) == ("gated_no_access", 3)
    assert error.hint == f"ask for access at {model.url}/org/model"


def test_sizes_are_told_where_a_config_is_kept_back(model: Loopback) -> None:
    model.repos["org/model"] |= {f"model-{i}.safetensors": bytes(2**20) for i in range(2)}
    model.refusals[FILE] = refusal(401, "GatedRepo", "x")
    assert failure().details == ("known without access: 2 .safetensors files of 2.00 MiB in all",)


def test_the_built_in_model_of_that_name_is_the_way_out(hub: Loopback) -> None:
    error = failure("Qwen/Qwen3-8B")
    assert error.hint.startswith("the built-in 'qwen3-8b' has the same facts and needs no access; or ")
    assert failure("Qwen/Qwen3-8C").hint.startswith("built in: qwen3-8b")


@pytest.mark.parametrize(
    ("repo", "way"),
    [
        ("Qwen/Qwen3-8B-AWQ", "qwen3-8b:awq"),
        ("somebody/Llama-3.1-8B-Instruct-GPTQ-Int4", "llama-3.1-8b:gptq"),
        ("unsloth/Qwen3-8B-bnb-4bit", "qwen3-8b:nf4"),
    ],
)
def test_a_quantized_checkpoint_on_paper_is_the_way_out(hub: Loopback, repo: str, way: str) -> None:
    assert failure(repo).hint.startswith(f"the built-in '{way}' is such a checkpoint on paper and needs no access; or ")


@pytest.mark.parametrize(
    ("reply", "waits"),
    [
        (refusal(429, RateLimit='"api";r=0;t=4', RateLimit_Policy='"fixed window";"api";q=500;w=300'), [5.0]),
        (refusal(429, Retry_After="3"), [3.0]),
        (refusal(503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), [0.0]),
        (refusal(500), [1.0]),
        (Reply(hang_up=True), [1.0]),
        (Reply(200, b"{}" * 99, cut=10), [1.0]),
    ],
)
@pytest.mark.parametrize("path", [API, FILE])
def test_once_is_forgiven(model: Loopback, sleeps: list[float], notices: list[str], path: str, reply: Reply, waits: list[float]) -> None:
    model.trap(path, lambda _: reply)
    assert load_model("org/model").n_layers == 2
    assert sleeps == waits
    assert len(notices) == 1
    assert notices[0].endswith(f": trying again in {waits[0]:.0f} s")


@pytest.mark.parametrize("path", [API, FILE])
def test_a_stall_is_forgiven(model: Loopback, monkeypatch: pytest.MonkeyPatch, sleeps: list[float], path: str) -> None:
    wait_at_most(monkeypatch, 0.5)
    model.trap(path, lambda _: Reply(200, b"{}", pause_s=3))
    assert load_model("org/model").n_layers == 2
    assert sleeps == [1.0]


def test_waits_are_few_and_bounded(model: Loopback, sleeps: list[float]) -> None:
    model.refusals[API] = refusal(503)
    failure()
    assert sleeps == [1, 2, 4]
    model.refusals[API] = refusal(503, Retry_After=formatdate(time() + 3600, usegmt=True))
    sleeps.clear()
    failure()
    assert sleeps == []


def _log_in(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    if variable:
        monkeypatch.setenv(variable, "hf_secret")
    else:
        Path(constants.HF_TOKEN_PATH).write_text("hf_secret\n", encoding="ascii")
