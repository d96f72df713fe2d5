"""From options to hardware: the cards that a request names or this machine has, and what it says of the host."""

from kvplan.core.device import ISAS, UNKNOWN_NODE, Node, budget_node
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.units import parse_count, parse_size
from kvplan.estimator.options import Options


def node(options: Options, *, probe: bool) -> Node:
    """The hardware of the request; ``probe`` looks for an attached GPU where it names none. Raises RequestError like its parts."""
    return described(options, _named(options, probe=probe))


def _named(options: Options, *, probe: bool) -> Node:
    """The hardware that the request names. Raises RequestError for an unknown GPU, a size without a unit, or both at once."""
    if options.budget is not None:
        if options.gpus not in (None, "1"):
            raise RequestError("contradiction", f"--gpus {options.gpus}: a --budget is one device", hint="name the cards with --gpu")
        if options.gpu is not None:
            raise RequestError("contradiction", "--gpu and --budget both say how large the device is", hint="give one of them")
        return budget_node(parse_size(options.budget, option="--budget"))
    if options.gpu is None:
        if options.gpus is not None:
            raise RequestError(
                "contradiction", "--gpus says how many, and no --gpu says of what", hint="add --gpu, for example --gpu h100-sxm"
            )
        return _attached() if probe else UNKNOWN_NODE
    from kvplan.hardware import catalog

    n_gpus = None if options.gpus is None else parse_count(options.gpus, option="--gpus")
    return catalog.node(options.gpu, n_gpus=n_gpus)


def described(options: Options, node: Node) -> Node:
    """The node with what the request says of its processor. Raises RequestError for an unknown one, or a size without a unit."""
    if options.host is not None and options.host not in ISAS:
        raise RequestError(
            "unknown_host",
            f"--host: unknown processor '{options.host}'",
            hint=did_you_mean(options.host, ISAS) or f"known: {', '.join(ISAS)}",
        )
    ram = None if options.ram is None else parse_size(options.ram, option="--ram")
    return node if options.host is None and ram is None else node._replace(isa=options.host, ram_bytes=ram)


def _attached() -> Node:
    from kvplan.hardware import presence

    if not presence.driver():
        return UNKNOWN_NODE
    from kvplan.hardware import probe

    return probe.attached() or UNKNOWN_NODE
