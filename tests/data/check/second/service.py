import os

import bentoml

MODEL = "Qwen/Qwen2.5-7B-Instruct"
ARGS = dict(max_model_len=4 * 1024, enable_prefix_caching=True)


@bentoml.service(resources={"gpu": 1, "gpu_type": "nvidia-l4", "memory": "24Gi"})
class Chat:
    def __init__(self) -> None:
        from vllm import AsyncEngineArgs, AsyncLLMEngine

        args = AsyncEngineArgs(model=MODEL, max_num_seqs=int(os.getenv("SEQS", "12")), **ARGS)
        self.engine = AsyncLLMEngine.from_engine_args(args)
