"""A model as memory sees it: layers that mix tokens, and weight groups that sum to its parameters."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from kvplan.core.checkpoint import Checkpoint
from kvplan.core.dtypes import DTYPES
from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import Mixer
from kvplan.core.roles import Role
from kvplan.core.rope import RopeScaling

_LINEAR: tuple[Role, ...] = ("attention", "mlp", "expert", "shared_expert", "mixer")
_NARROW = 16  # convolutions have as many columns as taps, which is never more

Shard = Literal["replicated", "column", "row", "kv", "vocab", "expert"]


class WeightGroup(NamedTuple):
    """``n_copies`` equal tensors of ``rows`` × ``cols`` elements (a bias or a norm has one column).

    ``dtype`` is how they are stored where that differs from the model's own; ``run_dtype`` is how the modeling code keeps them once loaded,
    where that differs again (routers in bfloat16 that run in float32). ``shard`` is what tensor parallelism splits: output features
    (column), input features (row), KV heads, the vocabulary, whole experts, or nothing. ``tied_to`` names the group whose memory it
    shares; a tied group holds no bytes and no parameters of its own.
    """

    name: str
    role: Role
    rows: int
    cols: int = 1
    n_copies: int = 1
    dtype: str | None = None
    shard: Shard = "replicated"
    tied_to: str | None = None
    run_dtype: str | None = None

    @property
    def n_params(self) -> int:
        """Distinct parameters in the group."""
        return 0 if self.tied_to or self.role == "scale" else self.rows * self.cols * self.n_copies

    @property
    def is_linear(self) -> bool:
        """Whether it is the matrix of a linear layer inside a decoder layer, which engines quantize while they load."""
        return self.role in _LINEAR and self.cols > _NARROW and self.tied_to is None

    def n_bytes(self, model_dtype: str) -> int:
        """Bytes as stored, each row in whole blocks of its element type."""
        return self._bytes(self.dtype or model_dtype)

    def run_bytes(self, model_dtype: str) -> int:
        """Bytes once loaded."""
        return self._bytes(self.run_dtype or self.dtype or model_dtype)

    def _bytes(self, dtype: str) -> int:
        return 0 if self.tied_to else self.n_copies * self.rows * DTYPES[dtype].row_bytes(self.cols)


class DenseFfn(NamedTuple):
    """A feed-forward block: two projections, or three when it is gated (SwiGLU and its kin)."""

    intermediate: int
    gated: bool = True
    kind: Literal["dense"] = "dense"


class MoeFfn(NamedTuple):
    """Experts of which each token visits ``n_active``; ``shared_intermediate`` is the width all tokens visit, 0 for none."""

    n_experts: int
    n_active: int
    intermediate: int
    shared_intermediate: int = 0
    gated: bool = True
    kind: Literal["moe"] = "moe"


Ffn = DenseFfn | MoeFfn


class Layer(NamedTuple):
    """One decoder layer: what it mixes tokens with, its feed-forward blocks, its weights.

    ``kv_source`` is the index of the layer whose keys and values it reads instead of keeping its own (Gemma-3n).
    """

    mixers: tuple[Mixer, ...]
    ffns: tuple[Ffn, ...]
    weights: tuple[WeightGroup, ...]
    kv_source: int | None = None


class LayerRun(NamedTuple):
    """``n_layers`` consecutive equal layers."""

    n_layers: int
    layer: Layer


class Caveat(NamedTuple):
    """Something that the loader must tell the user: an error it can't be, silence would be wrong."""

    rule: str
    level: Literal["warning", "note"]
    message: str
    hint: str = ""


class ModelSpec(NamedTuple):
    """Everything an estimate needs to know of a model.

    ``weights`` are the groups outside the layers. ``mtp`` are next-token-prediction layers, apart because the plain model neither runs nor
    counts them. ``stored_dtype`` is the element type of every group that names no other. ``max_ctx_tokens`` is the position limit, None
    where the architecture has none. ``use_cache_off_in`` names the file that turns the cache off, if one does. ``exact`` is False where the
    architecture was only recognized by its likeness or the bytes of a quantized checkpoint are arithmetic; then they may be off by
    ``off_by`` hundredths below and above. ``checkpoint`` is what the headers of its files say, where they were read. ``kv_dtype`` is the
    type in which a quantized checkpoint asks for its cache (``fp8``). ``rope`` are the ways its positions are stretched, empty where none
    is. ``draft`` is the model that drafts for it. ``source``, ``revision`` and ``as_of`` say where the facts come from.
    """

    architecture: str
    model_type: str
    hidden_size: int
    vocab_size: int
    runs: tuple[LayerRun, ...]
    weights: tuple[WeightGroup, ...]
    stored_dtype: str
    max_ctx_tokens: int | None
    form: ActivationForm
    mtp: tuple[LayerRun, ...] = ()
    use_cache_off_in: str | None = None
    quantization: str | None = None
    exact: bool = True
    off_by: tuple[int, int] = (5, 5)
    caveats: tuple[Caveat, ...] = ()
    checkpoint: Checkpoint | None = None
    kv_dtype: str | None = None
    rope: tuple[RopeScaling, ...] = ()
    draft: "ModelSpec | None" = None
    id: str = ""
    source: str = "config"
    revision: str | None = None
    as_of: str | None = None

    @property
    def n_layers(self) -> int:
        """Decoder layers, next-token-prediction layers not counted."""
        return sum(run.n_layers for run in self.runs)

    @property
    def reach_tokens(self) -> int | None:
        """The position limit, or what stretched positions reach where that is further."""
        reached = [int(rope.original_ctx_tokens * rope.factor) for rope in self.rope if rope.original_ctx_tokens]
        return None if self.max_ctx_tokens is None else max((self.max_ctx_tokens, *reached))

    @property
    def n_params(self) -> int:
        """Distinct parameters: tied embeddings once, no next-token-prediction layers but in GGUF files, no buffers."""
        return sum(group.n_params for group in self.groups())

    @property
    def n_active_params(self) -> int:
        """Parameters that one token touches: of the routed experts only n_active of n_experts."""
        return self.n_params - sum(self.idle().values())

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights as stored, by arithmetic over the groups; what ``checkpoint`` says may differ."""
        return sum(group.n_bytes(self.stored_dtype) for group in self.groups())

    @property
    def mtp_bytes(self) -> int:
        """Bytes of the next-token-prediction layers as stored, by arithmetic."""
        return sum(run.n_layers * group.n_bytes(self.stored_dtype) for run in self.mtp for group in run.layer.weights)

    def groups(self) -> Iterator[WeightGroup]:
        """Every weight group, those of a run of layers once with all their copies."""
        yield from self.weights
        for run in self.runs:
            for group in run.layer.weights:
                yield group._replace(n_copies=group.n_copies * run.n_layers)

    def idle(self) -> dict[Role, int]:
        """Parameters that one token does not touch: experts that it is not sent to, next-token layers."""
        mixtures = (run for run in self.runs if any(ffn.kind == "moe" for ffn in run.layer.ffns))
        experts = sum(run.n_layers * _idle_params(run.layer) for run in mixtures)
        return {"expert": experts, "next_token": sum(group.n_params for group in self.weights if group.role == "next_token")}

    def layers(self) -> Iterator[Layer]:
        """Each decoder layer in order."""
        for run in self.runs:
            yield from (run.layer,) * run.n_layers


def _idle_params(layer: Layer) -> int:
    """Expert parameters of one layer that a token does not touch."""
    moe = next(ffn for ffn in layer.ffns if ffn.kind == "moe")
    experts = sum(group.n_params for group in layer.weights if group.role == "expert")
    return experts * (moe.n_experts - moe.n_active) // moe.n_experts
