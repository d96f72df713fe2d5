"""A model of a config, with random weights on the device at once or with those of a checkpoint, and what it holds."""

import time

import torch
import transformers
from transformers import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.utils import is_accelerate_available

from kvplan.verifier.record import Built, Job

SHOWN = 3  # tensors named in a complaint

DEFAULT_ATTN = "sdpa"  # not passed on: asked for by name, Transformers refuses it for models that have none


class OtherWeightsError(Exception):
    """The checkpoint is not one of this model."""


class Model:
    """The module in eval mode, its resolved config, and what it weighs."""

    def __init__(self, module: "torch.nn.Module", seconds: float) -> None:
        """``seconds`` is what building took."""
        self.module = module
        self.built = _weighed(module, seconds)


def build(job: Job, device: str) -> Model:
    """The class that the config names on ``device`` (``meta``: no memory), with random parameters or those of the job's checkpoint.

    Raises ValueError when Transformers has no such class, OtherWeightsError for a checkpoint without all of its tensors.
    """
    config, cls = _class(job.config)
    options = {"dtype": getattr(torch, job.dtype), **({} if job.attn == DEFAULT_ATTN else {"attn_implementation": job.attn})}
    start = time.perf_counter()
    if job.weights is not None and device != "meta":
        module = _loaded(cls, job.weights, device, {"config": config, **options})
    else:
        with torch.device(device):
            module = cls._from_config(config, **options)
    module.eval().requires_grad_(requires_grad=False)
    module.tie_weights()
    return Model(module, time.perf_counter() - start)


def _loaded(cls: "type[transformers.PreTrainedModel]", folder: str, device: str, options: dict[str, object]) -> "torch.nn.Module":
    """The model as Transformers loads it: onto the device tensor by tensor with Accelerate, without it by way of the host."""
    directly = is_accelerate_available()
    where = {"device_map": device} if directly else {}
    module, told = cls.from_pretrained(folder, local_files_only=True, use_safetensors=True, output_loading_info=True, **where, **options)
    absent = sorted(told["missing_keys"])
    if absent:
        names = ", ".join(absent[:SHOWN]) + (", …" if len(absent) > SHOWN else "")
        raise OtherWeightsError(f"{len(absent)} tensors of {cls.__name__} are not in {folder}: {names}")
    module = module if directly else module.to(device)
    for tensor in (*module.parameters(), *module.buffers()):
        tensor.detach()  # an operator that shows their storages to who follows them: files are read by none
    return module


def _class(data: dict[str, object]) -> "tuple[transformers.PreTrainedConfig, type[transformers.PreTrainedModel]]":
    """The config object and the model class: the one that ``architectures`` names, else the causal one of the model type."""
    model_type = str(data.get("model_type"))
    wanted = (*_texts(data.get("architectures")), MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(model_type))
    cls = next((getattr(transformers, name) for name in wanted if name and hasattr(transformers, name)), None)
    if cls is None or model_type not in CONFIG_MAPPING:
        raise ValueError(f"transformers {transformers.__version__} has no model for {model_type} ({', '.join(filter(None, wanted))})")
    plain = {key: value for key, value in data.items() if key != "quantization_config"}
    return CONFIG_MAPPING[model_type].from_dict(plain), cls


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _weighed(module: "torch.nn.Module", seconds: float) -> Built:
    """Parameters and buffers, each storage once."""
    parameters = {id(tensor): tensor for tensor in module.parameters()}.values()
    buffers = {id(tensor): tensor for tensor in module.buffers()}
    saved = {id(tensor) for tensor in module.state_dict(keep_vars=True).values()}
    return Built(
        architecture=type(module).__name__,
        attn=str(module.config._attn_implementation),
        n_params=sum(tensor.numel() for tensor in parameters),
        parameter_bytes=sum(tensor.numel() * tensor.element_size() for tensor in parameters),
        buffer_bytes=sum(tensor.numel() * tensor.element_size() for tensor in buffers.values()),
        seconds=seconds,
        saved_buffer_bytes=sum(tensor.numel() * tensor.element_size() for key, tensor in buffers.items() if key in saved),
    )
