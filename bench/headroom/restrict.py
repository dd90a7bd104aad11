#!/usr/bin/env python3
"""restrict.py FOLDER: put __restrict__ on all pointer parameters of all kernels below FOLDER, in place.

For measuring what it would bring only: whether the pointers really don't overlap, nobody has checked."""
import pathlib, re, sys

changed = 0
for path in pathlib.Path(sys.argv[1]).rglob("*"):
    if path.suffix not in (".cu", ".cuh", ".h", ".hpp", ".cpp"):
        continue
    text = path.read_text(errors="surrogateescape")
    out, at = [], 0
    for m in re.finditer(r"__global__\b", text):
        if m.start() < at:
            continue
        # The parameter list: the first parenthesis that does not belong to an attribute.
        i = m.end()
        while True:
            i = text.find("(", i)
            if i < 0:
                break
            depth, j = 1, i + 1
            while depth and j < len(text):
                depth += {"(": 1, ")": -1}.get(text[j], 0)
                j += 1
            if re.search(r"(__launch_bounds__|__attribute__|__maxnreg__|__cluster_dims__)\s*$", text[m.end():i]):
                i = j
                continue
            break
        if i < 0:
            continue
        params = re.sub(r"\*(?!\s*(__restrict__|__restrict|const|\*))(?=\s*\w)", "* __restrict__ ", text[i:j])
        changed += params != text[i:j]
        out += [text[at:i], params]
        at = j
    path.write_text("".join(out) + text[at:], errors="surrogateescape")
print(changed, "kernels changed")
