"""How much one distribution of the next token differs from another."""

import torch

from kvplan.verifier.fidelity.asked import EDGES, Bucket


def scored(sums: list[dict[int, Bucket]], logits: "list[torch.Tensor | None]", targets: list[int], skipped: int, n_before: int) -> None:
    """Add a piece to ``sums``: logits (tokens, vocabulary) of each cache, the reference first, None of one that failed, and the tokens that
    really follow.

    The first ``skipped`` predictions do not count. KL(reference ‖ cache) is in nats.
    """
    skipped = max(0, skipped)
    first = logits[0]
    if first is None or skipped >= len(targets):
        return
    wanted = torch.tensor(targets[skipped:], device=first.device)
    reference = torch.log_softmax(first[skipped:].float(), dim=-1)
    base = _chosen(reference, wanted)
    p, best = reference.exp(), reference.argmax(-1)
    edges = [_edge(n_before + skipped + i + 1) for i in range(len(wanted))]
    for into, one in zip(sums, logits, strict=True):
        if one is None:
            continue
        seen = torch.log_softmax(one[skipped:].float(), dim=-1)
        nll = _chosen(seen, wanted)
        kl = (p * (reference - seen)).sum(-1).double()
        _add(into, edges, torch.stack([nll, nll - base, (nll - base) ** 2, kl, (seen.argmax(-1) == best).double()], dim=-1))


def _chosen(logs: "torch.Tensor", wanted: "torch.Tensor") -> "torch.Tensor":
    return -logs.gather(-1, wanted[:, None])[:, 0].double()


def _add(into: dict[int, Bucket], edges: list[int], columns: "torch.Tensor") -> None:
    for edge in sorted(set(edges)):
        at = torch.tensor([one == edge for one in edges], device=columns.device)
        nll, rise, squared, kl, agreed = columns[at].sum(0).tolist()
        into[edge] = into.get(edge, Bucket()).plus(Bucket(sum(one == edge for one in edges), nll, rise, squared, kl, round(agreed)))


def _edge(n_tokens: int) -> int:
    return max(edge for edge in EDGES if edge <= n_tokens)
