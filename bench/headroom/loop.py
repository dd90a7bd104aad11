#!/usr/bin/env python3
"""loop.py FILE.ptx LIST > LOOPED.ptx: kernels in a loop over block numbers, for measuring what fewer, longer blocks would bring.

LIST has a line "NAME XYZ" for each kernel that sees nothing of its blocks (headroom). Such a kernel gets a parameter more, the number of
blocks in x of the launch that it stands for, and does the blocks from its own number on, as many apart as it has. Left alone: kernels
without the index in x, with a loop over the grid of their own, and with variables, of which a second module would have copies.
The names of the kernels that were changed go to stderr."""
import re
import sys

text = open(sys.argv[1]).read()
names = [line.split() for line in open(sys.argv[2]) if line.strip() and not line.startswith("#")]
variables = re.findall(r"^\.(?:visible |extern |weak )*\.?(?:global|const)\b[^;=]*?\s([A-Za-z_$%][\w$]*)(?:\[\d*\])*\s*(?:=|;)", text, re.M)
for name, dims in names:
    if dims[0] != "1":
        continue
    head = re.search(r"\.entry\s+" + re.escape(name) + r"\(\n(.*?)\n\)(.*?)\n\{\n(.*?)\n\}\n", text, re.S)
    if not head:
        continue
    params, directives, body = head.groups()
    if "%nctaid" in body or any(re.search(r"\b" + re.escape(v) + r"\b", body) for v in variables):
        continue
    if "%ctaid.x" not in body:
        continue
    label = "$L__blocks_" + re.sub(r"\W", "_", name)
    body = body.replace("%ctaid.x", "%blocks_at")
    body = re.sub(r"\bret;", f"bra {label}_next;", body)
    # Declarations stand first, what they are followed by is done again and again.
    split = max(m.end() for m in re.finditer(r"^\s*\.(?:reg|local)\b[^;]*;", body, re.M))
    loop = (f"\n\t.reg .b32 %blocks_at, %blocks_all, %blocks_step;\n\t.reg .pred %blocks_more;\n\tld.param.u32 %blocks_all, [{name}_blocks];\n"
            f"\tmov.u32 %blocks_at, %ctaid.x;\n\tmov.u32 %blocks_step, %nctaid.x;\n{label}_loop:\n")
    end = (f"\n{label}_next:\n\tadd.u32 %blocks_at, %blocks_at, %blocks_step;\n\tsetp.lt.u32 %blocks_more, %blocks_at, %blocks_all;\n"
           f"\t@%blocks_more bra {label}_loop;\n\tret;\n")
    new = f".entry {name}(\n{params},\n\t.param .u32 {name}_blocks\n){directives}\n{{\n{body[:split]}{loop}{body[split:]}{end}\n}}\n"
    text = text[:head.start()] + new + text[head.end():]
    print(name, file=sys.stderr)
sys.stdout.write(text)
