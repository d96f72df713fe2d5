"""A server's metrics, over loopback."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvplan.core.errors import RequestError, UnavailableError
from kvplan.explainer.metrics import fetched, of_text
from tests.running import Run

VLLM = """# HELP vllm:kv_cache_usage_perc KV-cache usage. 1 means 100 percent usage.
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"} 0.953
vllm:num_requests_running{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"} 40.0
vllm:num_requests_waiting{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"} 3.0
vllm:num_preemptions_total{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"} 12.0
vllm:prefix_cache_queries_total{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"} 1000.0
vllm:prefix_cache_hits_total{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"} 250.0
vllm:generation_tokens_total{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"} 123456.0
vllm:time_per_output_token_seconds_sum{engine="0"} 10.0
vllm:time_per_output_token_seconds_count{engine="0"} 500.0
vllm:time_per_output_token_seconds_bucket{engine="0",le="0.1"} 500.0
vllm:cache_config_info{block_size="16",gpu_memory_utilization="0.9",num_gpu_blocks="27000"} 1.0
"""
LLAMA = """llamacpp:prompt_tokens_seconds 512.5
llamacpp:predicted_tokens_seconds 42.25
llamacpp:requests_processing 1
llamacpp:requests_deferred 0
llamacpp:n_busy_slots_per_decode 1.5
"""


class Handler(http.server.BaseHTTPRequestHandler):
    text = VLLM

    def do_GET(self) -> None:
        body = self.text.encode()
        self.send_response(200 if self.path == "/metrics" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def test_vllm_beside_the_estimate(kvplan: Run, server: str) -> None:
    ran = kvplan("explain", "--url", f"{server}/metrics", "--gpu", "h100-sxm", "--json")
    found = json.loads(ran.out)
    measures = {measure["label"]: measure["value"] for measure in found["measures"]}
    assert (ran.code, found["engine"], found["model"]) == (0, "vllm", "meta-llama/Llama-3.1-8B-Instruct")
    assert measures["prefix cache hit rate"] == 0.25
    assert measures["generation of one sequence"] == 50
    assert measures["preemptions"] == 12
    assert found["pool_tokens"] == 432_000
    assert abs(found["estimated_pool_tokens"] / 432_000 - 1) < 0.1
    text = kvplan("explain", "--url", f"{server}/metrics", "--gpu", "h100-sxm").out
    assert "95.3 %" in text
    assert "KV613" in text


def test_the_command_that_started_it(kvplan: Run, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("vllm", "serve", "llama-3.1-8b", "--max-model-len", "8192", "--kv-cache-dtype", "fp8")
    ran = kvplan("explain", "--url", f"{server}/metrics", "--gpu", "h100-sxm", "--json", "--", *command)
    found = json.loads(ran.out)
    assert found["estimated_pool_tokens"] > 800_000  # twice as many as without fp8
    estimated = {measure["label"]: measure["value"] for measure in found["estimated"]}
    assert estimated["generation"] > 30 * estimated["generation of one sequence"]  # 40 run
    file = tmp_path / "command"
    file.write_text("llama-server -m llama-3.1-8b -c 16384 -np 4", encoding="utf-8")
    monkeypatch.setattr(Handler, "text", LLAMA)
    text = kvplan("explain", "--url", f"{server}/metrics", "--gpu", "rtx-4090", "--command-file", str(file)).out
    assert "context of a slot" in text
    assert "4,096 tokens" in text
    assert kvplan("explain", "--url", f"{server}/metrics", "--", "llama-server", "--no-such-flag").code == 2
    assert kvplan("explain", "a.log", "--", *command).code == 2


def test_llama_server() -> None:
    found = of_text(LLAMA)
    assert (found.engine, found.pool_tokens, found.estimated_pool_tokens) == ("llama.cpp", None, None)
    assert {measure.label: measure.value for measure in found.measures}["generation"] == 42.25


def test_what_is_no_server(server: str) -> None:
    with pytest.raises(RequestError, match="neither"):
        of_text("go_goroutines 12\n")
    with pytest.raises(RequestError, match="http://"):
        fetched("file:///etc/passwd")
    with pytest.raises(UnavailableError, match="404"):
        fetched(f"{server}/nothing")
    with pytest.raises(UnavailableError):
        fetched("http://127.0.0.1:9/metrics")


def test_what_is_not_counted_yet_is_left_out() -> None:
    found = of_text("llamacpp:prompt_tokens_seconds nan\nllamacpp:kv_cache_usage_ratio +Inf\nllamacpp:requests_processing 1\n")
    assert [measure.label for measure in found.measures] == ["running"]
