# SPDX-License-Identifier: Apache-2.0
"""What a source variant's sums would be decided by place: see README.md.

places.py count CASE...                 a JSON line a case: how many sums their places decide
places.py own CASE...                   what nvcc's own build does with each kernel's sums of a product
places.py write CASE OUT.ptx LEFT NAME  the variant with its places' decisions, its entry called NAME;
                                        LEFT (alone, fused): what ptxas did with the sums left to it

A CASE is a folder that gnvcc wrote under BYPLACE_DUMP (dump.patch). The text is broken after each
+ - * /, each line of it numbered by where it stands in the user's file: so a .loc is an operator's
last operand, of the kernel and of the variant alike.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

WORK = tempfile.mkdtemp()
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|0[xX][0-9a-fA-F.pP]*|\.?\d(?:[eE][+-]|[\w.])*'
                   r'|[A-Za-z_$][\w$]*|\+\+|--|->\*?|[-+*/]=?|\s+|.', re.S)
LOC = re.compile(r'^\s*\.loc\s+(\d+) (\d+) \d+(?:, function_name \S+, inlined_at \d+ (\d+) \d+)?')
INST = re.compile(r'^\s*(@!?%p\d+\s+)?([a-z][\w.:]*)\s+(.*);\s*(?://.*)?$')


def broken(source, ids):
    """A preprocessed text with each operator on a line of its own."""
    out, file, line, user = [], None, 0, False

    def number(column):
        return '# %d "P"\n' % ids.setdefault((file, line, column), len(ids) + 1)

    for text in source.split('\n'):
        marker = re.match(r'#\s+(\d+)\s+"([^"]*)"(.*)', text)
        if marker:
            file, line = marker.group(2), int(marker.group(1))
            user = ' 3' not in marker.group(3) and not file.startswith(('/usr', '<')) and '/toolkits/' not in file
            if not user:
                out.append(text)
            continue
        if user and text.strip() and not text.lstrip().startswith('#'):
            now, column, cut = number(0), 0, False
            for token in TOKEN.findall(text):
                if cut and not token.isspace():
                    now, cut = now + '\n' + number(column), False
                now, column = now + token, column + len(token)
                cut = cut or token in ('+', '-', '*', '/', '+=', '-=', '*=', '/=')
            text = now
        elif user and not text.strip():
            line += 1
            continue
        out.append(text)
        line += 1
    return '\n'.join(out)


def compiled(info, text, fmad):
    """What cicc makes of a text, with line information."""
    args, keep, skip = ['-generate-line-info'], os.path.join(WORK, 'k'), None
    for arg in info['args']:
        if skip:
            arg = keep + {'-o': '.ptx', '--module_id_file_name': '.id'}.get(skip, skip.strip('-'))
            skip = None
        elif arg in ('--gen_c_file_name', '--stub_file_name', '--gen_device_file_name', '--include_file_name',
                     '--module_id_file_name', '-o'):
            skip = arg
        elif arg.endswith('.ii'):
            arg = keep + '.ii'
        elif arg.startswith('-fmad=') and fmad is not None:
            arg = '-fmad=%d' % fmad
        args.append(arg)
    open(keep + '.ii', 'w', encoding='latin1').write(text)
    open(keep + '.id', 'w').write('x')
    done = subprocess.run([info['cicc']] + args, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr + done.stdout)[:300])
    return open(keep + '.ptx').read()


Inst = collections.namedtuple('Inst', 'op operands place base type')


class Code:
    """A function's instructions, each with its place."""

    def __init__(self, insts):
        self.insts, self.writes = insts, collections.defaultdict(list)
        for inst in insts:
            if inst.operands[0].startswith('%') and inst.base not in ('st', 'setp', 'bra', 'red'):
                self.writes[inst.operands[0]].append(inst)

    def products(self, operand, strict, seen=()):
        """The products that an operand may be, and that may be contracted."""
        out = []
        for inst in self.writes.get(operand, []):
            if inst.base == 'mul' and floats(inst) and (strict or free(inst)):
                out.append(inst)
            elif inst.base in ('neg', 'mov') and operand not in seen:
                out += self.products(inst.operands[1], strict, (*seen, operand))
        return out

    def made(self, operand, depth=0):
        """By what kind of operation an operand is made, and where."""
        writes = self.writes.get(operand, [])
        if len(writes) != 1 or depth > 9:
            return 'x'
        inst = writes[0]
        if inst.base == 'neg':
            return self.made(inst.operands[1], depth + 1)
        if not floats(inst) or inst.base not in ('add', 'sub', 'fma', 'mad', 'mul'):
            return 'x'
        return ('m' if inst.base == 'mul' else 's', inst.place)


def floats(inst):
    return inst.type in ('f32', 'f64')


def free(inst):
    return not re.search(r'\.r[nzud]', inst.op)


def functions(ptx):
    out, files = {}, dict(re.findall(r'(?m)^\s*\.file\s+(\d+)\s+"([^"]*)"', ptx))
    for part in re.split(r'(?m)^(?=(?:\.visible |\.weak |\.extern )*\.(?:entry|func)\b)', ptx)[1:]:
        head = part[:part.find('{')]
        name = re.search(r'\.entry\s+([\w$]+)', head) or re.search(r'\.func\s+(?:\([^)]*\)\s*)?([\w$]+)', head)
        insts, place = [], None
        for text in part.split('\n') if '{' in part else []:
            loc, inst = LOC.match(text), INST.match(text)
            if loc:
                place = None if loc.group(2) == '0' else (files.get(loc.group(1), '').split('/')[-1],
                                                          loc.group(2), loc.group(3))
            elif inst:
                op = inst.group(2).split('.')
                operands = [o.strip() for o in re.split(r',(?![^{\[(]*[}\])])', inst.group(3))]
                insts.append(Inst(inst.group(2), operands, place, op[0], op[-1]))
        if insts:
            out[name.group(1)] = Code(insts)
    return out


def decide(own, variant):
    """What own says at the place of each of variant's sums with a product: (sum, coarse, fine)."""
    written = {i.place for i in variant.insts if i.base == 'fma' and floats(i)}  # by the user
    coarse, fine = collections.defaultdict(set), collections.defaultdict(set)
    for inst in own.insts:
        if not floats(inst):
            continue
        if inst.base in ('fma', 'mad') and inst.place not in written:
            coarse[inst.place].add('fma')
            fine[inst.place].add(('fma', own.made(inst.operands[3])))
        elif inst.base in ('add', 'sub'):
            of = [own.products(o, False) for o in inst.operands[1:3]]
            what = 'left' if any(of) and free(inst) else 'plain'
            coarse[inst.place].add(what)
            fine[inst.place].add((what, frozenset(map(own.made, inst.operands[1:3]))))
    for inst in variant.insts:
        if not floats(inst) or inst.base not in ('add', 'sub'):
            continue
        of = [k for k in (1, 2) if variant.products(inst.operands[k], True)]
        kinds = {k: variant.made(inst.operands[k]) for k in (1, 2)}
        found = set()
        for what, of_what in fine[inst.place]:
            if what != 'fma':
                if of_what == frozenset(kinds.values()):
                    found.add((what, 0))
                continue
            found |= {('fma', k) for k in of if kinds[3 - k] == of_what and kinds[k][0] == 'm'}
        yield inst, of, coarse[inst.place], fine[inst.place], found


def case(folder):
    info = json.load(open(os.path.join(folder, 'info.json')))
    ids, texts = {}, []
    for name in ('own', 'variant'):
        path = os.path.join(folder, name + '.slice.ii')
        path = path if os.path.exists(path) else os.path.join(folder, name + '.ii')
        texts.append(broken(open(path, encoding='latin1').read(), ids))
    return info, compiled(info, texts[0], None), compiled(info, texts[1], 0), {n: k for k, n in ids.items()}


def bare(ptx, entry):
    """An entry without places and names of labels."""
    ptx = re.sub(r'(?m)^\s*\.(loc|file).*\n|//.*$', '', ptx)
    ptx = ptx[ptx.find('.entry ' + entry):]
    ptx = re.sub(r'\$L__\w+', 'L', re.sub(r'\$L__\w+:\n(?!\s*\S)', '', ptx[:ptx.find('\n}')]))
    return re.sub(r'\s+', ' ', ptx)


def count(folder):
    info, own, variant, _ = case(folder)
    out = collections.Counter()
    of, fs = functions(own), functions(variant)
    for name, f in fs.items():
        for inst, products, coarse, fine, found in decide(of.get(name, Code([])), f):
            out['sums'] += 1
            if not products:
                if coarse == {'fma'}:
                    out['lost'] += 1  # nvcc's own has a contracted product here, and nothing else
                continue
            out['with product'] += 1
            out['place'] += len(coarse) == 1
            what = {w for w, _ in found}
            out['decided' if len(found) == 1 else 'none' if not found else
                'several' if len(what) > 1 else 'which of two'] += 1
            out['left to ptxas'] += what == {'left'}
    same = bare(own, info['entry']) == bare(open(os.path.join(folder, 'default.ptx')).read(), info['entry'])
    return dict(file=os.path.basename(info['file']), kernel=info['entry'], recipe=info['variant'],
                verdict='taken' if info['verdict'] == 'accepted' else re.sub(r'/\S*/', '', info['verdict']),
                before=re.sub(r'/\S*/', '', info['static']), same=same, counts=out)


def write(folder, path, left, name):
    info, own, variant, ids = case(folder)
    code = functions(own)[info['entry']], functions(variant)[info['entry']]
    for inst, products, _, fine, found in decide(*code):
        if not products:
            continue
        what = {w for w, _ in fine}
        done = {'fma' if w == 'fma' or w == 'left' and left == 'fused' else 'alone' for w in what}
        if len(done) != 1:
            sys.exit('%s says two things' % (ids[int(inst.place[1])],))
        print(ids[int(inst.place[1])], inst.op, inst.operands, *done)
        k = [k for w, k in found if w == 'fma'] or products
        if done == {'fma'} and len(k) == 1 and (found or ('fma', 'x') in fine) and inst.base == 'add':
            mul = code[1].products(inst.operands[k[0]], True)[0]
            variant = variant.replace(
                '%s \t%s;' % (inst.op, ', '.join(inst.operands)), 'fma.rn.%s \t%s, %s, %s, %s;' % (
                    inst.type, inst.operands[0], mul.operands[1], mul.operands[2], inst.operands[3 - k[0]]))
    open(path, 'w').write(variant.replace(info['entry'], name))


def assembled(info, ptx):
    tools = os.path.join(os.path.dirname(info['cicc']), '../../bin/')
    path = os.path.join(WORK, 'own')
    open(path + '.ptx', 'w').write(ptx)
    if subprocess.run([tools + 'ptxas', '-arch', 'sm_90', '--entry', info['entry'], path + '.ptx', '-o',
                       path + '.cubin'], capture_output=True).returncode:
        return None
    return subprocess.run([tools + 'cuobjdump', '-sass', path + '.cubin'], capture_output=True).stdout


def own(folder):
    """Whether nvcc's own build contracts all of a kernel's sums of a product, or none."""
    info = json.load(open(os.path.join(folder, 'info.json')))
    ptx = open(os.path.join(folder, 'default.ptx')).read()
    code = functions(ptx)[info['entry']]
    left = [i for i in code.insts if i.base in ('add', 'sub') and floats(i) and free(i) and
            any(code.products(o, False) for o in i.operands[1:3])]
    fused = any(i.base == 'fma' and floats(i) for i in code.insts)
    two = any(all(code.products(o, False) for o in i.operands[1:3]) for i in left)
    done = {'fused'} if fused else set()
    at = ptx.index('.entry ' + info['entry'])
    end = ptx.find('\n}', at)

    def with_each(rewrite):
        body = ptx[at:end]
        for inst in left:
            body = body.replace('%s \t%s;' % (inst.op, ', '.join(inst.operands)), rewrite(inst))
        return assembled(info, ptx[:at] + body + ptx[end:])

    def alone(inst):
        return '%s.rn%s \t%s;' % (inst.op[:3], inst.op[3:], ', '.join(inst.operands))

    def contracted(inst):
        k = [k for k in (1, 2) if code.products(inst.operands[k], False)][0]
        mul, addend, sign = code.products(inst.operands[k], False)[0], inst.operands[3 - k], ''
        factor = mul.operands[1]
        if inst.base == 'sub':
            sign = 'neg.%s %%gz, %s; ' % (inst.type, addend if k == 1 else factor)
            addend, factor = ('%gz', factor) if k == 1 else (addend, '%gz')
        return '{.reg .%s %%gz; %sfma.rn.%s %s, %s, %s, %s;}' % (
            inst.type, sign, inst.type, inst.operands[0], factor, mul.operands[2], addend)

    if left:
        is_own = assembled(info, ptx)
        done.add('alone' if with_each(alone) == is_own else 'two products' if two else
                 'fused' if with_each(contracted) == is_own else 'both')
    return os.path.basename(info['file']), info['entry'], len(left), ' and '.join(sorted(done)) or 'none'


if __name__ == '__main__':
    verb, args = sys.argv[1], sys.argv[2:]
    if verb == 'write':
        write(*args)
        args = []
    for folder in args:
        try:
            print(json.dumps(count(folder)) if verb == 'count' else '\t'.join(map(str, own(folder))), flush=True)
        except (RuntimeError, KeyError, ValueError) as error:
            print(folder, error, file=sys.stderr)
