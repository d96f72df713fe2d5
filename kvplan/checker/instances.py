"""Cloud machines by their type: which card they hold, and how many.

Source: AWS "Amazon EC2 accelerated computing instances", Google Cloud "GPU machine types", Azure "GPU accelerated virtual machine
sizes", "AKS on Azure Local: GPUs" (as of 2026-11); the patterns of Azure's names after PyPI gpuhunt.
"""

import re
from functools import cache
from typing import NamedTuple


class Machine(NamedTuple):
    """A machine's card, by its id in the catalogue, and how many it has; ``part`` where it gets but a part of one."""

    gpu: str
    n_gpus: int
    part: bool = False


# pattern of a type: card: how many, by the number in the pattern's group where it has one
_TABLE = """
g4dn\\.(\\d*x?large|metal): t4: 12xlarge=4 metal=8 *=1
g5\\.(\\d*xlarge): a10g: 12xlarge=4 24xlarge=4 48xlarge=8 *=1
g6\\.(\\d*xlarge): l4: 12xlarge=4 24xlarge=4 48xlarge=8 *=1
gr6\\.(\\d*xlarge): l4: *=1
g6e\\.(\\d*xlarge): l40s: 12xlarge=4 24xlarge=4 48xlarge=8 *=1
g7e\\.(\\d*xlarge): rtx-pro-6000-bw: 12xlarge=2 24xlarge=4 48xlarge=8 *=1
p3\\.(\\d+xlarge): v100-16: 2xlarge=1 8xlarge=4 16xlarge=8
p3dn\\.(24xlarge): v100-32: *=8
p4d\\.(24xlarge): a100-40: *=8
p4de\\.(24xlarge): a100-80: *=8
p5\\.(\\d+xlarge): h100-sxm: 4xlarge=1 48xlarge=8
p5en?\\.(48xlarge): h200: *=8
p6-b200\\.(48xlarge): b200: *=8
p6-b300\\.(48xlarge): b300: *=8
a2-highgpu-(\\d+)g: a100-40: *
a2-megagpu-(\\d+)g: a100-40: *
a2-ultragpu-(\\d+)g: a100-80: *
a3-highgpu-(\\d+)g: h100-sxm: *
a3-megagpu-(\\d+)g: h100-sxm: *
a3-edgegpu-(\\d+)g: h100-sxm: *
a3-ultragpu-(\\d+)g: h200: *
a4-highgpu-(\\d+)g: b200: *
g2-standard-(\\d+): l4: 24=2 48=4 96=8 *=1
standard_nc(\\d+)as_t4_v3: t4: 64=4 *=1
standard_nc(\\d+)r?s_v3: v100-16: 12=2 24=4 *=1
standard_nd(40)rs_v2: v100-32: *=8
standard_nc(\\d+)ads_a100_v4: a100-80-pcie: 48=2 96=4 *=1
standard_nc(\\d+)adi?s_h100_v5: h100-nvl: 80=2 *=1
standard_nd(96)asr_v4: a100-40: *=8
standard_nd(96)amsr_a100_v4: a100-80: *=8
standard_nd(96)isr_h100_v5: h100-sxm: *=8
standard_nd(96)isr_h200_v5: h200: *=8
standard_nv(\\d+)adm?s_a10_v5: a10: 6=part 12=part 18=part 36=1 72=2
standard_nc(\\d+)_a2: a2: 16=2 32=2 *=1
standard_nc(\\d+)_a16: a16: 16=2 32=2 *=1
"""


@cache
def _rows() -> tuple[tuple[re.Pattern[str], str, dict[str, str]], ...]:
    found = []
    for row in _TABLE.strip().splitlines():
        pattern, gpu, counts = row.split(": ")
        found.append((re.compile(pattern), gpu, dict((pair + "=").split("=")[:2] for pair in counts.split())))
    return tuple(found)


def find(name: str) -> Machine | None:
    """The machine of that type, None for one without a known card."""
    low = name.strip().lower()
    for pattern, gpu, counts in _rows():
        match = pattern.fullmatch(low)
        if match:
            said = counts.get(match[1], counts.get("*"))
            if said is None:
                return None
            return Machine(gpu, 1, part=True) if said == "part" else Machine(gpu, int(said or match[1]))
    return None
