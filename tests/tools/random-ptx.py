#!/usr/bin/env python3
"""Prints a module of kernels without loops whose instructions are drawn at random, for 'ptxopt check'.

usage: tests/tools/random-ptx.py SEED COUNT [GROUP...]

GROUP is one or more of those in TEMPLATES; without any, all but those that say why. Each thread loads its own words,
computes, and stores the last results. The kernels are named after the seed, so that SEED and COUNT = 1 repeat the
first one.
"""
import random
import sys

# #R, #D, #H, #P: a new register of 32, 64 or 16 bits, or a predicate; #R': its name again. #T, #U: a new temporary one
# of 32 or 64 bits; #t, #u: its name again. #r, #d, #h, #p: an earlier one. #k, #l: an earlier one of 32 or 64 bits, or
# a number; #f: an earlier one, or a float. #s: a divisor; #S: an amount; #b, #g: a number of bits; #x: a table of LOP3;
# #m: a selector of bytes, #y: one without signs; #c, #v: a comparison. #o: the predicate before it again. #N: a new label; #n: its name
# again.
# #w: segments of a shuffle. #E, #e: labels too.
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNORDERED = COMPARISONS + ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
TEMPLATES = {
    "integer": [
        "add.s32 #R, #r, #k;", "sub.s32 #R, #r, #k;", "sub.s32 #R, #k, #r;", "mul.lo.s32 #R, #r, #k;",
        "mul.hi.s32 #R, #r, #k;", "mul.hi.u32 #R, #r, #k;", "mad.lo.s32 #R, #r, #k, #r;",
        "mad.hi.u32 #R, #r, #r, #r;", "mad.hi.s32 #R, #r, #k, #r;", "neg.s32 #R, #r;", "abs.s32 #R, #r;",
        "min.s32 #R, #r, #k;", "max.s32 #R, #r, #k;", "min.u32 #R, #r, #k;", "max.u32 #R, #r, #k;",
        "sad.s32 #R, #r, #r, #r;", "sad.u32 #R, #r, #r, #r;", "mul.wide.s32 #D, #r, #k;", "mul.wide.u32 #D, #r, #k;",
        "mad.wide.u32 #D, #r, #k, #d;", "mad.wide.s32 #D, #r, #r, #d;", "mul24.lo.s32 #R, #r, #r;",
        "mul24.lo.u32 #R, #r, #r;", "mad24.lo.s32 #R, #r, #r, #r;", "add.s64 #D, #d, #l;", "sub.s64 #D, #d, #l;",
        "mul.lo.s64 #D, #d, #l;", "mad.lo.s64 #D, #d, #d, #d;", "mul.hi.u64 #D, #d, #d;", "mul.hi.s64 #D, #d, #d;",
        "neg.s64 #D, #d;", "abs.s64 #D, #d;", "min.s64 #D, #d, #l;", "max.u64 #D, #d, #l;",
        "dp4a.s32.s32 #R, #r, #r, #r;", "dp4a.u32.s32 #R, #r, #r, #r;", "add.cc.u32 #T, #r, #r; addc.u32 #R, #r, #r;",
        "sub.cc.u32 #T, #r, #r; subc.u32 #R, #r, #r;", "mad.lo.cc.u32 #T, #r, #r, #r; madc.hi.u32 #R, #r, #r, #r;",
        "or.b32 #T, #k, 1; div.u32 #R, #r, #t;", "or.b32 #T, #r, 1; rem.u32 #R, #r, #t;",
        "or.b32 #T, #r, 1; div.s32 #R, #r, #t;", "or.b32 #T, #r, 1; rem.s32 #R, #r, #t;", "div.u32 #R, #r, #s;",
        "rem.s32 #R, #r, #s;", "div.s32 #R, #r, #s;", "div.u64 #D, #d, #s;", "rem.u64 #D, #d, #s;",
        "div.s64 #D, #d, #s;", "or.b64 #U, #d, 1; div.u64 #D, #d, #u;", "or.b64 #U, #d, 1; rem.s64 #D, #d, #u;",
    ],
    "logic": [
        "and.b32 #R, #r, #k;", "or.b32 #R, #r, #k;", "xor.b32 #R, #r, #k;", "not.b32 #R, #r;",
        "lop3.b32 #R, #r, #r, #r, #x;", "and.b64 #D, #d, #l;", "or.b64 #D, #d, #d;", "xor.b64 #D, #d, #l;",
        "not.b64 #D, #d;", "shl.b32 #R, #r, #S;", "shr.u32 #R, #r, #S;", "shr.s32 #R, #r, #S;", "shl.b32 #R, #r, #r;",
        "shr.u32 #R, #r, #r;", "shr.s32 #R, #r, #r;", "shl.b64 #D, #d, #S;", "shr.u64 #D, #d, #S;",
        "shr.s64 #D, #d, #S;", "and.b32 #T, #r, 127; shl.b64 #D, #d, #t;", "and.b32 #T, #r, 127; shr.u64 #D, #d, #t;",
        "and.b32 #T, #r, 127; shr.s64 #D, #d, #t;", "shf.l.wrap.b32 #R, #r, #r, #r;",
        "shf.r.wrap.b32 #R, #r, #r, #S;", "shf.l.clamp.b32 #R, #r, #r, #r;", "shf.r.clamp.b32 #R, #r, #r, #S;",
        "prmt.b32 #R, #r, #r, #y;", "prmt.b32 #R, #r, #r, #r;", "bfe.u32 #R, #r, #b, #b;", "bfe.s32 #R, #r, #g, #b;",
        "bfi.b32 #R, #r, #r, #b, #g;", "bfe.u32 #R, #r, #r, #r;", "bfe.s32 #R, #r, #r, #r;",
        "bfi.b32 #R, #r, #r, #r, #r;", "bfe.s64 #D, #d, #b, #b;", "bfe.u64 #D, #d, #b, #b;",
        "bfi.b64 #D, #d, #d, #b, #g;", "popc.b32 #R, #r;", "clz.b32 #R, #r;", "brev.b32 #R, #r;", "bfind.u32 #R, #r;",
        "bfind.s32 #R, #r;", "bfind.shiftamt.u32 #R, #r;", "popc.b64 #R, #d;", "clz.b64 #R, #d;", "brev.b64 #D, #d;",
        "fns.b32 #R, #r, #b, 1;", "bmsk.clamp.b32 #R, #b, #r;", "szext.clamp.s32 #R, #r, #b;",
        "mov.b64 #D, {#r, #r};", "mov.b64 {#T, #R}, #d;", "cnot.b32 #R, #r;",
    ],
    "select": [
        "setp.#c.s32 #P, #r, #k;", "setp.#c.u32 #P, #r, #k;", "setp.#c.s64 #P, #d, #l;", "setp.#c.u64 #P, #d, #d;",
        "selp.b32 #R, #r, #k, #p;", "selp.b32 #R, #k, #r, #p;", "selp.b64 #D, #d, #l, #p;", "and.pred #P, #p, #p;",
        "or.pred #P, #p, #p;", "xor.pred #P, #p, #p;", "not.pred #P, #p;", "setp.#c.and.s32 #P, #r, #k, #p;",
        "setp.#c.or.u32 #P, #r, #r, #p;", "setp.#c.xor.s64 #P, #d, #d, #p;", "set.#c.s32.s32 #R, #r, #k;",
        "mov.b32 #R, #r; @#p add.s32 #R', #r, #k;",
        "mov.b32 #R, #r; @!#p xor.b32 #R', #r, #k;", "mov.b64 #D, #d; @#p sub.s64 #D', #d, #l;",
    ],
    "convert": [
        "cvt.s64.s32 #D, #r;", "cvt.u64.u32 #D, #r;", "cvt.u32.u64 #R, #d;", "cvt.s32.s8 #R, #r;",
        "cvt.u32.u8 #R, #r;", "cvt.s32.s16 #R, #r;", "cvt.u32.u16 #R, #r;", "cvt.s64.s8 #D, #d;",
    ],
    "float": [
        "add.rn.f32 #R, #r, #r;", "sub.rn.f32 #R, #r, #f;", "mul.rn.f32 #R, #r, #f;", "fma.rn.f32 #R, #r, #r, #r;",
        "add.rz.f32 #R, #r, #r;", "mul.rp.f32 #R, #r, #r;", "fma.rm.f32 #R, #r, #r, #r;",
        "add.rn.ftz.f32 #R, #r, #r;", "mul.rn.ftz.f32 #R, #r, #r;", "fma.rn.ftz.f32 #R, #r, #r, #f;",
        "add.rn.sat.f32 #R, #r, #r;", "mul.rn.sat.f32 #R, #r, #r;", "add.f32 #R, #r, #r;", "mul.f32 #R, #r, #f;",
        "abs.f32 #R, #r;", "add.rn.f32 #T, #r, #r; min.f32 #R, #r, #t;",
        "add.rn.f32 #T, #r, #r; max.f32 #R, #t, #r;", "add.rn.f32 #T, #r, #r; min.ftz.f32 #R, #r, #t;",
        "div.rn.f32 #R, #r, #r;", "rcp.rn.f32 #R, #r;", "sqrt.rn.f32 #R, #r;", "setp.#v.f32 #P, #r, #r;",
        "setp.#v.ftz.f32 #P, #r, #f;", "selp.f32 #R, #r, #r, #p;", "copysign.f32 #R, #r, #r;",
        "testp.normal.f32 #P, #r;", "testp.infinite.f32 #P, #r;", "set.#v.f32.f32 #R, #r, #r;",
        "slct.s32.f32 #R, #r, #r, #r;", "add.rn.f64 #D, #d, #d;", "sub.rn.f64 #D, #d, #d;", "mul.rn.f64 #D, #d, #d;",
        "fma.rn.f64 #D, #d, #d, #d;", "add.rz.f64 #D, #d, #d;", "setp.#v.f64 #P, #d, #d;", "cvt.rn.f32.s32 #R, #r;",
        "cvt.rn.f32.u32 #R, #r;", "cvt.rzi.s32.f32 #R, #r;", "cvt.rzi.u32.f32 #R, #r;", "cvt.rni.s32.f32 #R, #r;",
        "cvt.rmi.f32.f32 #R, #r;", "cvt.rpi.f32.f32 #R, #r;", "cvt.rni.f32.f32 #R, #r;",
        "cvt.rzi.ftz.f32.f32 #R, #r;", "cvt.f64.f32 #D, #r;", "cvt.rn.f32.f64 #R, #d;", "cvt.rz.f32.f64 #R, #d;",
        "cvt.rzi.s64.f32 #D, #r;", "cvt.rzi.u64.f64 #D, #d;", "cvt.rzi.s32.f64 #R, #d;", "cvt.rn.f64.s64 #D, #d;",
        "cvt.rn.f32.u64 #R, #d;", "cvt.rn.f64.u32 #D, #r;", "cvt.sat.f32.f32 #R, #r;",
    ],
    # ptxas 13.0 is known to get these wrong (docs/defects.md).
    "known": [
        "neg.s16 #H, #h;", "bfi.b32 #R, #r, #r, #b, 32;", "shr.u64 #D, #d, #r;", "shl.b64 #D, #d, #r;",
        "bfe.s32 #R, #r, 32, #b;", "prmt.b32 #R, #r, #r, #m;", "slct.s32.s32 #R, #r, #r, #r;", "neg.f32 #R, #r;",
        "cvt.sat.s8.s32 #R, #r;", "cvt.sat.u8.s32 #R, #r;", "cvt.sat.s16.s32 #R, #r;", "cvt.sat.u16.u32 #R, #r;",
        "cvt.sat.s32.s64 #R, #d;", "cvt.sat.u32.s64 #R, #d;", "cvt.sat.u32.s32 #R, #r;",
    ],
    # PTX leaves the bits of a NaN open, and these do not give the canonical one everywhere: not mixed with integers.
    # Above, a minimum has an operand that is never another NaN, because ptxas takes the minimum of x and x for x.
    "payload": [
        "sqrt.rn.f64 #D, #d;", "rcp.rn.f64 #D, #d;", "div.rn.f64 #D, #d, #d;", "neg.f64 #D, #d;", "abs.f64 #D, #d;",
        "min.f64 #D, #d, #d;", "max.f64 #D, #d, #d;", "cvt.rmi.f64.f64 #D, #d;",
    ],
    "half": [
        "add.rn.f16x2 #R, #r, #r;", "sub.rn.f16x2 #R, #r, #r;", "mul.rn.f16x2 #R, #r, #r;",
        "fma.rn.f16x2 #R, #r, #r, #r;", "neg.f16x2 #R, #r;", "add.rn.ftz.f16x2 #R, #r, #r;",
        "mul.rn.sat.f16x2 #R, #r, #r;", "add.rn.f16 #H, #h, #h;", "mul.rn.f16 #H, #h, #h;",
        "fma.rn.f16 #H, #h, #h, #h;", "cvt.f32.f16 #R, #h;", "cvt.rn.f16.f32 #H, #r;", "mov.b32 #R, {#h, #h};",
        "mov.b32 {#H, #H}, #r;", "setp.#v.f16 #P, #h, #h;", "cvt.rzi.s32.f16 #R, #h;", "cvt.rn.f16.s32 #H, #r;",
        "neg.f16 #H, #h;", "cvt.rz.f16.f32 #H, #r;",
    ],
    "short": [
        "add.s16 #H, #h, #h;", "mul.lo.s16 #H, #h, #h;", "mul.wide.s16 #R, #h, #h;", "mul.wide.u16 #R, #h, #h;",
        "min.s16 #H, #h, #h;", "max.u16 #H, #h, #h;", "shl.b16 #H, #h, #b;", "shr.s16 #H, #h, #b;",
        "shr.u16 #H, #h, #b;", "and.b16 #H, #h, #h;", "cvt.u16.u32 #H, #r;", "cvt.s32.s16 #R, #h;",
        "cvt.u32.u16 #R, #h;", "setp.#c.s16 #P, #h, #h;", "selp.b16 #H, #h, #h, #p;", "mul.hi.s16 #H, #h, #h;",
        "cvt.s16.s8 #H, #h;",
    ],
}
# Threads of a warp exchange values: all of them, eights, or those for which a predicate holds. Blocks of one thread have
# no others to read from, so such kernels need more inputs.
EIGHTS = "mov.u32 #T, %laneid; and.b32 #t, #t, 24; shl.b32 #t, 255, #t; "
SOME = "vote.sync.ballot.b32 #T, #p, -1; mov.b32 #R, #r; @!#o bra #N; "
EXCHANGES = ["vote.sync.ballot.b32 #R, #p, %s;", "vote.sync.any.pred #P, #p, %s;", "vote.sync.all.pred #P, #p, %s;",
             "vote.sync.uni.pred #P, #p, %s;", "match.any.sync.b32 #R, #r, %s;", "match.any.sync.b64 #R, #d, %s;",
             "match.all.sync.b32 #R|#P, #r, %s;", "match.all.sync.b64 #R, #d, %s;"]
REDUCTIONS = ["redux.sync.%s #R, #r, %%s;" % operation for operation in
              ("add.s32", "add.u32", "min.s32", "max.s32", "min.u32", "max.u32", "and.b32", "or.b32", "xor.b32")]
# Few different values, or one for all, are what matches are for.
SMALL = "and.b32 #T, #r, 3; "


def exchanges(forms):
    """Exchanges of all threads, of eights, of those with a predicate, and of those and the others apart."""
    kept = [form.replace("#R", "#R'") for form in forms if "#P" not in form]
    some = [SOME + form % "#t" + " #n:" for form in kept]
    both = [SOME + kept[i] % "#t" + " bra.uni #E; #n: not.b32 #t, #t; " + kept[-1 - i] % "#t" + " #e:"
            for i in range(len(kept))]
    return ([form % "-1" for form in forms] + [EIGHTS + form % "#t" for form in forms] + some + both +
            [SMALL + form.replace("#r", "#t") % "-1" for form in forms if "#r" in form])


TEMPLATES["warp"] = exchanges(EXCHANGES) + [
    "shfl.sync.%s.b32 #R|#P, #r, %s, #w, -1;" % form for form in
    (("idx", "#r"), ("idx", "#b"), ("bfly", "#b"), ("bfly", "#r"), ("down", "#b"), ("down", "#r"))] + [
    "shfl.sync.up.b32 #R|#P, #r, #b, 0, -1;", "shfl.sync.up.b32 #R|#P, #r, #r, 0x1800, -1;",
    EIGHTS + "shfl.sync.bfly.b32 #R|#P, #r, #r, 0x181f, #t;", EIGHTS + "shfl.sync.down.b32 #R, #r, 3, 0x181f, #t;",
    EIGHTS + "shfl.sync.up.b32 #R, #r, 3, 0x1800, #t;", EIGHTS + "bar.warp.sync #t;",
    EIGHTS + "shfl.sync.idx.b32 #R|#P, #r, #b, 0x181f, #t;",
    SOME + "bfind.u32 #R', #t; shfl.sync.idx.b32 #R', #r, #R', 31, #t; #n:",
    "bar.red.popc.u32 #R, 0, #p;", "bar.red.and.pred #P, 1, #p;", "bar.red.or.pred #P, 0, #p;", "bar.warp.sync -1;",
]
# From sm_80 on.
TEMPLATES["redux"] = exchanges(REDUCTIONS)
OPTIONAL = ("known", "payload", "warp", "redux")
NUMBERS = (0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 63, 64, 127, 128, 255, 256, 1000, 65535, 65536, 0x7FFFFFFF, -1, -2, -8, -128,
           -32768, -65536, -2147483648)
HEAD = """.version 7.8
.target sm_75
.address_size 64
"""
ENTRY = """.visible .entry %s(.param .u64 .ptr p)
{
    .reg .b64 %%p, %%at, %%d<%d>;
    .reg .b32 %%n, %%r<%d>;
    .reg .b16 %%h<%d>;
    .reg .pred %%q<%d>;
    ld.param.u64 %%p, [p];
    mov.u32 %%r0, %%tid.x;
    mov.u32 %%r1, %%ctaid.x;
    mov.u32 %%n, %%ntid.x;
    mad.lo.s32 %%n, %%r1, %%n, %%r0;
    mul.wide.u32 %%at, %%n, 128;
    add.s64 %%p, %%p, %%at;
    ld.global.v4.u32 {%%r2, %%r3, %%r4, %%r5}, [%%p];
    ld.global.v2.u64 {%%d0, %%d1}, [%%p+16];
    ld.global.u64 %%d2, [%%p+32];
    ld.global.u32 %%r6, [%%p+40];
    ld.global.u16 %%h0, [%%p+44];
    ld.global.u16 %%h1, [%%p+46];
    setp.lt.s32 %%q0, %%r2, %%r3;
    setp.eq.s32 %%q1, %%r4, 0;
"""


class Kernel:
    """The registers so far, by kind, and the statements."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = {"r": 7, "d": 3, "h": 2, "q": 2}
        self.usable = {"r": list(range(7)), "d": list(range(3)), "h": list(range(2)), "q": list(range(2))}
        self.last = {}
        self.labels = 0
        self.lines = []

    def old(self, kind):
        usable = self.usable[kind]
        if self.random.random() < 0.6:
            return f"%{kind}{usable[-1 - self.random.randrange(min(3, len(usable)))]}"
        return f"%{kind}{self.random.choice(usable)}"

    def new(self, kind):
        number = self.count[kind]
        self.count[kind] += 1
        return number

    def operand(self, letter):
        draw = self.random
        if letter in "RDHP":
            kind = {"P": "q"}.get(letter, letter.lower())
            number = self.new(kind)
            self.pending.append((kind, number))
            self.last[letter] = f"%{kind}{number}"
            return self.last[letter]
        if letter in "TU":
            self.last[letter] = f"%{'r' if letter == 'T' else 'd'}{self.new('r' if letter == 'T' else 'd')}"
            return self.last[letter]
        if letter in "tu":
            return self.last[letter.upper()]
        if letter in "rdh":
            return self.old(letter)
        if letter == "p":
            self.last["p"] = self.old("q")
            return self.last["p"]
        if letter == "o":
            return self.last["p"]
        if letter in "NE":
            self.labels += 1
            self.last[letter] = f"L{self.labels}"
            return self.last[letter]
        if letter in "ne":
            return self.last[letter.upper()]
        if letter in "kl":
            return str(draw.choice(NUMBERS)) if draw.random() < 0.3 else self.old("r" if letter == "k" else "d")
        if letter == "f":
            return draw.choice(("0f3F800000", "0fBF800000", "0f40000000", "0f00000000", "0f80000000", "0f3E800000",
                                "0f7F800000", "0f42280000")) if draw.random() < 0.4 else self.old("r")
        return str({"s": lambda: draw.choice((2, 3, 5, 7, 8, 10, 60, 100, 127, 128, 641, 1000, 65537)),
                    "S": lambda: draw.choice((1, 2, 3, 4, 8, 16, 24, 31, 32, 40, 56, 63)),
                    "b": lambda: draw.choice((0, 1, 4, 7, 8, 13, 16, 24, 31, 32)),
                    "g": lambda: draw.choice((0, 1, 4, 7, 8, 13, 16, 24, 31)),
                    "w": lambda: draw.choice((0x1F, 0x101F, 0x181F, 0x1C1F, 0x1E1F, 0x180F, 0x7)),
                    "x": lambda: draw.randrange(256), "m": lambda: draw.randrange(1 << 16),
                    "y": lambda: draw.randrange(1 << 16) & 0x7777,
                    "c": lambda: draw.choice(COMPARISONS), "v": lambda: draw.choice(UNORDERED)}[letter]())

    def statement(self, template):
        self.pending, out, at = [], "", 0
        while at < len(template):
            if template[at] != "#":
                out += template[at]
                at += 1
                continue
            letter = template[at + 1]
            at += 2
            if template[at:at + 1] == "'":
                out += self.last[letter]
                at += 1
            else:
                out += self.operand(letter)
        for kind, number in self.pending:
            self.usable[kind].append(number)
        self.lines.append("    " + out)

    def text(self, name, templates):
        for _ in range(self.random.randrange(3, 25)):
            self.statement(self.random.choice(templates))
        usable = self.usable
        self.lines.append("    selp.b32 %%r2, %%r%d, %%r%d, %%q%d;" % (usable["r"][-1], usable["r"][-2], usable["q"][-1]))
        self.lines.append("    st.global.v2.u32 [%%p+64], {%%r2, %%r%d};" % usable["r"][-1])
        self.lines.append("    st.global.v2.u64 [%%p+80], {%%d%d, %%d%d};" % (usable["d"][-1], usable["d"][-2]))
        self.lines.append("    st.global.u32 [%%p+96], %%r%d;" % usable["r"][-3])
        self.lines.append("    st.global.u16 [%%p+100], %%h%d;" % usable["h"][-1])
        counts = self.count
        head = ENTRY % (name, counts["d"], counts["r"], counts["h"], counts["q"])
        return head + "\n".join(self.lines) + "\n    ret;\n}\n"


def main():
    seed, count, groups = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    groups = groups or [group for group in TEMPLATES if group not in OPTIONAL]
    templates = [template for group in groups for template in TEMPLATES[group]]
    print(HEAD.replace("sm_75", "sm_80") if "redux" in groups else HEAD)
    for i in range(count):
        print(Kernel(seed + i).text(f"k{seed + i}", templates))


main()
