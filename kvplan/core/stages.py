"""Which pipeline stage holds which layer."""


def layer_counts(n_layers: int, pp: int, partition: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Layers of each stage: equal shares; what remains goes one each to the stages before the last, from the back.

    Source: vllm 0.33 distributed/utils.py, get_pp_indices.
    """
    if len(partition) == pp and sum(partition) == n_layers:
        return partition
    share, rest = divmod(n_layers, pp)
    counts = [share] * pp
    for i in range(2, rest + 2):
        counts[-i] += 1
    return tuple(counts)


def stage_of(n_layers: int, pp: int, partition: tuple[int, ...] = ()) -> tuple[int, ...]:
    """The stage of each layer."""
    return tuple(stage for stage, count in enumerate(layer_counts(n_layers, pp, partition)) for _ in range(count))
