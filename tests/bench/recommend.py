"""Random recommendations: how long they take, and whether every proposed command fits when it is estimated by itself.

usage: python tests/bench/recommend.py [N]

Prints one line for each command that does not, the slowest question, and the times against their bars.
"""

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import kvplan
from kvplan.estimator import Options, answer
from tests.recommender.triples import Triple, triples

ONE_GPU_S, CATALOGUE_S = 2.0, 10.0


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    times: dict[Triple, float] = {}
    wrong = proposed = nothing = 0
    for asked in triples(n):
        began = time.process_time()
        found = kvplan.recommend(asked.model, gpu=asked.gpu, goal=asked.goal)
        times[asked] = time.process_time() - began
        proposed, nothing = proposed + len(found.proposals), nothing + (not found.proposals)
        for proposal in found.proposals:
            alone = answer(Options(command=proposal.command, gpu=asked.gpu, engine=f"{proposal.found.engine}@{proposal.found.version}"))
            if alone.refusals or alone.verdict != "fits":
                wrong += 1
                sys.stdout.write(f"{asked}: {' '.join(proposal.command)}: {alone.verdict} {alone.refusals}\n")
    slowest = max(times, key=lambda asked: times[asked])
    sys.stdout.write(f"{n} questions, {proposed} commands, {wrong} of them wrong; nothing fits {nothing} questions\n")
    sys.stdout.write(f"median {statistics.median(times.values()):.2f} s, slowest {times[slowest]:.2f} s ({slowest}); bar {ONE_GPU_S:g} s\n")
    for model in ("qwen3-8b", "llama-3.1-70b", "deepseek-v3"):
        began = time.process_time()
        kvplan.recommend(model, gpu="any", ctx="8k")
        sys.stdout.write(f"catalogue, {model}: {time.process_time() - began:.2f} s; bar {CATALOGUE_S:g} s\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
