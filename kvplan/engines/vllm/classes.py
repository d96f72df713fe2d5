"""What vLLM's model classes do that no config says, by the class's name in its registry.

Read from vllm 0.33 model_executor/models: which classes build ParallelLMHead or VocabParallelEmbedding whatever the stage's
rank, which lack SupportsPP, which pass float32 to get_rope.
"""


def _named(names: str) -> frozenset[str]:
    return frozenset(names.split())


HEAD_EVERYWHERE = _named(
    """
    AliceAIForCausalLM AriaForConditionalGeneration BloomForCausalLM CohereAsrForConditionalGeneration DbrxForCausalLM
    DoryForCausalLM FalconForCausalLM FalconMambaForCausalLM FunASRForConditionalGeneration GPT2LMHeadModel GPTJForCausalLM
    Gemma3ForCausalLM Gemma4ForCausalLM GemmaForCausalLM GptOssForCausalLM GraniteMoeForCausalLM GraniteMoeHybridForCausalLM
    GraniteMoeSWAForCausalLM GraniteMoeSharedForCausalLM HYV3ForCausalLM HrmTextForCausalLM IQuestLoopCoderForCausalLM
    Idefics3ForConditionalGeneration InternLM2ForCausalLM JambaForCausalLM K2HorizonForCausalLM Mamba2ForCausalLM
    MambaForCausalLM MiniCPM3ForCausalLM MiniCPMForCausalLM MixtralForCausalLM Molmo2ForConditionalGeneration
    MolmoForCausalLM Moondream3ForCausalLM MuseGlimmerForCausalLM MuseGlimmerForConditionalGeneration NemotronHForCausalLM
    NemotronHPuzzleForCausalLM NemotronParseForConditionalGeneration OPTForCausalLM OlmoHybridForCausalLM OlmoeForCausalLM
    OrionForCausalLM Phi4MMForCausalLM PhiMoEForCausalLM Plamo3ForCausalLM Qwen2MoeForCausalLM Qwen3MoeForCausalLM
    Qwen3NextForCausalLM RadioMBartPrefixForCausalLM Rnj1ForCausalLM SmolVLMForConditionalGeneration StableLmForCausalLM
    WhisperForConditionalGeneration Zamba2ForCausalLM
    """
)
"""Untied output projections on every pipeline stage, where only the last one needs it."""

EMBEDDING_EVERYWHERE = _named(
    """
    AliceAIForCausalLM BloomForCausalLM ChatGLMForConditionalGeneration Cohere2ForCausalLM Cohere2MoeForCausalLM
    CohereCompassForConditionalGeneration CohereForCausalLM DbrxForCausalLM DoryForCausalLM FalconForCausalLM
    FalconMambaForCausalLM GPT2LMHeadModel GPTJForCausalLM Gemma2ForCausalLM Gemma3ForCausalLM Gemma3nForCausalLM
    Gemma3nForConditionalGeneration Gemma4ForCausalLM GemmaForCausalLM GptOssForCausalLM GraniteMoeForCausalLM
    GraniteMoeHybridForCausalLM GraniteMoeSWAForCausalLM GraniteMoeSharedForCausalLM HYV3ForCausalLM HrmTextForCausalLM
    IQuestLoopCoderForCausalLM InternLM2ForCausalLM InternS2MobiusForConditionalGeneration JambaForCausalLM
    K2HorizonForCausalLM Lfm2ForCausalLM Lfm2MoeForCausalLM LongcatFlashNgramForCausalLM Mamba2ForCausalLM MambaForCausalLM
    MiniCPMForCausalLM MixtralForCausalLM Molmo2ForConditionalGeneration MolmoForCausalLM Moondream3ForCausalLM
    MuseGlimmerForCausalLM MuseGlimmerForConditionalGeneration NemotronHForCausalLM NemotronHPuzzleForCausalLM
    OPTForCausalLM OlmoHybridForCausalLM OlmoeForCausalLM OrionForCausalLM Phi3VForCausalLM PhiMoEForCausalLM
    Plamo3ForCausalLM Qwen2MoeForCausalLM Qwen3MoeForCausalLM Qwen3NextForCausalLM Qwen3_5ForCausalLM
    Qwen3_5ForConditionalGeneration Qwen3_5MoeForCausalLM Qwen3_5MoeForConditionalGeneration Rnj1ForCausalLM
    StableLmForCausalLM Zamba2ForCausalLM
    """
)
"""Token embeddings on every stage, where only the first one needs them."""

WITHOUT_PIPELINE = _named(
    """
    AliceAIForCausalLM AriaForConditionalGeneration CohereAsrForConditionalGeneration DomynEdgeForCausalLM DoryForCausalLM
    FireRedASR2ForConditionalGeneration FunASRForConditionalGeneration Gemma3nForCausalLM Gemma3nForConditionalGeneration
    HrmTextForCausalLM IQuestLoopCoderForCausalLM Idefics3ForConditionalGeneration Mamba2ForCausalLM
    NemotronParseForConditionalGeneration PaddleOCRVLForConditionalGeneration Phi4MMForCausalLM RadioMBartPrefixForCausalLM
    SmolVLMForConditionalGeneration WhisperForConditionalGeneration Zamba2ForCausalLM
    """
)
"""No pipeline parallelism."""

ROPE_FLOAT32 = _named("GptOssForCausalLM HYV3ForCausalLM")
"""Tables of cos and sin in float32 whatever the model's type."""

CACHE_AS_MODEL = _named("FalconForCausalLM")
"""Attention that is never told of the cache's settings: its keys and values keep the model's type."""

FIRST_NEXT_LAYER = _named("LongcatFlashForCausalLM MiMoV2FlashForCausalLM MiMoV2ForCausalLM MiMoV2OmniForCausalLM")
"""Of several next-token layers only the first is built. Source: vllm 0.33 models/mimo_v2_mtp.py, longcat_flash_mtp.py."""

FP8_ON_BLACKWELL = _named("Glm5NextForCausalLM Glm5NextForConditionalGeneration GlmMoeDsaForCausalLM")
"""Sparse latents kept in fp8 on data-center Blackwell. Source: vllm 0.33 model_executor/models/config.py; one of them since 0.29."""

MANY_GRAPHS = _named("GptOssForCausalLM")
"""Graphs of batches up to 1024. Source: vllm 0.33 model_executor/models/config.py, GptOssForCausalLMConfig; since 0.11."""
