from collections import Counter
from statistics import median

import pytest

from kvplan.core.errors import RequestError
from kvplan.core.units import GIB, MIB
from kvplan.hardware import catalog, names, table

RATES = ("bandwidth_gb_s", "fp16_tflops", "bf16_tflops", "fp8_tflops", "int8_tops", "fp4_tflops")


def test_every_id_and_every_name_means_one_card() -> None:
    assert len(set(table.ids())) == len(table.ids())
    taken = Counter(
        key
        for card in table.names()
        for key in set(names.fold("|".join((card.id, card.name, card.aliases, card.shorthand))).split("|")) - {""}
    )
    assert [key for key, n in taken.items() if n > 1] == []


def test_every_sibling_is_a_card() -> None:
    assert {sibling for card in table.names() for sibling in card.siblings.split("|") if sibling} <= set(table.ids())


@pytest.mark.parametrize("gpu_id", table.ids())
def test_every_row_is_sane_and_has_a_source(gpu_id: str) -> None:
    row, gpu = table.row(gpu_id), catalog.find(gpu_id)
    assert gpu.source
    assert 0 < gpu.cuda_bytes <= gpu.driver_bytes
    assert gpu.cuda_bytes > 0.93 * gpu.driver_bytes
    assert gpu.unified or 0.9 < gpu.driver_bytes / (float(row["memory_gb"]) * GIB) <= 1.02
    assert all(row[column] == "" or float(row[column]) > 0 for column in RATES)
    assert gpu.kind in ("datacenter", "workstation", "consumer", "desktop", "embedded", "accelerator")
    assert gpu.verified <= set(row)
    assert all(row[field] for field in gpu.verified)
    assert (gpu.compute_capability is not None) == (gpu.vendor == "NVIDIA") or gpu_id == "vr200"
    assert (gpu.gfx is not None) == (gpu.vendor == "AMD")


def test_the_estimated_reserve_is_the_median_of_those_read_off_machines() -> None:
    kept = [
        (gpu.driver_bytes - gpu.cuda_bytes) / MIB
        for gpu in map(catalog.find, table.ids())
        if gpu.vendor == "NVIDIA" and gpu.cuda_total_known and not gpu.unified
    ]
    assert len(kept) == 15
    assert (round(min(kept)), round(max(kept))) == (236, 768)
    assert round(median(kept)) == catalog.RESERVED_MIB["NVIDIA"]


def test_a_card_without_a_cuda_total_says_that_it_is_estimated() -> None:
    gpu = catalog.find("gb300")
    assert not gpu.cuda_total_known
    assert gpu.cuda_bytes == (284208 - 490) * MIB


def test_totals_as_the_engines_print_them() -> None:
    h100 = catalog.find("h100-sxm")
    assert h100.driver_bytes == 81559 * MIB  # nvidia-smi
    assert f"{h100.cuda_bytes / GIB:.2f}" == "79.19"  # vLLM 0.19: "Free memory on device (78.68/79.19 GiB)"
    assert h100.cuda_total_known
    assert h100.compute_capability == (9, 0)
    assert (h100.bandwidth_gb_s, h100.bf16_tflops, h100.fp8_tflops) == (3350, 989.4, 1978.9)
    spark = catalog.find("dgx-spark")
    assert spark.unified
    assert spark.cuda_bytes == pytest.approx(130596048896, rel=1e-5)  # a PyTorch diagnostic on a GB10
    assert catalog.find("mi300x").gfx == "gfx942"
    assert catalog.find("mi250").driver_bytes == 65520 * MIB  # one of two dies, as software sees it


@pytest.mark.parametrize(
    ("typed", "gpu_id"),
    [
        pytest.param("h100-sxm", "h100-sxm", id="id"),
        pytest.param("H100-SXM", "h100-sxm", id="id in capitals"),
        pytest.param("NVIDIA H100 80GB HBM3", "h100-sxm", id="NVML"),
        pytest.param("NVIDIA-H100-80GB-HBM3", "h100-sxm", id="gpu.product label"),
        pytest.param("NVIDIA-H100-SXM5-80GB", "h100-sxm", id="label in NVIDIA's aiconfigurator"),
        pytest.param("nvidia-h100-80gb", "h100-sxm", id="GKE"),
        pytest.param("nvidia-tesla-a100", "a100-40", id="GKE's A100 is the 40 GB card"),
        pytest.param("nvidia-h200-141gb", "h200", id="GKE H200"),
        pytest.param("H200", "h200", id="CoreWeave's gpu.nvidia.com/model"),
        pytest.param("H100 80GB PCIe", "h100-pcie", id="marketing, PCIe"),
        pytest.param("h100 nvl", "h100-nvl", id="NVL"),
        pytest.param("A100-SXM4-40GB", "a100-40", id="A100 as drivers before 470 print it"),
        pytest.param("NVIDIA-A100-PCIE-40GB", "a100-40", id="size behind the bus"),
        pytest.param("NVIDIA A100 80GB PCIe", "a100-80-pcie", id="size before the bus"),
        pytest.param("a100 40gb", "a100-40", id="shorthand and size"),
        pytest.param("A100 40 GB", "a100-40", id="a space before the unit"),
        pytest.param("Tesla-T4", "t4", id="Tesla-T4"),
        pytest.param("NVIDIA-T4", "t4", id="NVIDIA-T4"),
        pytest.param("l4 24gb", "l4", id="redundant size"),
        pytest.param("A10G", "a10g", id="Ray's accelerator_type"),
        pytest.param("rtx 4090", "rtx-4090", id="space"),
        pytest.param("4090", "rtx-4090", id="number alone"),
        pytest.param("GeForce RTX 4090", "rtx-4090", id="GeForce"),
        pytest.param("rtx4070tisuper", "rtx-4070-ti-super", id="no separators"),
        pytest.param("NVIDIA GeForce RTX 4060 Ti 16GB", "rtx-4060-ti-16", id="shared label with its size"),
        pytest.param("a6000", "rtx-a6000", id="A6000"),
        pytest.param("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada", id="Ada Generation"),
        pytest.param("RTX PRO 6000 Max-Q", "rtx-pro-6000-bw", id="edition"),
        pytest.param("7900 XTX", "rx-7900-xtx", id="Radeon without RX"),
        pytest.param("AMD Instinct MI300X OAM", "mi300x", id="rocm-smi"),
        pytest.param("gb10", "dgx-spark", id="chip"),
        pytest.param("strix halo", "ryzen-ai-max-395", id="code name"),
        pytest.param("Ryzen AI Max+ 395", "ryzen-ai-max-395", id="a plus sign in the name"),
        pytest.param("M1 Max 64GB", "m1-max-64", id="Apple"),
    ],
)
def test_names_that_leave_no_doubt(typed: str, gpu_id: str) -> None:
    node = catalog.node(typed)
    assert (node.id, node.notes) == (gpu_id, ())


@pytest.mark.parametrize(
    ("typed", "gpu_id", "others"),
    [
        pytest.param("h100", "h100-sxm", "h100-pcie or h100-nvl", id="h100"),
        pytest.param("H100 80GB", "h100-sxm", "h100-pcie", id="both 80 GB cards"),
        pytest.param("a100", "a100-80", "a100-40 or a100-80-pcie", id="a100"),
        pytest.param("v100", "v100-16", "v100-32 or v100-pcie-32", id="v100 as AWS p3 and GCP have it"),
        pytest.param("NVIDIA GeForce RTX 3080", "rtx-3080-10", "rtx-3080-12", id="one NVML name, two sizes"),
        pytest.param("RTX 3060", "rtx-3060-12", "--budget", id="another size that the catalogue has not"),
        pytest.param("m3 max", "m3-max-128", "--budget", id="one configuration of many"),
        pytest.param("mi300", "mi300x", "mi300a", id="mi300"),
        pytest.param("NVIDIA-A100-SXM4-80GB-SHARED", "a100-80", "other containers", id="time slicing"),
    ],
)
def test_short_names_are_taken_as_one_card_and_the_note_names_the_others(typed: str, gpu_id: str, others: str) -> None:
    node = catalog.node(typed)
    assert node.id == gpu_id
    assert typed in node.notes[0]
    assert others in node.notes[0]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        pytest.param("h1000", "'h100-sxm'", id="near match"),
        pytest.param("rtx-4099", "'rtx-4090'", id="near match with a dash"),
        pytest.param("RTX 4060 Ti", "rtx-4060-ti-8 or rtx-4060-ti-16", id="two sizes, twice the memory"),
        pytest.param("rtx 4090 48gb", "--budget", id="a size that the card has not"),
        pytest.param("m3 max 64gb", "3/4 above", id="a configuration that the catalogue has not"),
        pytest.param("NVIDIA A100-SXM4-80GB MIG 3g.40gb", "--budget", id="MIG by NVML"),
        pytest.param("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "--budget", id="MIG by label"),
        pytest.param("NVIDIA GeForce RTX 4090 Laptop GPU", "kvplan gpus", id="a laptop's card has another size"),
        pytest.param("foo", "kvplan gpus", id="nothing like it"),
        pytest.param("", "kvplan gpus", id="empty"),
        pytest.param("x" * 10000, "kvplan gpus", id="very long"),
    ],
)
def test_unknown_and_ambiguous_names_are_refused_with_a_way_out(typed: str, words: str) -> None:
    with pytest.raises(RequestError) as caught:
        catalog.find(typed)
    assert caught.value.kind == "unknown_gpu"
    assert words in caught.value.hint
    assert len(caught.value.message) < 200


def test_candidates_grow_and_are_verified() -> None:
    gpus = catalog.candidates(40 * GIB)
    assert [gpu.cuda_bytes for gpu in gpus] == sorted(gpu.cuda_bytes for gpu in gpus)
    assert {"l40s", "a100-80", "h100-sxm", "h200"} <= {gpu.id for gpu in gpus}
    assert all(gpu.cuda_bytes >= 40 * GIB and "driver_total_mib" in gpu.verified for gpu in gpus)
    assert not {"dgx-spark", "m3-max-128", "tpu-v5e", "vr200"} & {gpu.id for gpu in gpus}
