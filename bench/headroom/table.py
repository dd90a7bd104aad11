#!/usr/bin/env python3
"""table.py FOLDER: what other launch shapes, and __restrict__, would bring: a line a program, and the geometric means.

FOLDER holds times.jsonl and shapes.jsonl as run.sh leaves them. Shapes: for every configuration of 20 us and more the best
shape that was tried, its median against that of the program's own shape, weighed by time. The best of up to 24 is partly the luckiest."""
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


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1


builds = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0.0]))
shares = collections.defaultdict(lambda: collections.defaultdict(float))
for row in lines("times.jsonl"):
    if row["Mode"] == "times":
        cell = builds[row["Program"], row["Build"]][configuration(row)]
        cell[0] += row["Launches"]
        cell[1] += row["Milliseconds"]
    else:
        shares[row["Program"]][configuration(row)] += row["Milliseconds"]
best = {}
for row in lines("shapes.jsonl"):
    if row["Shapes"] and row["Default"] >= 0.02:
        shape, time = min(row["Shapes"].items(), key=lambda item: item[1])
        best[configuration(row)] = min(1, time / row["Default"]), shape

print("program                    restrict   shape")
restrict, shape = [], []
for program in sorted(shares):
    base, other = builds.get((program, "base"), {}), builds.get((program, "restrict"), {})
    same = [c for c in base if c in other and base[c][0] and other[c][0]]
    text = ""
    if same:
        before = sum(base[c][1] for c in same)
        after = sum(other[c][1] / other[c][0] * base[c][0] for c in same)
        restrict.append(before / after)
        text = f"{restrict[-1]:.3f}"
    total = sum(shares[program].values())
    left = sum(ms * best.get(c, (1,))[0] for c, ms in shares[program].items())
    shape.append(total / left)
    heaviest = max(shares[program], key=shares[program].get)
    name = f"   {heaviest[2][0]}x{heaviest[2][1]}x{heaviest[2][2]} -> {best[heaviest][1]}" if heaviest in best else ""
    print(f"{program:26} {text:>8}  {shape[-1]:.3f}{name}")
print(f"\ngeometric means: __restrict__ {mean(restrict):.4f} over the {len(restrict)} programs that it changes,"
      f" {mean(restrict) ** (len(restrict) / len(shape)):.4f} over all; shape {mean(shape):.4f} over {len(shape)}")
