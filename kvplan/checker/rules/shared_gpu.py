"""KV504: servers on one GPU that together ask for more than all of it."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found, Reading
from kvplan.checker.wording import found

_DEFAULT = 0.9  # vLLM's gpu_memory_utilization where nothing is said; source: vllm 0.33 config/cache.py


def check(case: Case) -> Iterator[Found]:
    """An error where the shares of those that run on the same GPU sum to more than 1."""
    servers = [reading for reading in (case.reading, *case.neighbors) if reading.engine == "vllm"]
    shares = [_share(reading) for reading in servers]
    if case.reading.engine != "vllm" or len(servers) < 2 or sum(shares) <= 1:
        return
    terms = " + ".join(f"{share:g}" for share in shares)
    message = f"{len(servers)} servers share a GPU ({case.server.co_located}) and ask for {terms} = {sum(shares):g} of it"
    hint = f"--gpu-memory-utilization {int(90 / len(servers)) / 100:g} for each, or a GPU for each"
    yield found("KV504", "error", case, ("--gpu-memory-utilization",), message, hint)


def _share(reading: Reading) -> float:
    return _DEFAULT if reading.utilization is None else reading.utilization
