"""Every other flag that llama.cpp's programs take: none of them bears on memory.

Source: llama.cpp b11434 tools/server/README.md, tools/completion/README.md, tools/cli/README.md.
"""

from functools import cache
from typing import NamedTuple

from kvplan.engines.llamacpp.flags import APPS, Known, memory_flags


class Other(NamedTuple):
    """A flag without bearing on memory: its name, how many words it takes, and the programs that know it."""

    name: str
    n_values: int
    apps: tuple[str, ...]


# programs: spellings of one flag joined by commas, the name last; ! takes no word, ? two
_TABLE = """
SCPX: -h,--usage,--help! --version! --license! -cl,--cache-list! --completion-bash! -t,--threads -tb,--threads-batch -C,--cpu-mask
  -Cr,--cpu-range --cpu-strict --prio --poll -Cb,--cpu-mask-batch -Crb,--cpu-range-batch --cpu-strict-batch --prio-batch --poll-batch
  -n,--n-predict,--predict --keep --no-perf,--perf! -e,--no-escape,--escape! --rope-scaling --rope-scale --rope-freq-base
  --rope-freq-scale --yarn-orig-ctx --yarn-ext-factor --yarn-attn-factor --yarn-beta-slow --yarn-beta-fast -dt,--defrag-thold --rpc
  -lzm,--lazy-mode --numa --list-devices! --moe-cache-mib --check-tensors! --override-kv --control-vector --control-vector-scaled
  --control-vector-layer-range? -hft,--hf-token --log-disable! --log-file --no-log-jsonl,--log-jsonl! --log-colors
  -v,--log-verbose,--verbose! --offline! -lv,--log-verbosity,--verbosity --no-log-prefix,--log-prefix!
  --no-log-timestamps,--log-timestamps! --samplers -s,--seed --sampler-seq,--sampling-seq --ignore-eos! --temp,--temperature --top-k
  --top-p --min-p --top-nsigma,--top-n-sigma --xtc-probability --xtc-threshold --typical,--typical-p --repeat-last-n --repeat-penalty
  --presence-penalty --frequency-penalty --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker
  --adaptive-target --adaptive-decay --dynatemp-range --dynatemp-exp --mirostat --mirostat-lr --mirostat-ent -l,--logit-bias --grammar
  --grammar-file -j,--json-schema -jf,--json-schema-file -bs,--backend-sampling!
SCP: --no-context-shift,--context-shift! -r,--reverse-prompt -sp,--special! --no-warmup,--warmup! --no-jinja,--jinja! --reasoning-format
  -rea,--reasoning --reasoning-effort --reasoning-budget --reasoning-budget-message --no-reasoning-preserve,--reasoning-preserve!
  --chat-template --chat-template-file --chat-template-kwargs --no-skip-chat-parsing,--skip-chat-parsing!
CP: -sys,--system-prompt -sysf,--system-prompt-file --no-display-prompt,--display-prompt! -co,--color
  -cnv,-no-cnv,--no-conversation,--conversation! -st,--single-turn! -mli,--multiline-input! --no-show-timings,--show-timings! --simple-io!
  -i,-if,--interactive-first,--interactive! --prompt-cache --prompt-cache-all! --prompt-cache-ro! --in-prefix --in-suffix --in-prefix-bos!
  --verbose-prompt! --print-token-count -gan,--grp-attn-n -gaw,--grp-attn-w
CPX: -p,--prompt -f,--file -bf,--binary-file
X: --all-logits! --hellaswag! --hellaswag-tasks --winogrande! --winogrande-tasks --multiple-choice! --multiple-choice-tasks
  --kl-divergence! --save-all-logits,--kl-divergence-base --ppl-stride --ppl-output-type
SC: -mmdev,--mmproj-device --image --audio --image-min-tokens --image-max-tokens --mtmd-batch-max-tokens --video-fps
  --video-timestamp-interval --video-ffmpeg-dir --tools --tools-runtime --mcp-servers-config --mcp-servers-json
  -ag,-no-ag,--no-agent,--agent! -td,--threads-draft,--spec-draft-threads -tbd,--threads-batch-draft,--spec-draft-threads-batch
  -Cd,--cpu-mask-draft,--spec-draft-cpu-mask -Crd,--cpu-range-draft,--spec-draft-cpu-range --cpu-strict-draft,--spec-draft-cpu-strict
  --prio-draft,--spec-draft-prio --poll-draft,--spec-draft-poll -Cbd,--cpu-mask-batch-draft,--spec-draft-cpu-mask-batch
  --cpu-strict-batch-draft,--spec-draft-cpu-strict-batch --prio-batch-draft,--spec-draft-prio-batch
  --poll-batch-draft,--spec-draft-poll-batch -otd,--override-tensor-draft,--spec-draft-override-tensor
  -cmoed,--cpu-moe-draft,--spec-draft-cpu-moe! -ncmoed,--n-cpu-moe-draft,--spec-draft-ncmoe,--spec-draft-n-cpu-moe --spec-draft-n-min
  --spec-synth-len --spec-synth-rates --draft-p-split,--spec-draft-p-split --draft-p-min,--spec-draft-p-min
  --no-spec-draft-backend-sampling,--spec-draft-backend-sampling! --spec-draft-sampling -devd,--device-draft,--spec-draft-device
  --spec-ngram-mod-n-min --spec-ngram-mod-n-max --spec-ngram-mod-n-match --spec-ngram-simple-size-n --spec-ngram-simple-size-m
  --spec-ngram-simple-min-hits --spec-ngram-map-k-size-n --spec-ngram-map-k-size-m --spec-ngram-map-k-min-hits --spec-ngram-map-k4v-size-n
  --spec-ngram-map-k4v-size-m --spec-ngram-map-k4v-min-hits --draft-n-min,--draft-min --spec-ngram-size-n --spec-ngram-size-m
  --spec-ngram-min-hits --spec-default! -lcs,--lookup-cache-static -lcd,--lookup-cache-dynamic
S: --no-cache-idle-slots,--cache-idle-slots! --spm-infill! --pooling -cb,-nocb,--no-cont-batching,--cont-batching! -a,--alias --tags
  --embd-normalize --host --port --reuse-port! --path --cors-origins --cors-methods --cors-headers
  --no-cors-credentials,--cors-credentials! --api-prefix --webui-config,--ui-config --webui-config-file,--ui-config-file
  --webui-mcp-proxy,--no-ui-mcp-proxy,--no-webui-mcp-proxy,--ui-mcp-proxy! --webui,--no-ui,--no-webui,--ui! --api-key --api-key-file
  --ssl-key-file --ssl-cert-file -to,--timeout --sse-ping-interval --threads-http --no-cache-prompt,--cache-prompt! --cache-reuse
  --metrics! --props! --no-slots,--slots! --media-path --models-dir --models-preset --models-max --no-models-autoload,--models-autoload!
  --no-prefill-assistant,--prefill-assistant! -sps,--slot-prompt-similarity --lora-init-without-apply! --sleep-idle-seconds
  --log-prompts-dir
"""


@cache
def others() -> dict[str, Other]:
    """Every other flag by each of its spellings."""
    flags: dict[str, Other] = {}
    apps: tuple[str, ...] = ()
    for word in _TABLE.split():
        if word.endswith(":"):
            apps = tuple(APPS[letter] for letter in word[:-1])
            continue
        spellings = word.rstrip("!?").split(",")
        other = Other(spellings[-1].lstrip("-"), {"!": 0, "?": 2}.get(word[-1], 1), apps)
        flags.update(dict.fromkeys(spellings, other))
    return flags


@cache
def spellings() -> dict[str, tuple[Known, bool]]:
    """Every spelling of a flag that bears on memory, and whether it says the flag or its opposite."""
    found = {}
    for flag in memory_flags().values():
        found.update(dict.fromkeys(flag.spellings, (flag, True)))
        found.update(dict.fromkeys(flag.opposites, (flag, False)))
    return found


@cache
def variables() -> dict[str, tuple[Known, bool]]:
    """Every variable that bears on memory; LLAMA_ARG_NO_X turns off what LLAMA_ARG_X turns on.

    Source: llama.cpp b11434 common/arg.cpp, common_arg::get_value_from_env.
    """
    named = [flag for flag in memory_flags().values() if flag.env]
    off = {f"LLAMA_ARG_NO_{flag.env}": (flag, False) for flag in named if flag.opposites}
    return {f"LLAMA_ARG_{flag.env}": (flag, True) for flag in named} | off
