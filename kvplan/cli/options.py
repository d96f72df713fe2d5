"""Options that several commands share."""

from kvplan.cli.command import Option
from kvplan.core.device import ISAS

WORKLOAD = (
    Option("--ctx", "Tokens that one sequence must hold, prompt and output together (32k is 32768).", "Workload", "N"),
    Option("--batch", "Sequences at once.", "Workload", "N"),
    Option("--prompt", "Tokens prefilled in one forward; default ctx − 1.", "Workload", "N"),
)
PRECISION = (
    Option("--dtype", "Element type of the weights, or a quantization on paper: int4, fp8, …; auto is as stored.", "Precision", "TYPE"),
    Option("--kv-dtype", "Element type of the cache; auto is what the engine does; q8_0/f16 are K and V.", "Precision", "TYPE"),
)
ENGINE = (
    Option(
        "--engine",
        "Inference engine and version: transformers@5.24.0, vllm, llama.cpp@b11434, …; `kvplan engines` lists all.",
        "Engine",
        "NAME[@VERSION]",
    ),
    Option("--attn", "Transformers: attention implementation.", "Engine", "KIND", choices=("sdpa", "eager", "flash_attention_2")),
    Option(
        "--cache",
        "Transformers: cache class; none is use_cache=False.",
        "Engine",
        "KIND",
        choices=("dynamic", "static", "quantized", "none"),
    ),
    Option("--forward", "Transformers: generate() or a plain forward.", "Engine", "KIND", choices=("generate", "plain")),
    Option("--usage", "vLLM: the API server or LLM(), whose defaults differ.", "Engine", "KIND", choices=("serve", "offline")),
    Option(
        "--device-map",
        "Transformers: how layers are split over GPUs, the host and disk; auto for several GPUs, none for one alone.",
        "Engine",
        "KIND",
        choices=("auto", "balanced", "balanced_low_0", "sequential", "none"),
    ),
    Option("--max-memory", "Transformers: what a device_map may put on each: 0:20GiB,1:10GiB,cpu:64GiB.", "Engine", "SIZES"),
    Option(
        "--tp", "Tensor parallelism; with --gpus and without it, the largest that works; Transformers then splits layers.", "Engine", "N"
    ),
    Option("--pp", "Pipeline stages.", "Engine", "N"),
    Option("--dp", "Replicas that share requests.", "Engine", "N"),
    Option("--ep", "Devices over which experts are spread.", "Engine", "N"),
)
COMMAND_FILE = Option("--command-file", "Read the engine's command from FILE; - is stdin.", "Engine", "FILE")
HARDWARE = (
    Option("--gpu", "A GPU by id or name, also h100-sxm:8, rtx-4090+rtx-3060-12, local or none.", "Hardware", "ID"),
    Option("--gpus", "How many of them.", "Hardware", "N"),
    Option("--budget", "A device of exactly this size, with its unit: 24GiB.", "Hardware", "SIZE"),
    Option("--ram", "The host's memory, with its unit: 64GiB.", "Hardware", "SIZE"),
    Option("--host", "The host's instruction set, for which llama.cpp lays weights out.", "Hardware", "ISA", choices=ISAS),
)
JSON = Option("--json", "Print one JSON document.", "Output")
OUTPUT = (
    JSON,
    Option("-o", "Write the answer to FILE.", "Output", "FILE"),
    Option("--force", "Let -o overwrite a file that kvplan did not make.", "Output"),
    Option("-q", "Leave out warnings and notes.", "Output"),
    Option("--color", "When to color text.", "Output", "WHEN", choices=("auto", "always", "never")),
)
DEBUG = Option("--debug", "Show the traceback of an internal error.", "Output")
