"""A start with all that is known of it: its settings, its model and card where they can be told, and estimates of it."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from kvplan.core.errors import KvplanError
from kvplan.core.units import GIB
from kvplan.estimator import Estimate, answer
from kvplan.explainer import asking
from kvplan.explainer.outcome import Ending
from kvplan.explainer.record import Start
from kvplan.explainer.settings import settled
from kvplan.explainer.told import Told
from kvplan.hardware import catalog, names
from kvplan.specs import builtin

_SIZE_TOLERANCE = 0.006 * GIB  # logs print two decimals
_SCHEME = re.compile(r"[-._](?:ud-)?((?:i?q\d\w*)|bf16|f16|mxfp4)(?:[-._].*)?$", re.IGNORECASE)
_TUNED = re.compile(r"-(?:instruct|it|chat)(?:-\d{4}|-hf)?$", re.IGNORECASE)
_FILE_TYPE = re.compile(r"(I?Q\d\w*|B?F16|MXFP4)(?: - (Small|Medium|Large))?")
_PRINTED = {"n_ctx": "n_ctx", "n_batch": "n_batch", "n_ubatch": "n_ubatch", "n_gpu_layers": "layers offloaded"}
_FLASH = {"0": "off", "1": "on", "disabled": "off", "enabled": "on", "auto": "auto"}


class Said(NamedTuple):
    """What the user says of a log that does not say it itself; ``ctx`` and ``batch`` are of a run of Transformers."""

    model: str | None = None
    gpu: str | None = None
    ctx: str | None = None
    batch: str | None = None


_PRINTED = {"n_ctx": "n_ctx", "n_batch": "n_batch", "n_ubatch": "n_ubatch", "n_gpu_layers": "layers offloaded"}
_FLASH = {"0": "off", "1": "on", "disabled": "off", "enabled": "on", "auto": "auto"}


def _on_device(name: str | None) -> bool:
    return name is not None and not name.startswith("CPU") and not name.endswith("_Host")


class Case(Told):
    """One start, to be judged."""

    def __init__(self, engine: str | None, start: Start, end: Ending, said: Said) -> None:
        """``said`` is what the user adds."""
        super().__init__(start, end)
        self.engine, self.said = engine, said
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
        if self.engine == "transformers":
            found |= {"attn_implementation": "eager"} if "scores" in self.start.frames else {}
            found |= {"forward": "plain"} if self.ending.sign == "logits" else {}
            found |= {name: said for name, said in (("ctx", self.said.ctx), ("batch", self.said.batch)) if said is not None}
        return found

    @property
    def version(self) -> str | None:
        """The engine's version or build."""
        build = self.settings.get("build")
        return self.settings.get("version") or (f"b{build}" if build and build != "0" else None)

    @property
    def model(self) -> str | None:
        """The model as the log names it."""
        if self.said.model:
            return self.said.model
        by = ("name", "model") if self.engine == "ollama" else ("model", "name")  # Ollama's files are named by their digest
        return next((name for key in by if (name := self.settings.get(key, "").rstrip("."))), None)

    @property
    def is_unified(self) -> bool:
        """Whether processor and GPU share one memory."""
        said = " ".join((self.said.gpu or "", self.settings.get("gpu", "")))
        if re.search(r"GB10|Thor|Jetson|Orin|Tegra|Spark", said, re.IGNORECASE):
            return True
        return self.gpu is not None and catalog.find(self.gpu).unified

    @cached_property
    def gpu(self) -> str | None:
        """The card: as the user says, as the log names it, or the one of that size."""
        for said in (self.said.gpu, self.settings.get("gpu")):
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
        if self.said.model:
            return self.said.model, self._stored if builtin.find(self.said.model.lower()) else None
        for said in (self.settings.get("model"), self.settings.get("name")):
            stem = (said or "").strip().rsplit("/", 1)[-1].removesuffix(".gguf")
            stem = re.sub(r"-\d{5}-of-\d{5}$", "", stem)
            scheme = _SCHEME.search(stem)
            base = (stem[: scheme.start()] if scheme else stem).replace(" ", "-")
            plain = _TUNED.sub("", base)
            for name in (said or "", base, plain, plain.lower().removeprefix("meta-")):
                if name and (found := builtin.find(name.lower())) is not None:
                    return found, scheme[1].lower() if scheme else self._stored
        return None

    @property
    def _stored(self) -> str | None:
        """The weights' scheme as llama.cpp prints a file's: ``Q4_K - Medium``."""
        found = _FILE_TYPE.match(self.settings.get("ftype", ""))
        if found is None or self.engine not in ("llama.cpp", "ollama"):
            return None
        return f"{found[1]}_{found[2][0]}".lower() if found[2] else found[1].lower()

    @property
    def unknown(self) -> str:
        """What of this start no estimate can be made without, in words; empty where one can."""
        if self.engine not in asking.ENGINES:
            return "the engine is not one that is estimated" if self.engine else "the engine is not known here"
        if self.known_model is None:
            return "the model is not known here"
        if self.gpu is None:
            return "the card is not known here"
        if self.engine == "transformers" and self.said.ctx is None:
            return "the prompt's length is not known here, --ctx says it"
        return "" if self.estimate() is not None else "no estimate of these settings can be made"

    def estimate(self, changes: Mapping[str, str] | None = None) -> Estimate | None:
        """The estimate of this start with ``changes`` to its settings; None where model, card or engine are not known."""
        key = tuple(sorted((changes or {}).items()))
        if key not in self._estimates:
            self._estimates[key] = self._estimated(dict(key))
        return self._estimates[key]

    def _estimated(self, changes: Mapping[str, str]) -> Estimate | None:
        """By the rules of the log's version, else of the newest."""
        if self.engine is None or self.engine not in asking.ENGINES or self.known_model is None:
            return None
        if self.gpu is None and self.engine in ("vllm", "sglang", "transformers"):
            return None
        model, scheme = self.known_model
        asked = asking.options(self.engine, model, {**self.settings, **changes}, self.gpu)
        options = asked._replace(dtype=scheme or asked.dtype, host=self._host)
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
