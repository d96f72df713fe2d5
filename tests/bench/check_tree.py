"""Time that `kvplan check` takes for a tree of ordinary files of other software, in which it finds nothing, or of deployments.

usage: python -m tests.bench.check_tree [FILES] [deployments] [JOBS]

Writes FILES (2,000) manifests, Compose files, charts, workflows, Dockerfiles, scripts and settings into a temporary folder, or with
``deployments`` as many Kubernetes, Compose and shell files that each start a server of their own settings. Checks it in a process of its
own, and prints the seconds of the fastest of three runs, the seconds of processors, the servers and the findings.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {{name: web-{i}, labels: {{app: web}}}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers:
        - name: web
          image: registry.example.com/shop/web:1.{i}
          command: [gunicorn, --workers, "4", --bind, 0.0.0.0:8000, shop.wsgi]
          env:
            - {{name: DATABASE_URL, valueFrom: {{secretKeyRef: {{name: db, key: url}}}}}}
            - {{name: LOG_LEVEL, value: info}}
          resources: {{requests: {{cpu: 500m, memory: 512Mi}}, limits: {{memory: 1Gi}}}}
          readinessProbe: {{httpGet: {{path: /healthz, port: 8000}}}}
---
apiVersion: v1
kind: Service
metadata: {{name: web-{i}}}
spec: {{selector: {{app: web}}, ports: [{{port: 80, targetPort: 8000}}]}}
"""
COMPOSE = """services:
  db: {{image: "postgres:16", environment: {{POSTGRES_PASSWORD: "${{DB_PASSWORD:-dev}}"}}, volumes: ["data:/var/lib/postgresql/data"]}}
  api:
    build: .
    command: sh -c "python manage.py migrate && exec uvicorn api:app --port 80{i:02}"
    depends_on: [db]
volumes: {{data: {{}}}}
"""
CHART = """{{{{- if .Values.enabled }}}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{{{ include "chart.fullname" . }}}}-{i}
data:
{{{{ toYaml .Values.config | indent 2 }}}}
{{{{- end }}}}
"""
WORKFLOW = """name: test {i}
on: [push]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: |
          pip install -e '.[dev]'
          pytest -q --maxfail=1
"""
DOCKERFILE = """FROM python:3.12-slim AS build
ARG VERSION={i}
WORKDIR /app
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt \\
    && rm -rf /var/lib/apt/lists/*
COPY . .
CMD ["gunicorn", "--bind", "0.0.0.0:8000", "shop.wsgi"]
"""
SCRIPT = """#!/usr/bin/env bash
set -euo pipefail
ROOT="$(cd "$(dirname "$0")" && pwd)"
for name in alpha beta gamma; do
  if [[ -f "$ROOT/$name.env" ]]; then
    docker build -t "shop/$name:{i}" --build-arg MODEL=small "$ROOT/$name"
  fi
done
curl -fsS "http://localhost:${{PORT:-8000}}/healthz" | jq -r .status
"""
SETTINGS = "[server]\nport = {i}\nmodel = small\n\n[client]\ntimeout = 30\n"
PYTHON = "import os\n\n\ndef main(argv: list[str]) -> int:\n    return {i} + len(argv) + len(os.environ)\n"
CHAT = """apiVersion: apps/v1
kind: Deployment
metadata: {{name: chat-{i}}}
spec:
  template:
    spec:
      nodeSelector: {{nvidia.com/gpu.product: NVIDIA-L40S}}
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.33.0
          args: [--model, Qwen/Qwen3-8B, --max-model-len, "{ctx}", --max-num-seqs, "{n}"]
          resources: {{limits: {{nvidia.com/gpu: 1, memory: 64Gi}}}}
"""
START = """#!/usr/bin/env bash
export MODEL=${{MODEL:-meta-llama/Llama-3.1-8B-Instruct}}
docker run --gpus all vllm/vllm-openai:v0.19.0 --model $MODEL --max-model-len {ctx} --max-num-seqs {n} --port 80{i}
"""
STACK = """services:
  llm-{i}:
    image: ghcr.io/ggml-org/llama.cpp:server-cuda
    command: -hf Qwen/Qwen3-8B -c {ctx} -np 4
"""
DEPLOYMENTS = (("k8s/chat-{i}.yaml", CHAT), ("run/{i}.sh", START), ("stacks/{i}/compose.yml", STACK))
KINDS = (
    ("k8s/web-{i}.yaml", DEPLOYMENT),
    ("stacks/{i}/docker-compose.yml", COMPOSE),
    ("charts/app-{i}/templates/config.yaml", CHART),
    (".github/workflows/test-{i}.yml", WORKFLOW),
    ("images/{i}/Dockerfile", DOCKERFILE),
    ("scripts/run-{i}.sh", SCRIPT),
    ("etc/{i}.ini", SETTINGS),
    ("src/module_{i}.py", PYTHON),
)


def write(folder: Path, n_files: int, kinds: Sequence[tuple[str, str]] = KINDS) -> None:
    """The tree: kinds by turns, each file with a number of its own."""
    for i in range(n_files):
        name, text = kinds[i % len(kinds)]
        path = folder / name.format(i=i)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(i=i, ctx=4096 + 16 * (i % 200), n=64 + i % 50), encoding="utf-8")


def _spent() -> float:
    """Seconds of processors that ended processes took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    n_files = numbers[0] if numbers else 2000
    jobs = ["--jobs", str(numbers[1])] if len(numbers) > 1 else []
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), n_files, DEPLOYMENTS if "deployments" in sys.argv else KINDS)
        took, cpu, said = [], [], {}
        for _ in range(3):
            start, before = time.perf_counter(), _spent()
            command = [sys.executable, "-m", "kvplan", "check", folder, "--gpu", "l4", "--format", "json", "--fail-on", "never", *jobs]
            said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            took.append(time.perf_counter() - start)
            cpu.append(_spent() - before)
    found = f"{len(said['deployments'])} servers, {len(said['findings'])} findings"
    sys.stdout.write(f"{min(took):.2f} s ({min(cpu):.2f} s of processors) for {said['n_files']} files: {found}\n")


if __name__ == "__main__":
    main()
