"""The lines of the ledger for what a rank of a server holds beside its pool."""

from typing import NamedTuple

from kvplan.core import rank_costs
from kvplan.core.ledger import Entry, Interval
from kvplan.core.model import ModelSpec
from kvplan.core.rank_costs import Ways

_SOURCE = "public logs named in kvplan/core/rank_costs.py"


class Pass(NamedTuple):
    """The largest pass that the server makes: its tokens, the rows that are sampled, how many batch sizes are captured as graphs."""

    n_tokens: int
    n_rows: int
    n_graphs: int


def beside(model: ModelSpec, dtype: str, ways: Ways, largest: Pass, loaded: Interval) -> tuple[Entry, ...]:
    """Weights, the largest pass, graphs, CUDA's context: without a place."""
    n_ranks = ways.tp * ways.pp
    params: dict[str, int | str] = {"n_params": model.n_params, "dtype": ways.on_load or dtype, "tp": ways.tp, "pp": ways.pp}
    tokens: dict[str, int | str] = {"tokens": largest.n_tokens, "rows": largest.n_rows}
    sizes: dict[str, int | str] = {"n": largest.n_graphs}
    ranks: dict[str, int | str] = {"n": n_ranks}
    moment = rank_costs.forward(model, dtype, ways.tp, largest.n_tokens, largest.n_rows)
    found = (
        Entry("weights", "weights", "", loaded, "modeled", "{n_params} parameters in {dtype} over tp {tp} and pp {pp}", params, _SOURCE),
        Entry("activations", "largest pass", "", moment, "modeled", "{tokens} tokens in a layer, {rows} rows of logits", tokens, _SOURCE),
        Entry("graphs", "CUDA graphs", "", rank_costs.graphs(largest.n_graphs), "modeled", "{n} captured sizes", sizes, _SOURCE),
        Entry("runtime_context", "CUDA context", "", rank_costs.context(n_ranks), "modeled", "CUDA, and NCCL of {n} ranks", ranks, _SOURCE),
    )
    return tuple(entry for entry in found if entry.size.high)


def weights_of(entries: tuple[Entry, ...]) -> Interval:
    """The weights among the entries of a rank, which stand first."""
    return entries[0].size
