"""The command line in a process of its own: the client reads its environment when it is imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hub.loopback import Loopback
from tests.hub.models import CONFIG, text

LOADED = "import sys; from kvplan import load_model; load_model(sys.argv[1]); print(*sys.modules)"


@pytest.fixture
def env(hub: Loopback, tmp_path: Path) -> dict[str, str]:
    hub.repos["org/model"] = {"config.json": text(CONFIG)}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    return {**kept, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "CODEX_SANDBOX": "1", "AI_AGENT": "x"}


def run(env: dict[str, str], *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "kvplan", *argv], env=env, capture_output=True, text=True, check=False, timeout=60)


def test_estimate_online_then_offline(hub: Loopback, env: dict[str, str]) -> None:
    online = run(env, "estimate", "org/model", "--ctx", "512", "--json")
    assert (online.returncode, online.stderr) == (0, "")
    assert json.loads(online.stdout)["model"]["source"] == "hub"
    n_asked = len(hub.asked)
    offline = run({**env, "HF_HUB_OFFLINE": "1"}, "estimate", "org/model", "--ctx", "512", "--json")
    assert offline.returncode == 0
    assert "HF_HUB_OFFLINE is set: read from the cache" in offline.stdout
    assert len(hub.asked) == n_asked


def test_a_failure(env: dict[str, str]) -> None:
    ran = run(env, "estimate", "org/none")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("error: org/none: no such model at 127.0.0.1:")
    assert run({**env, "HF_ENDPOINT": "http://127.0.0.1:9"}, "estimate", "org/none").returncode == 3


def test_only_what_is_needed_is_asked_and_imported(hub: Loopback, env: dict[str, str]) -> None:
    ran = subprocess.run([sys.executable, "-c", LOADED, "org/model"], env=env, capture_output=True, text=True, check=True, timeout=60)
    assert not {"hf_xet", "torch", "transformers", "huggingface_hub.hf_api", "tqdm"} & set(ran.stdout.split())
    assert [asked.path.partition("?")[0].rpartition("/")[2] for asked in hub.asked] == ["model", "config.json"]
    assert {asked.headers["user-agent"] for asked in hub.asked} == {"kvplan"}
