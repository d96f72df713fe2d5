"""Moments of mixers that keep a state, in both kinds of pass."""

from kvplan.core.forms import StateMoments
from kvplan.engines.transformers.kernels import Moment
from kvplan.engines.transformers.lines import Chunks
from kvplan.engines.transformers.plan import Kind, Plan
from kvplan.engines.transformers.widths import rate


def _states(plan: Plan, kind: Kind) -> list[StateMoments]:
    kinds = {mixer.kind for mixer in kind.layer.mixers}
    return [state for state in plan.form.states if state.kind in kinds]


def scans(plan: Plan, kind: Kind) -> list[tuple[Moment, int, Chunks]]:
    """Moments of mixers with a state while they read the prompt, their bytes per sequence, and their chunks.

    Source: transformers 5.24 models/qwen3_next/modeling_qwen3_next.py, apply_mask_to_padding_states.
    """
    moments = []
    for state in _states(plan, kind):
        n = state.chunk_tokens
        for scan in state.scans:
            beside = (state.masked if plan.settings.padding == "left" else "", state.eager if plan.settings.attn == "eager" else "")
            scan = scan._replace(token=" + ".join(filter(None, (scan.token, *beside))))
            alive, *rest = [rate(text, kind.widths, plan.elem_bytes) for text in scan]
            chunked, chunk, row, copied, ordered = [found.token for found in rest]
            what, row = " + ".join(filter(None, (*scan[:2], *scan[4:]))), row - kind.store.state_bytes  # its own state is made at the end
            moments.append((Moment(*alive, what=what), row, Chunks(n, chunked * n + chunk, copied * n, ordered * n)))
    return moments


def steps(plan: Plan, kind: Kind) -> list[Moment]:
    """Moments of mixers with a state while they make one step."""
    return [Moment(rate(state.step, kind.widths, plan.elem_bytes).token, what=state.step) for state in _states(plan, kind)]
