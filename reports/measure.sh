#!/usr/bin/env bash
# Measures the jobs of reports/jobs.jsonl on the attached GPU and writes one record each to reports/measurements, or to $OUT.
# Needs Python (>= 3.11), torch and transformers, nothing else. Ends within 8 minutes; what the GPU is too small for is left out.
#   reports/measure.sh                      everything
#   reports/measure.sh --only llama-2-7b    one model
#   reports/measure.sh --minutes 3          what tells most
#   reports/measure.sh --dry-run            tiny shapes on the CPU, nothing written
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
exec "${PYTHON:-python3}" -m kvplan.verifier.measure reports/jobs.jsonl ${OUT:+--out "$OUT"} "$@"
