#!/usr/bin/env python3
"""table.py shapes|blocks|ways|hints FOLDER [SHAPES]: what a lever would bring: a line a program, and
geometric means.

FOLDER holds times.jsonl and shapes.jsonl as run.sh leaves them, or times.jsonl and blocks.jsonl as
blocks.sh does. A program's kernels of 20 us and more count by the time that was tried for them, all
others as they are, each weighed by its share of the program's time.
Shapes: the best shape's median against that of the program's own. The best of up to 24 is partly the
luckiest. Blocks: the best number of blocks was measured once more, on fresh samples, and counts only
if it is faster there; and beside it the loop alone, with as many blocks as the program has. SHAPES
is the folder of shapes.jsonl: then also the better of both, configuration by configuration.
Ways: the best of each class was measured once more. Hints: frequencies of basic blocks; the time of
twenty launches in a row, which counts the gaps between them, as if a program did nothing else."""
import collections
import gzip
import json
import math
import os
import sys

LEAST = 0.02  # ms


def lines(name, folder=2):
    path = f"{sys.argv[folder]}/{name}"
    kept = not os.path.exists(path) and os.path.exists(path + ".gz")
    with gzip.open(path + ".gz") if kept else open(path) as f:
        return [json.loads(line) for line in f]


def configuration(row):
    return row["Kernel"], tuple(row["Grid"]), tuple(row["Block"])


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1


def speedup(times, best):
    """What a program becomes where its configurations take the times of best (a ratio first)."""
    left = sum(ms * best.get(c, (1,))[0] for c, ms in times.items())
    return sum(times.values()) / left if left else 1


def best_shapes(folder=2):
    best = {}
    for row in lines("shapes.jsonl", folder):
        if row["Shapes"] and row["Default"] >= LEAST:
            shape, time = min(row["Shapes"].items(), key=lambda item: item[1])
            best[configuration(row)] = min(1, time / row["Default"]), shape
    return best


def shapes():
    builds = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0.0]))
    shares = collections.defaultdict(lambda: collections.defaultdict(float))
    for row in lines("times.jsonl"):
        if row["Mode"] == "times":
            cell = builds[row["Program"], row["Build"]][configuration(row)]
            cell[0] += row["Launches"]
            cell[1] += row["Milliseconds"]
        else:
            shares[row["Program"]][configuration(row)] += row["Milliseconds"]
    best = best_shapes()
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
        shape.append(speedup(shares[program], best))
        heaviest = max(shares[program], key=shares[program].get)
        note = ""
        if heaviest in best:
            note = "   {}x{}x{} -> {}".format(*heaviest[2], best[heaviest][1])
        print(f"{program:26} {text:>8}  {shape[-1]:.3f}{note}")
    print(f"\ngeometric means: __restrict__ {mean(restrict):.4f} over the {len(restrict)} programs that"
          f" it changes, {mean(restrict) ** (len(restrict) / len(shape)):.4f} over all;"
          f" shape {mean(shape):.4f} over {len(shape)}")


def blocks():
    best = {}
    for row in lines("blocks.jsonl"):
        before, after = row["Again"]
        alone = row["Blocks"].get(str(row["Grid"][0]), 0) / row["Default"]
        if row["Default"] >= LEAST and before > 0 and after > 0:
            best[configuration(row)] = min(1, after / before), row["Best"], after / before, alone
    shares = collections.defaultdict(lambda: collections.defaultdict(float))
    for row in lines("times.jsonl"):
        shares[row["Program"]][configuration(row)] += row["Milliseconds"]
    shape = best_shapes(3) if len(sys.argv) > 3 else {}
    both = {c: (min(best.get(c, (1,))[0], shape.get(c, (1,))[0]),) for c in {**best, **shape}}
    print("program                    blocks   shape  better"
          "   of the heaviest kernel: its share, blocks, ratio, the loop alone")
    ratios, tried = [], 0
    for program, times in sorted(shares.items()):
        ratios.append([speedup(times, of) for of in (best, shape, both)])
        heaviest = max(times, key=times.get)
        note = ""
        if heaviest in best:
            _, number, ratio, alone = best[heaviest]
            share = times[heaviest] / max(sum(times.values()), 1e-9)
            note = f"   {share:4.0%} {heaviest[1][0]:>8} -> {number:<8} {ratio:.3f} {alone:.3f}"
        tried += any(c in best for c in times)
        print(f"{program:26} " + "   ".join(f"{r:.3f}" for r in ratios[-1]) + note)
    means = [mean(column) for column in zip(*ratios)]
    print(f"\ngeometric means over {len(ratios)} programs, of which {tried} have a kernel that was"
          f" tried: blocks {means[0]:.4f}, shape {means[1]:.4f}, the better of both {means[2]:.4f}:"
          f" blocks add {means[2] / means[1]:.4f}")


def programs(name):
    """Of each program: its configurations' times, and the lines of its measurements."""
    times, rows = collections.defaultdict(dict), collections.defaultdict(list)
    for row in lines(name + "-times.jsonl"):
        times[row["Program"]][configuration(row)] = row["Milliseconds"]
    for row in lines(name + ".jsonl"):
        rows[row["Program"]].append(row)
    return [(p, times[p], rows[p]) for p in sorted(rows) if sum(times[p].values())]


def summary(name, columns, less_of, least=LEAST):
    """A line a program: what it gains by each column, where less_of says by how much less, of 1,
    each of its measurements takes. Programs count that have a kernel of LEAST."""
    means = collections.defaultdict(list)
    for program, times, rows in programs(name):
        left, notes = dict.fromkeys(columns, 0), ""
        for row in rows:
            ms = times.get(configuration(row), 0)
            if row["Default"] < least:
                continue
            for column, ratio in less_of(row).items():
                left[column] += ms * max(0, 1 - ratio)
                if ratio < 0.98 and ms > 0.1 * sum(times.values()):
                    notes += f"  {column} {row['Kernel'][:24]} {ratio:.3f}"
        total = sum(times.values())
        gains = {c: total / (total - left[c]) for c in columns}
        if any(row["Default"] >= LEAST for row in rows):
            for c in columns:
                means[c].append(gains[c])
        print(f"{program:22}" + " ".join(f"{c} {gains[c]:.3f}" for c in columns) + notes)
    print(f"\ngeometric means over {len(means[columns[0]])} programs: " +
          ", ".join(f"{c} {mean(means[c]):.4f}" for c in columns))


def ways():
    def less_of(row):
        again = {k: w["Again"] for k, w in row["Ways"].items() if min(w["Again"]) > 0}
        if row.get("Throttled"):  # trying carveouts took the recipe's own away: the best is it
            own = again.pop("carveout")[1]
            return {k: after / min(before, own) for k, (before, after) in again.items()}
        return {k: after / before for k, (before, after) in again.items()}
    summary("ways", ("carveout", "cluster", "window", "streaming", "granularity"), less_of)


def hints():
    def less_of(row):
        out = {}
        if min(row.get("Frequency", [0])) > 0:
            out["frequency"] = row["Frequency"][1] / row["Frequency"][0]
        if min(row.get("Row", [0])) > 0:
            before, wait, both = row["Row"]
            out["wait"], out["sooner"] = wait / before, min(wait, both) / before
        return out
    summary("hints", ("frequency", "wait", "sooner"), less_of, 0)


{"shapes": shapes, "blocks": blocks, "ways": ways, "hints": hints}[sys.argv[1]]()
