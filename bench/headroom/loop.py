#!/usr/bin/env python3
"""loop.py FILE.ptx > LOOPED.ptx: kernels also in a loop over block numbers, for measuring what
fewer, longer blocks would bring.

Beside each kernel NAME that uses its block number in x stands then NAME__blocks, which has one
parameter more, the number of blocks in x of the launch that it stands for, and does the blocks from
its own number on, as many apart as it has. With barriers in the body there is one between turns.
Left alone: kernels with barriers and warp operations, where a thread that returns early could be
waited for in the wrong turn. This is for times: no result is promised. stderr has a line a kernel:
its name, and the variables that it uses, of which this module has copies."""
import re
import sys

VARIABLE = re.compile(r"^(?:\.(?:visible|extern|weak|common)\s+)*\.(?:global|const)\b[^;=]*?\s"
                      r"([A-Za-z_$%][\w$]*)(?:\[\d*\])*\s*(?:=|;)", re.M)
ENTRY = re.compile(r"^(?:\.(?:visible|weak)\s+)?\.entry\s+([\w$]+)\(([^)]*)\)([^{;]*)\{", re.M)
DECLARATIONS = re.compile(r"(?:\s*(?:\.(?:reg|local|shared)\b[^;]*;|//[^\n]*\n))*")
BARRIER = re.compile(r"\b(?:bar|barrier)\.(?!warp)")
WARP = re.compile(r"\b(?:shfl|vote|match|redux|activemask|bar\.warp)\b")


def looped(name, params, directives, body):
    label = "$L__blocks_" + name
    body = body.replace("%nctaid.x", "%blocks_all").replace("%ctaid.x", "%blocks_at")
    body = re.sub(r"\bret;", f"bra {label}_next;", body)
    split = DECLARATIONS.match(body).end()
    between = "\tbar.sync 0;\n" if BARRIER.search(body) else ""
    begin = (f"\n\t.reg .b32 %blocks_at, %blocks_all, %blocks_step;\n\t.reg .pred %blocks_more;\n"
             f"\tld.param.u32 %blocks_all, [{name}__blocks_all];\n\tmov.u32 %blocks_at, %ctaid.x;\n"
             f"\tmov.u32 %blocks_step, %nctaid.x;\n{label}_loop:\n")
    end = (f"\n{label}_next:\n{between}\tadd.u32 %blocks_at, %blocks_at, %blocks_step;\n"
           f"\tsetp.lt.u32 %blocks_more, %blocks_at, %blocks_all;\n"
           f"\t@%blocks_more bra {label}_loop;\n\tret;\n")
    body = body[:split] + begin + body[split:] + end
    comma = ",\n" if params.strip() else ""
    text = f"{params}{comma}\t.param .u32 {name}__blocks_all"
    # parameters and what else is named after the kernel
    own = re.compile(rf"(?<![\w$]){re.escape(name)}(?=_param_)")
    text, body = own.sub(f"{name}__blocks", text), own.sub(f"{name}__blocks", body)
    return f".visible .entry {name}__blocks(\n{text}\n){directives}\n{{\n{body}\n}}\n"


def entries(text):
    """Name, parameters, directives, body of each kernel; scopes within a body have braces."""
    for head in ENTRY.finditer(text):
        depth, end = 1, head.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield head[1], head[2].strip("\n"), head[3].rstrip(), text[head.end():end - 1].strip("\n")


def main():
    text = open(sys.argv[1]).read()
    text = re.sub(r"^\s*\.(?:loc|file)\b.*\n", "", text, flags=re.M)
    # what has a value and no name outside can't have been changed by the host
    names = [v[1] for v in VARIABLE.finditer(text) if "visible" in v[0] or not v[0].endswith("=")]
    more = []
    for name, params, directives, body in entries(text):
        if "%ctaid.x" not in body or BARRIER.search(body) and WARP.search(body):
            continue
        more.append(looped(name, params, directives, body))
        used = [v for v in names if re.search(r"(?<![\w$])" + re.escape(v) + r"(?![\w$])", body)]
        print(name, *used, file=sys.stderr)
    sys.stdout.write(text + "\n" + "\n".join(more))


main()
