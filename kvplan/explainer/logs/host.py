"""What the machine around an engine prints when it takes the memory away; any engine's log may hold it."""

from kvplan.core.logs import Shape

ENGINE = None

SHAPES = (
    Shape("Application startup complete", "uvicorn 0.30 lifespan/on.py", "ready"),
    Shape("Uvicorn running on", "uvicorn 0.30 server.py", "ready"),
    Shape("OOMKilled", "kubernetes 1.31 pod status", "oom", "host_killed"),
    Shape("exit code 137", "docker 27", "oom", "host_killed"),
    Shape("exitCode: 137", "kubernetes 1.31", "oom", "host_killed"),
    Shape("Out of memory: Killed process", "linux 6.8 mm/oom_kill.c", "oom", "host_killed"),
    Shape("oom-kill:constraint=", "linux 6.8 mm/oom_kill.c", "oom", "host_killed"),
    Shape("Memory cgroup out of memory", "linux 6.8 mm/oom_kill.c", "oom", "host_killed"),
    Shape("signal: killed", "go 1.23 os/exec", "oom", "host_killed"),
    Shape("Killed{$}", "bash 5.2", "oom", "host_killed"),
    Shape("std::bad_alloc", "libstdc++ 13", "oom", "host_killed"),
    Shape("MemoryError{$}", "python 3.11", "oom", "host_killed"),
    Shape("CUDA runtime error in {*}: out of memory", "tensorrt-llm 0.12 cpp/include/tensorrt_llm/common/cudaUtils.h", "oom", "torch"),
    Shape("{=error_class|path}Error: {=error|rest}", "python 3.11 traceback.py"),
    Shape("Traceback (most recent call last)", "python 3.11 traceback.py", "refused", "traceback"),
    Shape("NVIDIA {=gpu|smi}", "nvidia-smi 550"),
    Shape("GPU {*}: NVIDIA {=gpu|until(}(UUID", "nvidia-smi -L 550"),
)
