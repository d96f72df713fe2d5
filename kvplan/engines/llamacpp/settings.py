"""The settings of a llama.cpp process that bear on memory, every default filled in."""

from typing import Literal, NamedTuple

App = Literal["server", "cli", "completion", "bench", "perplexity", "ollama"]
"""``server`` is llama-server; ``cli`` is llama-cli, a client of a server that it starts; ``ollama`` Ollama's runner."""
LoadMode = Literal["auto", "none", "mmap", "mlock", "mmap+mlock", "dio"]
SplitMode = Literal["none", "layer", "row", "tensor"]
Isa = Literal["x86-avx2", "x86-avx512", "arm64"]
AUTO_LAYERS, ALL_LAYERS = -1, -2


class Override(NamedTuple):
    """``-ot PATTERN=BUFFER``: tensors whose name the regular expression finds go to that buffer type (CPU, CUDA0 …)."""

    pattern: str
    buffer: str


class Drafting(NamedTuple):
    """Speculative decoding: the kinds asked for (``draft-simple``, ``draft-mtp``, ``draft-eagle3`` …; none that drafts without a model).

    ``n_max`` tokens are drafted at once. ``model`` is the draft's file, None where the target drafts for itself (MTP).
    ``type_k`` and ``type_v`` are its cache's types (``-ctkd``, ``-ctvd``), ``n_gpu_layers`` its share of the devices.
    """

    kinds: tuple[str, ...]
    n_max: int = 3
    model: str | None = None
    type_k: str = "f16"
    type_v: str = "f16"
    n_gpu_layers: int = AUTO_LAYERS

    @property
    def is_mtp(self) -> bool:
        """Whether the model's own next-token layers draft."""
        return "draft-mtp" in self.kinds


class Settings(NamedTuple):
    """Resolved settings, as the flags spell them; sizes in bytes where the name says so.

    ``version`` is the build, ``b11434``. ``n_ctx`` is what ``-c`` says, 0 for the trained context. ``n_parallel`` is the number of
    slots, never ``auto``: llama-server's default is 4 with ``kv_unified``. ``n_gpu_layers`` counts the output layer;
    AUTO_LAYERS is what ``--fit`` leaves of all, ALL_LAYERS are all. ``devices`` are indices of the node's accelerators that are used,
    empty for ``-dev none`` and where there is none; ``device_names`` what ``-dev`` says, None where nothing. ``tensor_split`` are the
    shares asked for, empty where free memory decides. ``pinned_host`` False is ``--no-host``. ``host`` is the instruction set of the
    processor. ``ctx_checkpoints`` and ``cache_ram_mib`` (-1: no limit, 0: off) bear on llama-server alone. ``fit_ctx`` and
    ``fit_target_mib`` are the limits of ``--fit``. ``gpu_overhead_bytes`` is what Ollama leaves free of each device.
    """

    version: str
    model: str
    app: App = "server"
    n_ctx: int = 0
    n_parallel: int = 4
    kv_unified: bool = True
    n_batch: int = 2048
    n_ubatch: int = 512
    type_k: str = "f16"
    type_v: str = "f16"
    flash_attn: Literal["auto", "on", "off"] = "auto"
    swa_full: bool = False
    offload_kqv: bool = True
    op_offload: bool = True
    pinned_host: bool = True
    repack: bool = True
    n_gpu_layers: int = AUTO_LAYERS
    devices: tuple[int, ...] = ()
    device_names: tuple[str, ...] | None = None
    split_mode: SplitMode = "layer"
    tensor_split: tuple[float, ...] = ()
    main_gpu: int = 0
    override_tensors: tuple[Override, ...] = ()
    cpu_moe: bool = False
    n_cpu_moe: int = 0
    n_cpu_ffn: int = 0
    load_mode: LoadMode = "auto"
    host: Isa = "x86-avx2"
    embeddings: bool = False
    drafting: Drafting | None = None
    lora: tuple[str, ...] = ()
    mmproj: str | None = None
    mmproj_offload: bool = True
    cache_ram_mib: int = 8192
    ctx_checkpoints: int = 32
    checkpoint_min_step: int = 8192
    slot_save_path: str | None = None
    fit: bool = True
    fit_target_mib: tuple[int, ...] = (1024,)
    fit_ctx: int = 4096
    gpu_overhead_bytes: int = 0
