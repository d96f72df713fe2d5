"""The flags and variables that bear on memory: how they are spelled, what they take, and which programs know them.

Source: llama.cpp b11434 tools/server/README.md and tools/completion/README.md (made from common/arg.cpp); which programs: -kvu measured
on b11434, others by the README in which they stand.
"""

from functools import cache
from typing import Literal, NamedTuple, get_args

from kvplan.engines.llamacpp.settings import LoadMode, SplitMode

Kind = Literal["int", "switch", "on", "fa", "cache", "layers", "onoff", "mode", "split", "text", "list", "ints", "shares"]
"""``int``: read as C++ reads it, 32k is 32. ``switch``: --x and --no-x. ``on``: --x alone. ``fa``: on, off or auto. ``cache``: a type
of the cache. ``layers``: a number, auto or all. ``onoff``: on or off. ``mode`` and ``split``: one of a few words. ``list``: every
mention adds to it. ``ints`` and ``shares``: numbers parted by commas or slashes."""

LOAD_MODES: tuple[str, ...] = get_args(LoadMode)
SPLIT_MODES: tuple[str, ...] = get_args(SplitMode)
CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
"""What -ctk and -ctv take. Source: common/arg.cpp, kv_cache_types."""

SHORT_TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
"""kvplan's names of types that llama.cpp calls otherwise."""

UNMODELED = {
    "control-vector": "the vector's own bytes are left out",
    "control-vector-scaled": "the vector's own bytes are left out",
    "lazy-mode": "every tensor is taken to be kept in memory",
    "moe-cache-mib": "the cache of experts on the GPU is left out",
    "override-kv": "the model is estimated as its own file describes it",
    "rpc": "the other machines' devices are left out",
}
"""Flags that bear on memory in a way that no estimate here follows, and what it does instead."""

REMOVED = {
    "draft-max": "use --spec-draft-n-max or --spec-ngram-mod-n-max",
    "draft-min": "use --spec-draft-n-min or --spec-ngram-mod-n-min",
    "spec-ngram-size-n": "use the respective --spec-ngram-*-size-n or --spec-ngram-mod-n-match",
    "spec-ngram-size-m": "use the respective --spec-ngram-*-size-m",
    "spec-ngram-min-hits": "use the respective --spec-ngram-*-min-hits",
}
"""Flags that the parser knows only to say that they are gone. Source: common/arg.cpp, arg_removed."""

INSTEAD = {"mmap": "-lm mmap, or -lm none for --no-mmap", "mlock": "-lm mlock", "direct-io": "-lm dio"}
"""What took the place of flags that the parser doesn't know any more."""


class Known(NamedTuple):
    """A flag: its spellings, those that say its opposite, its variable without the prefix, and the programs that take it.

    ``n_values`` is how many words it takes.
    """

    name: str
    kind: Kind
    env: str | None
    apps: tuple[str, ...]
    spellings: tuple[str, ...]
    opposites: tuple[str, ...] = ()

    @property
    def n_values(self) -> int:
        """Words after the flag."""
        return 0 if self.kind in ("switch", "on") else 1


APPS = {"S": "server", "C": "cli", "P": "completion", "X": "perplexity"}
# kind, variable, programs: spellings, the flag's name among them / spellings of the opposite
_TABLE = """
int CTX_SIZE SCPX: -c --ctx-size
int BATCH SCPX: -b --batch-size
int UBATCH SCPX: -ub --ubatch-size
int N_PARALLEL SCPX: -np --parallel
switch KV_UNIFIED SX: -kvu --kv-unified / -no-kvu --no-kv-unified
int KV_UNIFIED_PER_SLOT S: --kv-unified-per-slot
fa FLASH_ATTN SCPX: -fa --flash-attn
cache CACHE_TYPE_K SCPX: -ctk --cache-type-k
cache CACHE_TYPE_V SCPX: -ctv --cache-type-v
on SWA_FULL SCPX: --swa-full
switch KV_OFFLOAD SCPX: -kvo --kv-offload / -nkvo --no-kv-offload
switch REPACK SCPX: --repack / -nr --no-repack
on NO_HOST SCPX: --no-host
switch - SCPX: --op-offload / --no-op-offload
mode LOAD_MODE SCPX: -lm --load-mode
on MLOCK SCPX: --mlock
switch MMAP SCPX: --mmap / --no-mmap
switch DIO SCPX: -dio --direct-io / -ndio --no-direct-io
text DEVICE SCPX: -dev --device
list OVERRIDE_TENSOR SCPX: -ot --override-tensor
on CPU_MOE SCPX: -cmoe --cpu-moe
int N_CPU_MOE SCPX: -ncmoe --n-cpu-moe
int N_CPU_FFN SCPX: -ncffn --n-cpu-ffn
layers N_GPU_LAYERS SCPX: -ngl --gpu-layers --n-gpu-layers
split SPLIT_MODE SCPX: -sm --split-mode
shares TENSOR_SPLIT SCPX: -ts --tensor-split
int MAIN_GPU SCPX: -mg --main-gpu
onoff FIT SCPX: -fit --fit
ints FIT_TARGET SCPX: -fitt --fit-target
int FIT_CTX SCPX: -fitc --fit-ctx
text MODEL SCPX: -m --model
text MODEL_URL SCPX: -mu --model-url
text DOCKER_REPO SCPX: -dr --docker-repo
text HF_REPO SCPX: -hf -hfr --hf-repo
text HF_FILE SCPX: -hff --hf-file
list - SCPX: --lora
list - SCPX: --lora-scaled
text MMPROJ SC: -mm --mmproj
text MMPROJ_URL SC: -mmu --mmproj-url
switch MMPROJ_AUTO SC: --mmproj-auto / --no-mmproj --no-mmproj-auto
switch MMPROJ_OFFLOAD SC: --mmproj-offload / --no-mmproj-offload
on EMBEDDINGS S: --embedding --embeddings
on RERANKING S: --rerank --reranking
int CACHE_RAM SC: -cram --cache-ram
int CTX_CHECKPOINTS SC: -ctxcp --swa-checkpoints --ctx-checkpoints
int CHECKPOINT_MIN_SPACING_NT SC: -cms --checkpoint-min-step
text SLOT_SAVE_PATH S: --slot-save-path
text SPEC_TYPE SC: --spec-type
int SPEC_DRAFT_N_MAX SC: --spec-draft-n-max
int DRAFT_MAX SC: --draft --draft-n --draft-max
text SPEC_DRAFT_MODEL SC: -md --model-draft --spec-draft-model
text SPEC_DRAFT_HF_REPO SC: -hfd -hfrd --hf-repo-draft --spec-draft-hf
cache SPEC_DRAFT_CACHE_TYPE_K SCPX: -ctkd --cache-type-k-draft --spec-draft-type-k
cache SPEC_DRAFT_CACHE_TYPE_V SCPX: -ctvd --cache-type-v-draft --spec-draft-type-v
layers N_GPU_LAYERS_DRAFT SC: -ngld --gpu-layers-draft --n-gpu-layers-draft --spec-draft-ngl
"""


@cache
def memory_flags() -> dict[str, Known]:
    """Every flag of the table by its name, the last of its long spellings without the dashes."""
    flags = {}
    for line in _TABLE.strip().splitlines():
        head, _, spelled = line.partition(": ")
        kind, env, letters = head.split()
        said, _, opposite = spelled.partition(" / ")
        spellings = tuple(said.split())
        apps = tuple(APPS[letter] for letter in letters)
        name = spellings[-1].lstrip("-")
        flags[name] = Known(name, _KINDS[kind], None if env == "-" else env, apps, spellings, tuple(opposite.split()))
    return flags


_KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
