"""Every flag that some vLLM knows, in which versions, and how many words it takes.

Source: add_argument of vllm 0.6.6 to 0.33.0 engine/arg_utils.py and entrypoints/**/cli_args.py (23 of the releases between;
where a flag appears between two of them, the earlier is taken).
"""

from functools import cache
from typing import Literal, NamedTuple

Arity = Literal["one", "none", "many", "optional"]


class Known(NamedTuple):
    """A flag, the first version that knows it and the first that doesn't any more (None while it is there)."""

    name: str
    arity: Arity
    since: str
    until: str | None


_ARITY: dict[str, Arity] = {"!": "none", "*": "many", "?": "optional"}
# since-until: names; ! takes no value, * one or more, ? one or none
_TABLE = """
0.6-0.7: quantization-param-path worker-use-ray!
0.6-0.8: disable-logprobs-during-spec-decoding! ngram-prompt-lookup-max ngram-prompt-lookup-min num-speculative-tokens
  spec-decoding-acceptance-method speculative-disable-by-batch-size speculative-disable-mqa-scorer!
  speculative-draft-tensor-parallel-size speculative-max-model-len speculative-model speculative-model-quantization
  typical-acceptance-sampler-posterior-alpha typical-acceptance-sampler-posterior-threshold
0.6-0.10: device enable-prompt-adapter! long-lora-scaling-factors max-prompt-adapter-token max-prompt-adapters
  multi-step-stream-outputs! num-scheduler-steps override-neuron-config prompt-adapters* qlora-adapter-name-or-path
  tokenizer-pool-extra-config tokenizer-pool-size tokenizer-pool-type use-v2-block-manager!
0.6-0.11: disable-async-output-proc! guided-decoding-backend max-seq-len-to-capture preemption-mode scheduler-delay-factor
0.6-0.12: enable-lora-bias! lora-extra-vocab-size num-lookahead-slots override-pooler-config rope-scaling rope-theta
0.6-0.13: disable-mm-preprocessor-cache! task
0.6-0.17: disable-log-requests! logits-processor-pattern
0.6-0.18: swap-space
0.6-0.19: disable-frontend-multiprocessing!
0.6-: allow-credentials! allowed-headers allowed-local-media-path allowed-methods allowed-origins api-key* block-size chat-template
  chat-template-content-format code-revision collect-detailed-traces* compilation-config config-format cpu-offload-gb
  disable-custom-all-reduce! disable-fastapi-docs! disable-log-stats! disable-sliding-window! distributed-executor-backend download-dir
  dtype enable-auto-tool-choice! enable-chunked-prefill! enable-lora! enable-prefix-caching! enable-prompt-tokens-details!
  enable-request-id-headers! enforce-eager! fully-sharded-loras! generation-config gpu-memory-utilization hf-overrides host
  ignore-patterns* kv-cache-dtype kv-transfer-config limit-mm-per-prompt load-format lora-dtype lora-modules* max-cpu-loras max-log-len
  max-logprobs max-lora-rank max-loras max-model-len max-num-batched-tokens max-num-seqs max-parallel-loading-workers middleware
  mm-processor-kwargs model model-loader-extra-config num-gpu-blocks-override otlp-traces-endpoint pipeline-parallel-size port
  quantization ray-workers-use-nsight! response-role return-tokens-as-token-ids! revision root-path scheduling-policy seed
  served-model-name* skip-tokenizer-init! ssl-ca-certs ssl-cert-reqs ssl-certfile ssl-keyfile tensor-parallel-size tokenizer
  tokenizer-mode tokenizer-revision tool-call-parser tool-parser-plugin trust-remote-code! uvicorn-log-level worker-cls
0.7-0.10: enable-reasoning!
0.7-0.28: calculate-kv-scales! max-long-partial-prefills max-num-partial-prefills
0.7-: additional-config config enable-sleep-mode! long-prefill-token-threshold model-impl override-generation-config reasoning-parser
  scheduler-cls
0.8-: data-parallel-size disable-cascade-attn! disable-chunked-mm-input! disable-uvicorn-access-log! enable-expert-parallel!
  enable-server-load-tracking! enable-ssl-refresh! hf-config-path hf-token? prefix-caching-hash-algo show-hidden-metrics-for-version
  speculative-config use-tqdm-on-load! worker-extension-cls
0.9-0.10: expand-tools-even-if-tool-choice-none!
0.9-0.11: guided-decoding-disable-additional-properties! guided-decoding-disable-any-whitespace! guided-decoding-disable-fallback!
0.9-0.12: eplb-log-balancedness! eplb-step-interval eplb-window-size num-redundant-experts
0.9-0.13: cuda-graph-sizes* enable-multimodal-encoder-data-parallel!
0.9-0.28: override-attention-dtype
0.9-: api-server-count data-parallel-address data-parallel-backend data-parallel-rank data-parallel-rpc-port data-parallel-size-local
  data-parallel-start-rank disable-hybrid-kv-cache-manager! enable-eplb! enable-force-include-usage! enable-prompt-embeds! headless!
  kv-events-config log-config-file media-io-kwargs pt-load-map-location
0.10-: async-scheduling! convert data-parallel-hybrid-lb! decode-context-parallel-size default-mm-loras enable-log-outputs!
  enable-log-requests! enable-tokenizer-info-endpoint! eplb-config exclude-tools-when-tool-choice-none! h11-max-header-count
  h11-max-incomplete-event-size interleave-mm-strings! io-processor-plugin kv-cache-memory-bytes kv-sharing-fast-prefill!
  log-error-stack! logits-processors* logprobs-mode mamba-cache-dtype mamba-ssm-cache-dtype mm-encoder-tp-mode mm-processor-cache-gb
  runner safetensors-load-strategy skip-mm-profiling! tool-server uds
0.11-: allowed-media-domains* dbo-decode-token-threshold dbo-prefill-token-threshold enable-dbo! expert-placement-strategy
  mm-processor-cache-type mm-shm-cache-max-object-size-mb pooler-config structured-outputs-config trust-request-chat-template!
  video-pruning-rate
0.12-: aggregate-engine-logging! all2all-backend cp-kv-cache-interleave-size cudagraph-capture-sizes* data-parallel-external-lb!
  dcp-kv-cache-interleave-size disable-nccl-for-dp-synchronization! ec-transfer-config enable-mm-embeds! kv-cache-metrics!
  kv-cache-metrics-sample kv-offloading-backend kv-offloading-size mamba-block-size master-addr master-port max-cudagraph-capture-size
  mm-encoder-attn-backend nnodes node-rank optimization-level prefill-context-parallel-size reasoning-parser-plugin stream-interval
  tokens-only!
0.13-: attention-backend attention-config cudagraph-metrics! enable-layerwise-nvtx-tracing! profiler-config
0.14-: allow-deprecated-quantization! default-chat-template-kwargs enable-log-deltas! enable-logging-iteration-details!
  enable-mfu-metrics! enable-offline-docs! enable-return-routed-experts! enable-tower-connector-lora! ubatch-size
0.15-: disable-access-log-for-endpoints enable-flashinfer-autotune! kernel-config mamba-cache-mode mm-encoder-only!
  specialize-active-lora! ssl-ciphers weight-transfer-config
0.17-0.18: use-gpu-for-pooling-score!
0.17-: cpu-offload-params* enable-elastic-ep! fail-on-environ-validation! language-model-only! moe-backend offload-backend
  offload-group-size offload-num-in-group offload-params* offload-prefetch-step performance-mode
0.18-: dcp-comm-backend distributed-timeout-seconds enable-ep-weight-filter! gdn-prefill-backend grpc! shutdown-timeout
0.19-: kv-cache-dtype-skip-layers* lora-target-modules* mm-tensor-ipc reasoning-config renderer-num-workers scheduler-reserve-full-isl!
0.20-: cpu-distributed-timeout-seconds data-parallel-multi-port-external-lb! data-parallel-supervisor-port
  dp-supervisor-probe-failure-threshold dp-supervisor-probe-interval-s dp-supervisor-probe-timeout-s enable-cumem-allocator!
  enable-flash-late-interaction! enable-mamba-cache-stochastic-rounding! enable-mixed-moe-lora-format! fingerprint-mode
  fingerprint-value ir-op-priority linear-backend mamba-backend mamba-cache-philox-rounds mm-encoder-attn-dtype
  mm-encoder-fp8-scale-path mm-encoder-fp8-scale-save-margin mm-encoder-fp8-scale-save-path numa-bind! numa-bind-cpus* numa-bind-nodes*
  quantization-config safetensors-prefetch-block-size safetensors-prefetch-num-threads spec-method spec-model spec-tokens
  use-fp64-gumbel!
0.23-: device-ids diffusion-config jit-monitor-verbose! prefill-schedule-interval watermark
0.25-: enable-per-request-metrics! jit-monitor-mode mm-ipc-gpu-memory-gb model-class-overrides
0.26-0.31: enable-bf16x3-router-gemm!
0.26-: enable-moe-shared-loras! max-num-scheduled-tokens prefix-match-unit
0.27-: cohere-format cohere-is-reasoning-model! ec-manager-config enable-fault-tolerance! fault-tolerance-config kda-prefill-backend
  mamba-ssu-algorithm mm-device-do-normalize! mm-hasher-algorithm mm-processor-device replayssm-buffer-len return-sampling-mask!
  use-replayssm! video-pruning-method
0.29-: dcp-q-replicate! enable-batch-sharded-sampling! enable-trace-replay! max-num-queued-reqs max-num-queued-tokens
  per-request-spec-decode-metrics prefix-cache-retention-interval sse-keep-alive-interval
0.30-: anthropic-disabled-thinking-effort aux-output-config dp-sync-interval elastic-ep-max-dp-size
  enable-mamba-shared-prefix-checkpoint! enable-nccl-comm-suspend! enable-scale-out! engram-config kda-decode-backend log-level
  logging-config long-prefill-token-threshold-adaptive! max-lora-cls-labels max-num-active-seqs sleep-preserve-parameter-names*
  sparse-indexer-topk-backend swa-bounded-replay! tool-strict-level trust-request-mm-kwargs! watermark-config
0.32-: custom-histogram-buckets enable-hc-sp! enable-shm-tensor-arena! grpc-port monokernel! reasoning-effort-map sleep-mode-backend
  sleep-mode-offload-cudagraph! watchdog-config
"""


@cache
def known_flags() -> dict[str, Known]:
    """Every flag by its name without the dashes."""
    flags = {}
    since, until = "", ""
    for word in _TABLE.split():
        if word.endswith(":"):
            since, _, until = word[:-1].partition("-")
            continue
        name = word.rstrip("!*?")
        flags[name] = Known(name, _ARITY.get(word[-1], "one"), since, until or None)
    return flags
