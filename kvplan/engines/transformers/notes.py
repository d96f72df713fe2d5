"""What the user should know of these settings: findings, the engine's own refusals, and memory that is not counted."""

from kvplan.core.device import Node
from kvplan.core.dtypes import PLAIN
from kvplan.core.ledger import Finding, Fix, NotModeled, Refusal
from kvplan.core.model import ModelSpec
from kvplan.engines.transformers.kernels import AMPERE, FLASH_HEAD_DIM, shape_of
from kvplan.engines.transformers.loading import NATIVE_FROM, unpacks
from kvplan.engines.transformers.overhead import NVIDIA
from kvplan.engines.transformers.rules import VERSIONS, Rules
from kvplan.engines.transformers.settings import Settings


def findings(model: ModelSpec, settings: Settings, node: Node, rules: Rules, *, newer: bool) -> tuple[Finding, ...]:
    """Findings that hold for every workload."""
    found = []
    if newer:
        found.append(
            Finding(
                "KV301",
                "warning",
                f"transformers {settings.version} is newer than the versions that are modeled: rules of {VERSIONS[-1]}, wider intervals",
                f"use --engine transformers@{VERSIONS[-1]} to compare",
            )
        )
    if rules.off_by:
        found.append(
            Finding(
                "KV309",
                "note",
                f"activations are those of newer code, with what is known to differ in transformers {settings.version}: "
                f"up to {rules.off_by} % off beside the weights",
                f"take --engine transformers@{VERSIONS[-1]}, or `kvplan verify` with the version that will run",
            )
        )
    if not model.form.checked:
        found.append(
            Finding(
                "KV302",
                "note",
                f"nobody compared the activations of '{model.model_type}' with a trace of its modeling code: their interval is wide",
                "weights and cache are not affected; `kvplan verify` measures the rest",
            )
        )
    return (*found, *_on_paper(settings), *_unpacks(model, settings, node), *idle(settings, node), *_elsewhere(node))


def _on_paper(settings: Settings) -> list[Finding]:
    """Element types that Transformers would not use: counted so, and said."""
    found = []
    if settings.dtype not in PLAIN:
        found.append(
            Finding(
                "KV303",
                "note",
                f"weights of {settings.dtype} without a quantization are arithmetic on paper: from_pretrained loads in 16 bits or more",
                "say --dtype bfloat16 to count what it would load",
            )
        )
    if settings.cache != "quantized" and settings.kv_dtype != settings.compute_dtype:
        found.append(
            Finding(
                "KV304",
                "warning",
                f"Transformers keeps a {settings.cache} cache in the type that the model computes in, {settings.compute_dtype}; "
                f"{settings.kv_dtype} is arithmetic on paper",
                "change --dtype, or take --cache quantized",
                (Fix("--kv-dtype", settings.kv_dtype, settings.compute_dtype),),
            )
        )
    return found


def _unpacks(model: ModelSpec, settings: Settings, node: Node) -> list[Finding]:
    capability = node.gpus[0].compute_capability if node.gpus else None
    if capability is None or not unpacks(model, capability):
        return []
    major, minor = NATIVE_FROM[model.quantization or ""]
    return [
        Finding(
            "KV315",
            "warning",
            f"the kernels of '{model.quantization}' need compute capability {major}.{minor}: Transformers unpacks all weights into "
            f"{settings.compute_dtype} while it loads them, and so they are counted",
            "take a newer GPU, or a checkpoint quantized in another way",
        )
    ]


def idle(settings: Settings, node: Node) -> list[Finding]:
    """GPUs that these settings leave alone."""
    if len(node.gpus) <= settings.devices:
        return []
    return [
        Finding(
            "KV348",
            "note",
            f"of {len(node.gpus)} GPUs {'one' if settings.devices == 1 else settings.devices} will be used: the others stay idle",
            "--device-map auto splits layers over all, --tp N shares each layer",
        )
    ]


def _elsewhere(node: Node) -> list[Finding]:
    """Hardware whose overheads nobody measured, and accelerators that plain PyTorch does not drive."""
    gpu = node.gpus[0] if node.gpus else None
    if gpu is None or gpu.vendor in NVIDIA:
        return []
    if gpu.kind == "accelerator":
        return [
            Finding(
                "KV308",
                "warning",
                f"{gpu.name}: Transformers does not run there as counted here; {gpu.vendor}'s own compiler plans memory in its own way",
                "read weights and cache as they are, and the rest as a guess",
            )
        ]
    return [
        Finding(
            "KV307",
            "warning",
            f"{gpu.name}: kernels and overheads are those of PyTorch on NVIDIA; nobody compared them with {gpu.vendor}'s",
            "weights and cache are not affected; measure the rest before you rely on a tight fit",
        )
    ]


def refusals(model: ModelSpec, settings: Settings, node: Node, rules: Rules) -> tuple[Refusal, ...]:
    """What Transformers, or a kernel that it was told to use, would raise for these settings."""
    found = _flash(model, node) if settings.attn == "flash_attention_2" else []
    if settings.attn == "sdpa" and model.form.eager_only:
        found.append(
            Refusal(
                "KV310",
                "load",
                f"ValueError: {model.architecture} does not support an attention implementation through "
                "torch.nn.functional.scaled_dot_product_attention yet.",
            )
        )
    if settings.cache == "none" and settings.chunk_tokens:
        found.append(Refusal("KV316", "config", "ValueError: Cannot use prefill chunking without a cache"))
    if settings.cache == "quantized":
        found += _quantized(model, settings, rules)
    return tuple(found)


def _flash(model: ModelSpec, node: Node) -> list[Refusal]:
    """The flash-attn package wants compute capability 8.0 and heads of at most 256.

    Source: flash-attention 2.8 csrc/flash_attn/flash_api.cpp, mha_fwd.
    """
    found = []
    capability = node.gpus[0].compute_capability if node.gpus else None
    if capability is not None and capability < AMPERE:
        found.append(Refusal("KV313", "profile", "RuntimeError: FlashAttention only supports Ampere GPUs or newer."))
    shapes = [shape for run in model.runs for mixer in run.layer.mixers if (shape := shape_of(mixer))]
    if any(shape.head_dim > FLASH_HEAD_DIM for shape in shapes):
        found.append(Refusal("KV314", "profile", "RuntimeError: FlashAttention forward only supports head dimension at most 256"))
    return found


def _quantized(model: ModelSpec, settings: Settings, rules: Rules) -> list[Refusal]:
    """A quantized cache wants full attention in every layer, and its fp8 backend came late."""
    found = []
    if settings.kv_dtype.startswith("float8") and not rules.fp8_cache:
        found.append(Refusal("KV311", "config", "ValueError: Unknown quantization backend `fp8`"))
    kinds = {mixer.kind for run in model.runs for mixer in run.layer.mixers}
    if kinds - {"full", "mla"}:
        found.append(
            Refusal("KV312", "config", "ValueError: `QuantizedCache` is only supported for models with only full attention layers.")
        )
    return found


def not_modeled(model: ModelSpec, settings: Settings) -> tuple[NotModeled, ...]:
    """What exists and is in no entry."""
    found = [
        NotModeled("kernel_scratch", "scratch inside kernels: sorting of routed tokens, grouped products, cuDNN attention since Hopper"),
    ]
    if settings.padding == "none":
        found.append(NotModeled("padding", "prompts of unequal length (padding=left): a mask for each sequence, and no flash attention"))
    if settings.assistant and model.draft is None:
        found.append(NotModeled("assistant", f"the assistant model '{settings.assistant}', which could not be read"))
    if settings.cache == "static":
        found.append(NotModeled("cuda_graphs", "generate() compiles decoding with a static cache: the memory of its CUDA graphs"))
    if any(group.role in ("vision", "audio") for group in model.weights):
        found.append(NotModeled("towers", "what the vision or audio tower holds while it reads an input, and the tokens it adds"))
    if model.quantization == "mxfp4":
        found.append(
            NotModeled("without_kernels", "without the packages kernels and triton the experts are unpacked into 16 bits as they load")
        )
    return tuple(found)
