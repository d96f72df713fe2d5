"""A start with all that is known of it: its settings, its model and card where they can be told, and estimates of it."""

import math
import re
from collections.abc import Mapping
from functools import cached_property

from kvplan.core.errors import KvplanError
from kvplan.core.units import GIB
from kvplan.estimator import Estimate, Options, answer
from kvplan.explainer.outcome import Ending
from kvplan.explainer.record import Start
from kvplan.explainer.settings import settled
from kvplan.explainer.told import Told
from kvplan.hardware import catalog, names
from kvplan.specs import builtin

_SIZE_TOLERANCE = 0.006 * GIB  # logs print two decimals
_SCHEME = re.compile(r"[-._](?:ud-)?((?:i?q\d\w*)|bf16|f16|mxfp4)(?:[-._].*)?$", re.IGNORECASE)
_TUNED = re.compile(r"-(?:instruct|it|chat)(?:-\d{4}|-hf)?$", re.IGNORECASE)
_VLLM_FLAGS = {
    "max_model_len": "--max-model-len",
    "gpu_memory_utilization": "--gpu-memory-utilization",
    "tensor_parallel_size": "--tensor-parallel-size",
    "pipeline_parallel_size": "--pipeline-parallel-size",
    "data_parallel_size": "--data-parallel-size",
    "kv_cache_dtype": "--kv-cache-dtype",
    "max_num_seqs": "--max-num-seqs",
    "max_num_batched_tokens": "--max-num-batched-tokens",
    "dtype": "--dtype",
    "enforce_eager": "--enforce-eager",
}
_LLAMA_FLAGS = {
    "n_ctx": "-c",
    "n_seq_max": "-np",
    "n_batch": "-b",
    "n_ubatch": "-ub",
    "type_k": "-ctk",
    "type_v": "-ctv",
    "flash_attn": "-fa",
    "n_gpu_layers": "-ngl",
}
FLAGS: Mapping[str, Mapping[str, str]] = {"vllm": _VLLM_FLAGS, "llama.cpp": _LLAMA_FLAGS}
_PRINTED = {"n_ctx": "n_ctx", "n_batch": "n_batch", "n_ubatch": "n_ubatch", "n_gpu_layers": "layers offloaded"}
_FLASH = {"0": "off", "1": "on", "disabled": "off", "enabled": "on", "auto": "auto"}


def _cards(gpu: str | None, settings: Mapping[str, str]) -> str | None:
    """As many of that card as the model is split over."""
    sizes = (settings.get(f"{way}_parallel_size", "1") for way in ("tensor", "pipeline", "data"))
    n_gpus = math.prod(int(size) for size in sizes if size.isdigit())
    return f"{gpu}:{n_gpus}" if gpu is not None and n_gpus > 1 else gpu


def _on_device(name: str | None) -> bool:
    return name is not None and not name.startswith("CPU") and not name.endswith("_Host")


class Case(Told):
    """One start, to be judged."""

    def __init__(self, engine: str | None, start: Start, end: Ending, *, model: str | None = None, gpu: str | None = None) -> None:
        """``model`` and ``gpu`` are what the user says of them."""
        super().__init__(start, end)
        self.engine = engine
        self.said_model, self.said_gpu = model, gpu
        self._estimates: dict[tuple[tuple[str, str], ...], Estimate | None] = {}

    @cached_property
    def settings(self) -> dict[str, str]:
        """What the log shows, by the engine's own names."""
        found = settled(self.start.settings)
        if self.engine in ("llama.cpp", "ollama"):
            for name, label in _PRINTED.items():
                if (value := self.value(label)) is not None:
                    found[name] = str(int(value))
            if not any(_on_device(figure.device) for figure in self.start.figures):
                found.pop("n_gpu_layers", None)
            found["flash_attn"] = _FLASH.get(found.get("flash_attn", ""), "auto")
        return found

    @property
    def version(self) -> str | None:
        """The engine's version or build."""
        build = self.settings.get("build")
        return self.settings.get("version") or (f"b{build}" if build and build != "0" else None)

    @property
    def model(self) -> str | None:
        """The model as the log names it."""
        return self.said_model or (self.settings.get("model") or self.settings.get("name") or "").rstrip(".") or None

    @property
    def is_unified(self) -> bool:
        """Whether processor and GPU share one memory."""
        said = " ".join((self.said_gpu or "", self.settings.get("gpu", "")))
        if re.search(r"GB10|Thor|Jetson|Orin|Tegra|Spark", said, re.IGNORECASE):
            return True
        return self.gpu is not None and catalog.find(self.gpu).unified

    @cached_property
    def gpu(self) -> str | None:
        """The card: as the user says, as the log names it, or the one of that size."""
        for said in (self.said_gpu, self.settings.get("gpu")):
            if said:
                try:
                    return names.resolve(said.removeprefix("NVIDIA ").strip()).id
                except KvplanError:
                    continue
        return self._by_size()

    def _by_size(self) -> str | None:
        total = self.size("total memory")
        if total is None or self.engine in ("llama.cpp", "ollama"):
            return None
        fitting = [gpu for gpu in catalog.candidates(0) if abs(gpu.cuda_bytes - total) <= _SIZE_TOLERANCE]
        known = [gpu for gpu in fitting if gpu.cuda_total_known]
        return next((gpu.id for gpu in (*known, *fitting)), None)

    @cached_property
    def known_model(self) -> tuple[str, str | None] | None:
        """The model as the estimator may load it without a network, and how its weights are stored where its name says so."""
        if self.said_model:
            return self.said_model, None
        for said in (self.settings.get("model"), self.settings.get("name")):
            stem = (said or "").strip().rsplit("/", 1)[-1].removesuffix(".gguf")
            stem = re.sub(r"-\d{5}-of-\d{5}$", "", stem)
            scheme = _SCHEME.search(stem)
            base = (stem[: scheme.start()] if scheme else stem).replace(" ", "-")
            plain = _TUNED.sub("", base)
            for name in (said or "", base, plain, plain.lower().removeprefix("meta-")):
                if name and (found := builtin.find(name.lower())) is not None:
                    return found, scheme[1].lower() if scheme else None
        return None

    def estimate(self, changes: Mapping[str, str] | None = None) -> Estimate | None:
        """The estimate of this start with ``changes`` to its settings; None where model, card or engine are not known."""
        key = tuple(sorted((changes or {}).items()))
        if key not in self._estimates:
            self._estimates[key] = self._estimated(dict(key))
        return self._estimates[key]

    def _estimated(self, changes: Mapping[str, str]) -> Estimate | None:
        """By the rules of the log's version, else of the newest."""
        if self.engine is None or self.engine not in FLAGS or self.known_model is None:
            return None
        if self.gpu is None and self.engine == "vllm":
            return None
        model, scheme = self.known_model
        settings = {**self.settings, **changes}
        program = ("vllm", "serve", model) if self.engine == "vllm" else ("llama-server", "-m", model)
        options = Options(command=(*program, *self.words(settings)), gpu=_cards(self.gpu, settings), dtype=scheme, host=self._host)
        for version in (f"@{self.version}" if self.version else "", ""):
            try:
                return answer(options._replace(engine=f"{self.engine}{version}"))
            except KvplanError:
                continue
        return None

    @property
    def _host(self) -> str | None:
        """The processor's instructions, where llama.cpp laid weights out for them."""
        repacked = any((figure.device or "").startswith("CPU_REPACK") for figure in self.start.figures)
        return "x86-avx2" if repacked and self.engine == "llama.cpp" else None

    def words(self, settings: Mapping[str, str]) -> tuple[str, ...]:
        """The flags that give these settings."""
        words: list[str] = []
        for name, flag in FLAGS[self.engine or ""].items():
            value = settings.get(name)
            if value is None or value in ("auto", "False", "false"):
                continue
            words += [flag] if value in ("True", "true") else [flag, value]
        return tuple(words)
