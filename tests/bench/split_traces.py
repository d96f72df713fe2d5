"""What each GPU holds of a split model, followed on fake tensors: writes tests/data/placements/split_traces.jsonl.

Accelerate's own hooks run on two GPUs that are not there; on one and a host, what they do is done in their place. Needs torch,
transformers and accelerate.
"""

import gc
import inspect
import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from accelerate.hooks import AlignDevicesHook, ModelHook, add_hook_to_module
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, DynamicCache

from kvplan.verifier.child import fake
from kvplan.verifier.child.attention import Attention

CAPABILITY = (8, 0)
BASE: dict[str, Any] = {
    **{"vocab_size": 32000, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 6, "num_attention_heads": 8},
    **{"num_key_value_heads": 4, "head_dim": 128, "max_position_embeddings": 8192, "torch_dtype": "bfloat16"},
}
RUNS = (
    *((family, "generate", batch, prompt) for family in ("llama", "qwen3", "gemma2", "olmo2") for batch, prompt in ((1, 4096), (4, 1000))),
    ("llama", "plain", 1, 2000),
)


class PerGpu(fake.Traced):
    """Live bytes of each GPU."""

    def __init__(self) -> None:
        """Nothing yet."""
        super().__init__("cuda")
        self.live, self.peak, self._of = {0: 0, 1: 0}, {0: 0, 1: 0}, dict[int, tuple[int, int]]()
        self._now = 0

    def _follow(self, tensor: "torch.Tensor") -> None:
        self._now = tensor.device.index or 0
        super()._follow(tensor)

    def made(self, key: int, n_bytes: int) -> None:
        """Count it where it was made."""
        self._of[key] = self._now, n_bytes
        self.live[self._now] += n_bytes
        self.peak[self._now] = max(self.peak[self._now], self.live[self._now])

    def died(self, key: int) -> None:
        """Count it no more."""
        gpu, n_bytes = self._of.pop(key)
        self.live[gpu] -= n_bytes


class Passing(ModelHook):  # type: ignore[misc]  # accelerate is not installed where types are checked
    """AlignDevicesHook with offload=True, which itself can't make parameters of fake tensors: there before the forward, gone after."""

    def pre_forward(self, module: "torch.nn.Module", *args: object, **kwargs: object) -> tuple[Any, Any]:
        """Bring the module's own parameters up."""
        self._waiting = dict(module._parameters)
        for name, tensor in self._waiting.items():
            if tensor is not None:
                here = torch.empty(tensor.shape, dtype=tensor.dtype, device="cuda:0")
                module._parameters[name] = torch.nn.Parameter(here, requires_grad=False)
        return args, kwargs

    def post_forward(self, module: "torch.nn.Module", output: object) -> object:
        """Drop them."""
        module._parameters.update(self._waiting)
        return output


def traced(family: str, forward: str, batch: int, prompt: int, behind: str) -> dict[str, Any]:
    """Peaks of the prompt's pass beside the weights; the last three layers and the head are on ``behind``."""
    meter = PerGpu()
    with fake.world(meter, CAPABILITY, Attention(CAPABILITY)):
        config = CONFIG_MAPPING[family].from_dict({"model_type": family, **BASE})
        with torch.device("cuda:0"):
            model = AutoModelForCausalLM.from_config(
                config, dtype=torch.bfloat16, attn_implementation="eager" if family == "gemma2" else None
            )
        model.eval().requires_grad_(requires_grad=False)
        _split(model, behind)
        gc.collect()
        weights = dict(meter.live)
        meter.peak = dict(meter.live)
        named = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
        asked = {named: DynamicCache(config=config), **({} if forward == "plain" else {"logits_to_keep": 1})}
        with torch.no_grad():
            model(input_ids=torch.zeros((batch, prompt), dtype=torch.long, device="cuda:0"), **asked)
        peaks = [meter.peak[gpu] - weights[gpu] for gpu in (0, 1)]
    return {"family": family, "forward": forward, "batch": batch, "prompt": prompt, "behind": behind, "prefill": peaks}


def _split(model: Any, behind: str) -> None:
    """Move the rear half, and hook every module as dispatch_model does."""
    rear = (*model.model.layers[3:], model.model.norm, model.model.rotary_emb, model.lm_head)
    skip = sorted(model._skip_keys_device_placement or ())
    for module in (model.model.embed_tokens, *model.model.layers[:3]):
        add_hook_to_module(module, AlignDevicesHook(execution_device=torch.device("cuda:0"), skip_keys=skip))
    for module in rear:
        for part in module.modules():
            for held in (part._parameters, part._buffers):
                for name, tensor in held.items():
                    if tensor is not None and (behind != "cpu" or held is part._parameters):
                        moved = torch.empty(tensor.shape, dtype=tensor.dtype, device=behind)
                        held[name] = torch.nn.Parameter(moved, requires_grad=False) if held is part._parameters else moved
        if behind == "cpu":
            for part in module.modules():
                if part._parameters:
                    add_hook_to_module(part, Passing())
        else:
            add_hook_to_module(module, AlignDevicesHook(execution_device=torch.device(behind), skip_keys=skip))
    add_hook_to_module(model, AlignDevicesHook(execution_device=torch.device("cuda:0"), io_same_device=True, skip_keys=skip))


def rows() -> Iterator[dict[str, Any]]:
    """Versions, and a row for each run."""
    yield {name: version(name) for name in ("torch", "transformers", "accelerate")} | {"config": BASE}
    for run in RUNS:
        yield traced(*run, behind="cuda:1")
    yield traced("llama", "generate", 1, 4096, behind="cpu")
    yield traced("llama", "generate", 1, 100, behind="cpu")


if __name__ == "__main__":
    assert fake.cuda_device()
    found = "".join(json.dumps(row) + "\n" for row in rows())
    (Path(__file__).parents[1] / "data/placements/split_traces.jsonl").write_text(found, encoding="utf-8")
