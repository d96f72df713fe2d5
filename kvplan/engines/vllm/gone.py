"""Classes of models that vLLM once had."""

from functools import cache

from kvplan.engines.vllm.versions import release

_TABLE = """
    0.9.2: Phi3SmallForCausalLM
    0.10.2: DonutForConditionalGeneration MllamaForConditionalGeneration MotifForCausalLM Phi4FlashForCausalLM
    0.12.0: Phi4MultimodalForCausalLM
    0.22.0: JAISLMHeadModel
    0.23.0: BaiChuanForCausalLM BaichuanForCausalLM BambaForCausalLM Dots1ForCausalLM ErnieForSequenceClassification
      ErnieForTokenClassification ErnieModel InternLM2VEForCausalLM InternLMForCausalLM MiniMaxForCausalLM
      MiniMaxM1ForCausalLM MiniMaxText01ForCausalLM MiniMaxVL01ForConditionalGeneration QWenLMHeadModel
      QwenVLForConditionalGeneration Tarsier2ForConditionalGeneration XverseForCausalLM
    0.24.0: AquilaForCausalLM AquilaModel AyaVisionForConditionalGeneration Grok1ForCausalLM Grok1ModelForCausalLM
      MantisForConditionalGeneration MusicFlamingoForConditionalGeneration TarsierForConditionalGeneration
    0.25.0: FuyuForCausalLM PersimmonForCausalLM TeleChatForCausalLM
    0.26.0: OuroForCausalLM Plamo2ForCausalLM
    0.28.0: ArcticForCausalLM ChameleonForConditionalGeneration Cheers CheersForConditionalGeneration
      Fairseq2LlamaForCausalLM FireRedLIDForConditionalGeneration GritLM HCXVisionForCausalLM MPTForCausalLM
      MptForCausalLM PrithviGeoSpatialMAE RWForCausalLM StableLMEpochForCausalLM
"""
# Source: vllm 0.33 model_executor/models/registry.py, _PREVIOUSLY_SUPPORTED_MODELS


def last_version(architecture: str, version: str) -> str | None:
    """The last version that had this class, None where ``version`` still has it or none ever did."""
    last = _last().get(architecture)
    return last if last is not None and release(version)[:2] > release(last)[:2] else None


@cache
def _last() -> dict[str, str]:
    found, version = {}, ""
    for word in _TABLE.split():
        if word.endswith(":"):
            version = word[:-1]
        else:
            found[word] = version
    return found
