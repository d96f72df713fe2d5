"""Every flag that some SGLang knows, in which versions, and how many words it takes.

Source: sglang srt/server_args.py and srt/arg_groups/fields of 0.4.3 to 0.5.23 (ten of the releases between; where a flag appears between
two of them, the later is taken).
"""

from functools import cache

from kvplan.core.flag_words import Known, table

# since-until: names; ! takes no value, * one or more, ? one or none
_TABLE = """
0.4-0.4.6: disable-jump-forward! disable-mla! file-storage-pth prefill-only-one-req return-hidden-states!
0.4-0.4.9: enable-flashinfer-mla!
0.4-0.5.6: enable-ep-moe!
0.4-0.5.13: ds-channel-config-path ds-heavy-channel-num ds-heavy-channel-type ds-heavy-token-num ds-sparse-decode-threshold
  enable-double-sparsity! enable-nan-detection!
0.4-0.5.18: torchao-config
0.4-0.5.23: cuda-graph-bs* cuda-graph-max-bs stream-output!
0.4-: allow-auto-truncate! api-key attention-backend base-gpu-id chat-template chunked-prefill-size constrained-json-whitespace-pattern
  context-length cpu-offload-gb data-parallel-size decode-log-interval delete-ckpt-after-loading! device disable-cuda-graph!
  disable-cuda-graph-padding! disable-custom-all-reduce! disable-outlines-disk-cache! disable-overlap-schedule! disable-radix-cache!
  dist-init-addr download-dir dp-size dtype enable-cache-report! enable-custom-logit-processor! enable-dp-attention!
  enable-hierarchical-cache! enable-memory-saver! enable-metrics! enable-mixed-chunk! enable-nccl-nvls! enable-p2p-check!
  enable-torch-compile! ep-size expert-parallel-size grammar-backend host is-embedding! json-model-override-args kv-cache-dtype
  load-balance-method load-format log-level log-level-http log-requests! lora-backend lora-paths* max-loras-per-batch max-prefill-tokens
  max-running-requests max-total-tokens mem-fraction-static model-path nccl-init-addr nnodes node-rank num-continuous-decode-steps port
  quantization quantization-param-path random-seed revision sampling-backend schedule-conservativeness schedule-policy served-model-name
  show-time-cost! skip-tokenizer-init! speculative-algorithm speculative-draft-model-path speculative-eagle-topk
  speculative-num-draft-tokens speculative-num-steps stream-interval tensor-parallel-size tokenizer-mode tokenizer-path tool-call-parser
  torch-compile-max-bs tp-size triton-attention-num-kv-splits triton-attention-reduce-in-fp32! trust-remote-code! watchdog-timeout
0.4.6-0.4.9: enable-flashmla! n-share-experts-fusion
0.4.6-0.5.3: max-micro-batch-size pdlb-url
0.4.6-0.5.6: enable-deepep-moe!
0.4.6-0.5.18: debug-tensor-dump-inject
0.4.6-0.5.23: collect-tokens-histogram! enable-expert-distribution-metrics!
0.4.6-: bucket-e2e-request-latency* bucket-inter-token-latency* bucket-time-to-first-token* completion-template
  debug-tensor-dump-input-file debug-tensor-dump-output-folder deepep-config deepep-mode disable-chunked-prefix-cache!
  disable-fast-image-processor! disaggregation-bootstrap-port disaggregation-ib-device disaggregation-mode
  disaggregation-transfer-backend dist-timeout enable-dp-lm-head! enable-eplb! enable-multimodal? enable-request-time-stats-logging!
  enable-tokenizer-batch-encode! ep-dispatch-algorithm ep-num-redundant-experts eplb-rebalance-num-iterations
  expert-distribution-recorder-buffer-size expert-distribution-recorder-mode file-storage-path flashinfer-mla-disable-ragged!
  gpu-id-step hicache-ratio hicache-size hicache-write-policy init-expert-location kv-events-config log-requests-level
  mm-attention-backend moe-dense-tp-size page-size pipeline-parallel-size pp-size preferred-sampling-params reasoning-parser
  speculative-accept-threshold-acc speculative-accept-threshold-single speculative-token-map warmups
0.4.9-0.5.3: debug-tensor-dump-prefill-only!
0.4.9-0.5.6: enable-flashinfer-cutlass-moe! enable-flashinfer-trtllm-moe! enable-triton-kernel-moe!
0.4.9-0.5.13: disaggregation-decode-dp disaggregation-decode-tp disaggregation-prefill-pp
0.4.9-0.5.18: hybrid-kvcache-ratio!
0.4.9-: crash-dump-folder custom-weight-loader* decode-attention-backend disable-hybrid-swa-memory! disable-shared-experts-fusion!
  enable-flashinfer-allreduce-fusion! enable-lora? enable-metrics-for-all-schedulers! enable-mscclpp! enable-pdmux!
  enable-profile-cuda-graph! enable-return-hidden-states! enable-two-batch-overlap! eplb-algorithm eplb-rebalance-layers-per-chunk
  hicache-io-backend hicache-storage-backend lora-target-modules* max-lora-rank max-queued-requests model model-impl
  model-loader-extra-config nccl-port num-reserved-decode-tokens prefill-attention-backend skip-server-warmup! sleep-on-idle!
  sm-group-num swa-full-tokens-ratio weight-loader-disable-mmap!
0.5.1-0.5.6: enable-flashinfer-mxfp4-moe!
0.5.1-: disable-flashinfer-cutlass-moe-fp4-allgather! enable-cudagraph-gc! enable-symm-mem! ep flashinfer-mxfp4-moe-precision
  gc-warning-threshold-secs hicache-mem-layout hicache-storage-prefetch-policy max-loaded-loras moe-a2a-backend moe-runner-backend
  offload-group-size offload-mode offload-num-in-group offload-prefetch-step scheduler-recv-interval tbo-token-distribution-threshold
  tool-server weight-version
0.5.3-0.5.6: crash-on-nan enable-beta-spec! enable-flashinfer-cutedsl-moe! nsa-decode nsa-prefill oltp-traces-endpoint
0.5.3-0.5.9: load-watch-interval
0.5.3-0.5.13: multi-item-scoring-delimiter speculative-ngram-branch-length speculative-ngram-max-match-window-size
  speculative-ngram-min-match-window-size
0.5.3-0.5.18: enable-piecewise-cuda-graph!
0.5.3-0.5.23: keep-mm-feature-on-device! piecewise-cuda-graph-max-tokens piecewise-cuda-graph-tokens* prefill-round-robin-balance!
0.5.3-: config constrained-json-disable-any-whitespace! disaggregation-decode-enable-offload-kvcache!
  disaggregation-decode-polling-interval dynamic-batch-tokenizer-batch-size dynamic-batch-tokenizer-batch-timeout elastic-ep-backend
  enable-deterministic-inference! enable-dynamic-batch-tokenizer! enable-fp32-lm-head! enable-lmcache! enable-priority-scheduling!
  enable-single-batch-overlap! enable-torch-symm-mem! enable-trace! enable-weights-cpu-backup!
  eplb-min-rebalancing-utilization-threshold generation-tokens-buckets* grpc-mode! hicache-storage-backend-extra-config
  lora-eviction-policy mamba-full-memory-ratio mamba-ssm-dtype max-lora-chunk-size max-mamba-cache-size modelopt-checkpoint-restore-path
  modelopt-checkpoint-save-path modelopt-quant mooncake-ib-device numa-node* pdmux-config-path pp-max-micro-batch-size
  priority-scheduling-preemption-threshold prompt-tokens-buckets* radix-eviction-policy remote-instance-weight-loader-seed-instance-ip
  remote-instance-weight-loader-seed-instance-service-port remote-instance-weight-loader-send-weights-group-ports* sampling-defaults
  schedule-low-priority-values-first! speculative-attention-mode speculative-draft-load-format speculative-draft-model
  speculative-draft-model-revision speculative-ngram-capacity speculative-ngram-match-type speculative-ngram-max-bfs-breadth
  speculative-ngram-min-bfs-breadth tokenizer-metrics-allowed-custom-labels* tokenizer-metrics-custom-labels-header tokenizer-worker-num
  triton-attention-split-tile-size
0.5.6-0.5.9: enable-flashinfer-autotune!
0.5.6-0.5.13: mm-max-concurrent-calls mm-per-request-timeout
0.5.6-0.5.23: enable-nsa-prefill-context-parallel! nsa-decode-backend nsa-prefill-backend piecewise-cuda-graph-compiler
0.5.6-: abort-on-priority-when-disabled! checkpoint-engine-wait-weights-before-ready! debug-tensor-dump-layers* decrypted-config-file
  decrypted-draft-config-file disable-tokenizer-batch-decode! dllm-algorithm dllm-algorithm-config enable-attn-tp-input-scattered!
  enable-broadcast-mm-inputs-process! enable-draft-weights-cpu-backup! enable-fused-qk-norm-rope! enable-layerwise-nvtx-marker!
  enable-torch-compile-debug-mode! export-metrics-to-file! export-metrics-to-file-dir fastapi-root-path forward-hooks* fp8-gemm-backend
  kt-cpuinfer kt-max-deferred-experts-per-token kt-method kt-num-gpu-experts kt-threadpool-count kt-weight-path mm-enable-dp-encoder!
  mm-process-config modelopt-export-path otlp-traces-endpoint quantize-and-serve! rl-on-policy-target rl-quant-profile
  speculative-moe-a2a-backend speculative-moe-runner-backend
0.5.9-0.5.13: disable-hicache-numa-detect!
0.5.9-0.5.23: custom-sigquit-handler mamba-scheduler-strategy nsa-prefill-cp-mode
0.5.9-: admin-api-key attention-context-parallel-size attn-cp-size disable-flashinfer-autotune! enable-dynamic-chunking!
  enable-lora-overlap-loading? enable-multi-layer-eagle! enable-precise-embedding-interpolation! enable-prefill-delayer!
  enable-prefix-mm-cache! enable-return-routed-experts! encoder-only! encoder-transfer-backend encoder-urls* extra-metric-labels
  fp4-gemm-backend hf-chat-template-name hierarchical-sparse-attention-extra-config language-only! limit-mm-data-per-request
  log-requests-format log-requests-target* mamba-backend mamba-track-interval model-checksum? moe-data-parallel-size moe-dp-size
  pp-async-batch-depth prefill-delayer-forward-passes-buckets* prefill-delayer-max-delay-passes
  prefill-delayer-token-usage-low-watermark prefill-delayer-wait-seconds-buckets* prefill-max-requests
  remote-instance-weight-loader-backend remote-instance-weight-loader-start-seed-via-transfer-engine! soft-watchdog-timeout
  speculative-draft-attention-backend speculative-draft-model-quantization uvicorn-access-log-exclude-prefixes*
0.5.13-0.5.18: enable-deepep-waterfill! optimistic-prefill-retries
0.5.13-0.5.23: disable-piecewise-cuda-graph dsa-prefill-cp-mode elastic-ep-rejoin! enable-breakable-cuda-graph
  enable-dsa-prefill-context-parallel! enable-prefill-context-parallel! enforce-piecewise-cuda-graph prefill-cp-mode
  speculative-dflash-draft-window-size speculative-skip-dp-mlp-sync!
0.5.13-: asr-max-buffer-seconds asr-max-concurrent-sessions batch-notify-size debug-cuda-graph! deepep-dispatcher-output-dtype
  default-priority-value detokenizer-worker-num disable-attn-tp-gather! disable-priority-preemption!
  disaggregation-decode-enable-radix-cache! dsa-decode-backend dsa-prefill-backend dsa-topk-backend enable-adaptive-dispatch-to-encoder!
  enable-aiter-allreduce-fusion! enable-deepseek-v4-fp4-indexer! enable-dp-attention-local-control-broadcast!
  enable-elastic-expert-backup! enable-forward-pass-metrics! enable-fused-moe-sum-all-reduce! enable-hisparse! enable-http2!
  enable-mfu-metrics! enable-mis! enable-mm-global-cache! enable-quant-communications? enable-return-indexer-topk! enable-ssl-refresh!
  enable-streaming-session! enable-strict-thinking! encoder-bootstrap-port encoder-register-urls*
  enforce-disable-flashinfer-allreduce-fusion! enforce-shared-experts-fusion! engine-info-bootstrap-port experts-shared-outer-loras!
  forward-pass-metrics-ipc-name forward-pass-metrics-worker-id gc-threshold* grpc-http-sidecar-port hisparse-config
  incremental-streaming-output! kv-canary kv-canary-real-data kv-canary-sweep-interval linear-attn-backend linear-attn-decode-backend
  linear-attn-prefill-backend lmcache-config-file load-snapshot-publish-interval lora-drain-wait-threshold lora-strict-loading!
  lora-use-virtual-experts! model-config-parser modelexpress-config msprobe-dump-config pre-warm-nccl! prefill-delayer-max-delay-ms
  prefill-delayer-queue-min-ratio prefill-only-disable-kv-cache! radix-cache-backend speculative-adaptive! speculative-adaptive-config
  speculative-dflash-block-size speculative-draft-window-size speculative-ngram-external-corpus-max-tokens
  speculative-ngram-external-corpus-path speculative-ngram-external-sam-budget speculative-ngram-max-trie-depth ssl-ca-certs
  ssl-certfile ssl-keyfile ssl-keyfile-password stream-response-default-include-usage! strip-thinking-cache! tokenizer-backend
  trace-modules use-ray! weight-loader-drop-cache-after-load! weight-loader-prefetch-checkpoints! weight-loader-prefetch-num-threads
0.5.18-0.5.23: cuda-graph-tc-compiler enable-gdn-replayssm-spec! stat-loggers
0.5.18-: allowed-media-domains* bf16-gemm-backend c128-page-size cp-strategy cuda-graph-backend-decode cuda-graph-backend-prefill
  cuda-graph-bs-decode* cuda-graph-bs-prefill* cuda-graph-config cuda-graph-max-bs-decode cuda-graph-max-bs-prefill dcp-comm-backend
  dcp-replicate-q-proj! dcp-size decode-context-parallel-size decoupled-spec-bind-endpoint decoupled-spec-connect-endpoints*
  decoupled-spec-rank decoupled-spec-role default-chat-template-kwargs disable-decode-cuda-graph! disable-prefill-cuda-graph!
  disaggregation-decode-extra-slots disaggregation-decode-retraction-backup dllm-fdfo! dsa-paged-mqa-logits-backend dwdp-size
  elastic-ep-initial-size elastic-ep-join-mode elastic-ep-join-rank-offset elastic-ep-scale-timeout enable-cp-decode-attn-tp!
  enable-dsa-cache-layer-split! enable-flexkv! enable-int8-mamba-checkpoint! enable-linear-replayssm! enable-linear-replayssm-spec!
  enable-mamba-cache-stochastic-rounding! enable-page-major-kv-layout! enable-prefill-cp! enable-scattered-sconv!
  enable-session-radix-cache! enable-tf32-matmul! enable-tp-lm-head-all-to-all! enable-unified-memory! enable-waterfill!
  expert-balancedness-report-mode flashinfer-allreduce-fusion-backend flashinfer-autotune-skip-ops* flexkv-config-file fuseep-mode
  grpc-port http2-max-concurrent-streams image-processor-backend int8-mamba-ckpt-size language-model-only! linear-attn-verify-backend
  linear-replayssm-cache-len mamba-cache-philox-rounds mamba-max-states-per-path mamba-radix-cache-strategy max-ep-size
  media-url-max-file-size-mb min-free-slots-delay mlx-enable-sampling! mm-feature-transport mm-global-cache-backend mm-io-worker-num
  mm-preprocess-cache-size-mb mm-processor-worker-num optimistic-prefill-attempts retraction-policy return-hidden-states-mode sidecar
  sidecar-args* smg-grpc-mode! smg-http-sidecar-port spec-trace-dir speculative-draft-kv-cache-dtype
  speculative-dspark-align-verify-tokens-to-graph-tier! speculative-dspark-block-size speculative-dspark-confidence-sts-path
  speculative-dspark-sps-table-path speculative-use-rejection-sampling! startup-weight-load-mode trust-mm-content-hashes!
  weight-cache-mode weight-cache-socket weight-cache-timeout
0.5.23-: attention-data-parallel-size attn-dp-size boundary-reduction constrained-json-max-whitespace-cnt context-bucket
  cuda-graph-max-seq-len-prefill cuda-graph-prefill-max-context deepep-v2-mode disable-aiter-allreduce-fusion-in-decode!
  disable-aiter-allreduce-fusion-in-prefill! disaggregation-decode-allocation-policy disaggregation-decode-host-receive-threshold
  disaggregation-enable-kv-checksum! dsa-triton-union dsv4-attn-backend dsv4-prefill-backend enable-amd-monokernel!
  enable-decoder-swa-bounded-replay! enable-dense-mlp-attn-tp! enable-dsa-fused-indexer! enable-encoder-swa-bounded-replay!
  enable-hicache! enable-http-worker-reuseport! enable-kv-cache-sharding! enable-layernorm-sp! enable-lean-attention?
  enable-linker-mla-dedup! enable-megamoe-for-layernorm-sp! enable-nvidia-megakernel! enable-paged-experts! enable-pd-role-switch!
  enable-response-store! enable-return-aux-hidden-states! enable-shared-experts-attn-tp! enable-unified-cache-external-linker!
  enable-w4a4-mxfp4-megamoe! enable-watermark! flashinfer-a2a-dispatch-type gated-launch-port grpc-response-timeout-secs
  hicache-host-memory-fraction hicache-host-memory-mode hicache-storage-prefetch-retry-max-attempts
  hicache-storage-prefetch-retry-poll-interval http2-initial-connection-window-size load-publish-endpoint monokernel-backend*
  otlp-service-name paged-experts-num-resident ple-offload-backend ple-offload-dir ple-offload-embedding! prefill-decode-interval
  prefill-decode-interval-min-bs prefill-kv-cache-dequant-dtype qsa-indexer-dtype radix-eviction-policy-config
  return-aux-hidden-state-layer-ids* return-input-ids! return-output-ids! sampling-mask-max-tokens shared-experts-tp-size
  speculative-domino-candidate-pool-size speculative-draft-sink-size speculative-dsa-topk-backend speculative-enable-w4a4-mxfp4-megamoe!
  speculative-use-block-verification! swa-prefix-tails trust-request-chat-template! unified-cache-external-linker-backend
  unified-cache-external-linker-config uno-lora-path watermark-config
"""


@cache
def known_flags() -> dict[str, Known]:
    """Every flag by its name without the dashes."""
    return table(_TABLE)
