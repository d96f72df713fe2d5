"""A GPU that told its size."""

from kvplan.verifier.record import Device, Job, Record, Snapshot

H200 = Record(
    job=Job("tiny", {}, "bfloat16", 24, 1, 20),
    outcome="ran",
    error=None,
    taken_at="2026-11-29T15:00:01Z",
    versions={"torch": "2.11.0"},
    device=Device("cuda", "NVIDIA H200", "9.0", 150_000_000_000, 151_000_000_000),
    before=Snapshot(device_used_bytes=0),
)
