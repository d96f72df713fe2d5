"""The lines of Ollama's own log; its runners print llama.cpp's too."""

from kvplan.core.logs import Shape

ENGINE = "ollama"

_MEMORY = "ollama 0.6.5 llm/memory.go, LogValue"
_NEW = "ollama 0.12.11 ml/device.go, BackendMemory.Log"

LINES = (
    Shape("Listening on {*} (version {=version|version})", "ollama 0.6.5 server/routes.go, Serve", "start"),
    Shape("layers.model={model layers|layers}", _MEMORY, "start"),
    Shape("layers.offload={layers offloaded|layers}", _MEMORY, "pool"),
    Shape('memory.required.full="{memory required, all on the GPU|size}', _MEMORY),
    Shape('memory.required.partial="{memory required, as offloaded|size}', _MEMORY),
    Shape('memory.required.kv="{KV cache required|size}', _MEMORY),
    Shape('memory.required.allocations="[{memory required by GPU|size}', _MEMORY),
    Shape('memory.available="[{memory available|size}', _MEMORY),
    Shape('memory.weights.total="{weights|size}', _MEMORY),
    Shape('memory.weights.repeating="{weights of layers|size}', _MEMORY),
    Shape('memory.weights.nonrepeating="{weights beside layers|size}', _MEMORY),
    Shape('memory.graph.full="{graph, all on the GPU|size}', _MEMORY),
    Shape('memory.graph.partial="{graph, partly|size}', _MEMORY),
    Shape('projector.weights="{projector weights|size}', _MEMORY),
    Shape('projector.graph="{projector graph|size}', _MEMORY),
    Shape('msg="model weights" device={=device|word} size="{model weights|size}', _NEW, "pool"),
    Shape('msg="kv cache" device={=device|word} size="{kv cache|size}', _NEW, "pool"),
    Shape('msg="compute graph" device={=device|word} size="{compute graph|size}', _NEW, "pool"),
    Shape('msg="total memory" size="{total|size}', _NEW, "pool"),
    Shape('msg="gpu memory"{*}available="{memory available|size}" free="{device free|size}', "ollama 0.12.11 server/sched.go"),
    Shape("KvSize:{n_ctx|tokens}", "ollama 0.12.11 runner/ollamarunner/runner.go"),
    Shape('msg="inference compute"{*}name="{=gpu|quoted"}', "ollama 0.6.5 discover/types.go"),
    Shape('msg="inference compute"{*}total="{device memory|size}" available="{device free|size}', "ollama 0.6.5 discover/types.go"),
    Shape('available={memory available|bytes} required="{memory required|size}', "ollama 0.6.5 server/sched.go"),
    Shape('msg="system memory" total="{host memory|size}" free="{host free|size}', "ollama 0.6.5 llm/server.go"),
    Shape('msg="starting llama server" cmd={=cmd|rest}', "ollama 0.6.5 llm/server.go"),
    Shape('msg="starting runner" cmd={=cmd|rest}', "ollama 0.12.11 llm/server.go"),
    Shape('msg="llama runner started in', "ollama 0.6.5 llm/server.go, WaitUntilRunning", "ready"),
    Shape("model requires more system memory ({memory required|size}) than is available ({memory available|size})",
          "ollama 0.6.5 llm/server.go, NewLlamaServer", "refused", "system_memory"),
    Shape("model request too large for system", "ollama 0.6.5 llm/server.go", "refused", "system_memory"),
    Shape("unable to fit entire model", "ollama 0.12.11 llm/server.go", "refused", "system_memory"),
    Shape("memory layout cannot be allocated", "ollama 0.12.11 llm/server.go", "refused", "system_memory"),
    Shape('msg="error loading llama server"', "ollama 0.6.5 server/sched.go", "refused", "other"),
    Shape('msg="Load failed"', "ollama 0.12.11 server/sched.go", "refused", "other"),
    Shape("llama runner process has terminated", "ollama 0.6.5 llm/server.go", "refused", "other"),
    Shape("gpu has too little memory to allocate any layers", "ollama 0.6.5 llm/memory.go", "warned", "gpu_too_small"),
)  # fmt: skip

SHAPES = LINES
