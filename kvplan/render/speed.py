"""How fast, in two lines; with ``--explain`` where a step's and a prompt's seconds go."""

from collections.abc import Iterable

from kvplan.core.units import format_size
from kvplan.perf import Machine, Performance, Range
from kvplan.perf.efficiency import efficiency
from kvplan.perf.roofline import crossover, decode_step
from kvplan.perf.steps import moved_bytes


def lines(found: Performance) -> tuple[str, str]:
    """The four figures with their ranges, and what was asked."""
    demand = found.of.demand
    at_once = f", one of {demand.batch:,} every {_span(found.tpot_s, 1000)} ms" if demand.batch > 1 else ""
    return (
        f"speed: {_figure(found.ttft_s, 's')} to the first token, {_figure(found.decode_tokens_per_s, 'tokens/s')}{at_once}",
        f"{_figure(found.requests_per_s, 'requests/s')} of {demand.prompt_tokens:,} tokens read and {demand.output_tokens:,} written",
    )


def explanation(found: Performance) -> str:
    """The arithmetic of a step and of a prompt."""
    return "\n".join(["speed (modeled)", *(f"  {text}" for text in _lines(found))])


def _lines(found: Performance) -> Iterable[str]:
    asked = found.of
    eff, demand = efficiency(asked.engine, asked.machine.memory), asked.demand
    step, n_bytes = decode_step(asked.traffic, asked.machine, eff, demand), moved_bytes(asked.traffic, demand.batch)
    yield (
        f"a step of {demand.batch:,} moves {format_size(round(n_bytes))} of weights at {eff.mbu:.0%} of "
        f"{asked.machine.bandwidth / 1e9:,.0f} GB/s: {_ms(step.reading)}; its products take {_ms(step.multiplying)}, the longer one counts"
    )
    yield f"caches and states {_ms(step.attending)}, launches and sampling {_ms(step.waiting)}{_linked(step.linking)}: {_ms(step.total)}"
    rate = asked.machine.flops / 1e12
    yield (
        f"a prompt of {demand.prompt_tokens:,} tokens at {eff.mfu:.0%} of {rate:,.0f} TFLOPS in 16 bits{_narrow(asked.machine)}: "
        f"{_ms(found.ttft_s.best)}"
    )
    yield f"from {crossover(asked):,.0f} sequences on, a step waits for arithmetic and not for weights"
    yield f"source: {eff.source}"


def _narrow(machine: Machine) -> str:
    if machine.product_flops == machine.flops:
        return ""
    return f" ({machine.product_flops / 1e12:,.0f} in the weights' type, of which less is reached)"


def _linked(seconds: float) -> str:
    return f", between cards {_ms(seconds)}" if seconds else ""


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.3g} ms" if seconds < 1 else f"{seconds:,.3g} s"


def _figure(found: Range, unit: str) -> str:
    return f"{short(found.best)} {unit} ({_span(found, 1)})"


def _span(found: Range, factor: float) -> str:
    return f"{short(found.low * factor)} – {short(found.high * factor)}"


def short(value: float) -> str:
    """Two digits that count, three from a hundred on: no range here is narrower."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.2g}"
