"""KV510: several GPUs and a container's 64 MiB of /dev/shm."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.wording import found

_POD_KINDS = ("kubernetes", "kserve")  # operators of engines mount it by themselves


def check(case: Case) -> Iterator[Found]:
    """A warning for pods that split a layer over GPUs and mount no memory at /dev/shm, which NCCL and the workers talk through."""
    tp = case.reading.tp or 1
    if (
        case.server.kind not in _POD_KINDS
        or case.reading.engine not in ("vllm", "sglang")
        or tp < 2
        or case.server.shared_memory is not None
        or case.server.image is None  # a patch, or a service of a runtime that is elsewhere: the pod's volumes stand there, too
    ):
        return
    message = f"{tp} workers share /dev/shm, and a pod without a volume there has 64 MiB of it"
    hint = "mount an emptyDir with medium: Memory and a sizeLimit at /dev/shm"
    yield found("KV510", "warning", case, ("--tensor-parallel-size", "-tp"), message, hint)
