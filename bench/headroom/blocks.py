#!/usr/bin/env python3
"""blocks.py FOLDER: what kernels in a loop over block numbers would bring: a line a program, and the geometric mean.

FOLDER holds times.jsonl and blocks.jsonl as blocks.sh leaves them. For every configuration of 20 us and more the best number of blocks that
was tried, its median against that of the program's own launch, weighed by time. The best of up to six is partly the luckiest."""
import collections
import json
import math
import sys

folder = sys.argv[1]


def lines(name):
    with open(f"{folder}/{name}") as f:
        return [json.loads(line) for line in f]


def configuration(row):
    return row["Kernel"], tuple(row["Grid"]), tuple(row["Block"])


best = {}
for row in lines("blocks.jsonl"):
    tried = {int(n): t for n, t in row["Blocks"].items() if t > 0}
    if tried and row["Default"] >= 0.02:
        blocks, time = min(tried.items(), key=lambda item: item[1])
        best[configuration(row)] = min(1, time / row["Default"]), blocks, tried.get(row["Grid"][0], 0) / row["Default"]
shares = collections.defaultdict(dict)
for row in lines("times.jsonl"):
    shares[row["Program"]][configuration(row)] = row["Milliseconds"]
ratios = []
for program, of in sorted(shares.items()):
    total = sum(of.values())
    if not total:
        continue
    left = sum(ms * best.get(c, (1,))[0] for c, ms in of.items())
    ratios.append(total / left)
    heaviest = max(of, key=of.get)
    note = ""
    if heaviest in best:
        ratio, blocks, loop = best[heaviest]
        note = f"   {heaviest[1][0]} blocks -> {blocks}, the loop alone {loop:.3f}"
    print(f"{program:26} {ratios[-1]:.3f}{note}")
if ratios:
    print(f"\ngeometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.4f} over {len(ratios)} programs")
