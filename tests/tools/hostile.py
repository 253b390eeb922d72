#!/usr/bin/env python3
"""hostile.py FOLDER COUNT: writes FOLDER/NUMBER.ptx, each with COUNT of something, and prints a line for each:
NUMBER, the exit status that the program must end with, a name and a part of its first message, separated by tabs.
Status 0 without a message: accepted in silence."""
import sys

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
ENTRY = HEAD + ".visible .entry k(.param .u64 p)\n{\n"
REGISTERS = ENTRY + ".reg .pred %q<2>;\n.reg .b32 %r<4>;\n.reg .f32 %f<4>;\n"
INDEXED = (  # %r1 is the thread's index, %p where its result goes
    REGISTERS + ".reg .b64 %p;\nmov.u32 %r1, %tid.x;\nld.param.u64 %p, [p];\nmad.wide.u32 %p, %r1, 4, %p;\n"
    "mov.u32 %r2, 0;\nmov.u32 %r3, 0;\n"
)
LONG = 70000  # a list that no instruction has room for
END = "ret;\n}\n"


def many(count, text):
    return "".join(text.replace("#", str(i)) for i in range(count))


def backwards(count, text):
    return "".join(text.replace("#", str(i)) for i in range(count - 1, -1, -1))


def listed(count, text):
    return ",".join(text.replace("#", str(i)) for i in range(count))


# name: (status, message, text of n)
INPUTS = {
    # Nesting
    "open braces": (1, "unexpected end of file, expected a statement or '}'", lambda n: ENTRY + "{" * n),
    "open braces at module scope": (1, "unexpected '{', expected a declaration", lambda n: HEAD + "{" * n),
    "nested scopes": (0, "", lambda n: ENTRY + "{" * n + "}" * n + END),
    "nested scopes with registers": (
        0,
        "",
        lambda n: ENTRY + "{.reg .b32 %a<3>;\nmov.u32 %a1, 1;\n" * n + "}" * n + END,
    ),
    "nested scopes, names of the outermost": (
        0,
        "",
        lambda n: REGISTERS + "{.reg .b32 %b<3>;" * n + "mov.u32 %r1, 1;\n" * n + "}" * n + END,
    ),
    "closing braces": (1, "unexpected '}', expected a declaration", lambda n: ENTRY + "}" * n),
    "parentheses": (0, "", lambda n: REGISTERS + "mov.u32 %r1, " + "(" * n + "1" + ")" * n + ";\n" + END),
    "open parentheses": (1, "unexpected end of file", lambda n: REGISTERS + "mov.u32 %r1, " + "(" * n),
    "brackets": (1, "unexpected '['", lambda n: REGISTERS + "ld.u32 %r1, " + "[" * n + ";\n}\n"),
    "minus signs": (0, "", lambda n: REGISTERS + "mov.u32 %r1, " + "- " * n + "1;\n" + END),
    "tildes": (0, "", lambda n: REGISTERS + "mov.u32 %r1, " + "~" * n + "1;\n" + END),
    "casts": (0, "", lambda n: REGISTERS + "mov.u32 %r1, " + "(.s64)" * n + "1;\n" + END),
    "sums": (0, "", lambda n: REGISTERS + "mov.u32 %r1, 1" + "+1" * n + ";\n" + END),
    "questions": (0, "", lambda n: REGISTERS + "mov.u32 %r1, " + "1?" * n + "1" + ":1" * n + ";\n" + END),
    "nested initial values": (
        1,
        "too many levels of braces for 'a'",
        lambda n: HEAD + ".global .u32 a[1] = " + "{" * n + "1" + "}" * n + ";\n",
    ),
    "nesting beyond the limit": (1, "this is nested too deeply", lambda n: ENTRY + "{" * 1000000 + "}" * 1000000 + END),
    # Numbers of things
    "labels": (0, "", lambda n: ENTRY + many(n, "L#:\nbra L#;\n") + END),
    "unknown labels": (1, "unknown label 'L0'", lambda n: ENTRY + many(n, "bra L#;\n") + END),
    "one unknown label": (1, "unknown label 'L'", lambda n: ENTRY + "bra L;\n" * n + END),
    "scopes": (0, "", lambda n: ENTRY + "{.reg .b32 %a;}\n" * n + END),
    "syntax errors": (1, "unexpected 'baz', expected ',' or ';'", lambda n: ENTRY + "foo bar baz;\n" * n + "}\n"),
    "unknown registers": (1, "unknown register '%u0'", lambda n: ENTRY + many(n, "mov.u32 %u#, %v#;\n") + "}\n"),
    "stray bytes": (1, "control character 0x01 is not white space in PTX", lambda n: ENTRY + "\x01 " * n + "}\n"),
    "semicolons": (1, "unexpected ';', expected a statement or '}'", lambda n: ENTRY + ";" * n + "}\n"),
    "commas": (1, "unexpected ','", lambda n: ENTRY + "add " + "," * n + ";\n}\n"),
    "guards": (1, "unexpected '@', expected a name or '!'", lambda n: ENTRY + "@" * n + END),
    "quotes": (1, "unexpected '\"\"', expected a declaration", lambda n: HEAD + '"' * n),
    "headers": (1, "'.target ARCHITECTURE' must follow", lambda n: ".version 8.0\n" * n),
    "instructions in one line": (0, "", lambda n: REGISTERS + "mov.u32 %r1, 1;" * n + END),
    "a file without its line": (1, "file index 1 is already used", lambda n: HEAD + '.file 1 "a"\n' * n),
    "variables of one name": (1, "'a' is already declared", lambda n: HEAD + ".global .u32 a;\n" * n),
    "declarations of one function": (0, "", lambda n: HEAD + ".extern .func f();\n" * n),
    "ranges of registers": (0, "", lambda n: ENTRY + many(n, ".reg .b32 %r#_<1000000000>;\n") + END),
    "inlined places": (
        0,
        "",
        lambda n: HEAD + '.file 1 "a"\n.visible .entry k()\n{\n.loc 1 1 1\n'
        + ".loc 1 2 3, function_name $L, inlined_at 1 1 1\n" * n + END
        + ".section .debug_str\n{\n$L:\n.b8 0\n}\n",
    ),
    "a chain of calls": (
        0,
        "",
        lambda n: HEAD + ".func f0()\n{\nret;\n}\n"
        + "".join(".func f%d()\n{\ncall f%d;\nret;\n}\n" % (i, i - 1) for i in range(1, n))
        + ".visible .entry k()\n{\ncall f%d;\nret;\n}\n" % (n - 1),
    ),
    "a circle of calls": (
        0,
        "",
        lambda n: HEAD + many(n, ".func f#();\n") + "".join(".func f%d()\n{\ncall f%d;\nret;\n}\n" % (i, (i
        + 1) % n) for i in range(n)) + ".visible .entry k()\n{\ncall f0;\nret;\n}\n",
    ),
    "a chain of initial values": (
        0,
        "",
        lambda n: HEAD + ".global .u64 v0 = 0;\n"
        + "".join(".global .u64 v%d = v%d;\n" % (i, i - 1) for i in range(1, n)),
    ),
    "an initial value of itself": (1, "unknown variable or function 'a'", lambda n: HEAD + ".global .u64 a = a;\n"),
    "parameters of an entry": (
        1,
        "the parameters of an entry cannot be larger than 32764 bytes in total",
        lambda n: HEAD + ".visible .entry k(" + listed(n, ".param .u32 p#") + ")\n{\n" + END,
    ),
    "parameters of a function": (
        1,
        "this list is too long",
        lambda n: HEAD + ".func f(" + listed(LONG, ".reg .u32 p#")
        + ")\n{\nret;\n}\n.visible .entry k()\n{\n.reg .u32 a;\ncall f, (" + listed(LONG, "a") + ");\n" + END,
    ),
    "branch targets": (
        0,
        "",
        lambda n: REGISTERS + "T: .branchtargets " + listed(n, "L#") + ";\nbrx.idx %r1, T;\n"
        + many(n, "L#:\nret;\n") + "}\n",
    ),
    "ways through a switch on the thread's index": (
        0,
        "",
        lambda n: INDEXED + "T: .branchtargets " + listed(n, "L#") + ";\nbrx.idx %r1, T;\n"
        + many(n, "L#: add.u32 %r2, %r2, #;\nbra J;\n") + "J: st.global.u32 [%p], %r2;\n" + END,
    ),
    "conditions on the thread's index": (
        0,
        "",
        lambda n: INDEXED + many(n, "setp.gt.u32 %q1, %r1, #;\n@%q1 bra L#;\nadd.u32 %r2, %r2, #;\nL#:\n")
        + "st.global.u32 [%p], %r2;\n" + END,
    ),
    "ways out of a loop": (
        0,
        "",
        lambda n: INDEXED + "H: add.u32 %r3, %r3, 1;\n"
        + many(n, "add.u32 %r2, %r2, %r3;\nsetp.gt.u32 %q1, %r2, #;\n@%q1 bra X;\n")
        + "setp.lt.u32 %q1, %r3, %r1;\n@%q1 bra H;\nX: st.global.u32 [%p], %r2;\n" + END,
    ),
    "branches out": (0, "", lambda n: REGISTERS + many(n, "@%q1 bra L#;\n") + many(n, "L#:\n") + END),
    "nested branches": (
        0,
        "",
        lambda n: REGISTERS + many(n, "@%q1 bra L#;\n") + "ret;\n" + backwards(n, "L#:\n") + END,
    ),
    "nested loops": (0, "", lambda n: REGISTERS + many(n, "L#:\n") + backwards(n, "@%q1 bra L#;\n") + END),
    "misspelt modifiers": (
        1,
        "unknown modifier '.f0x' for 'tex'",
        lambda n: REGISTERS + many(n, "tex.2d.v4.f#x.s32 %r1, %r2;\n") + END,
    ),
    "aliases": (0, "", lambda n: HEAD + ".func f()\n{\nret;\n}\n" + many(n, ".func a#();\n.alias a#, f;\n")),
    "line ends": (0, "", lambda n: HEAD + "\n" * n),
    # Sizes
    "elements of a vector": (
        1,
        "this list is too long",
        lambda n: REGISTERS + "mov.b64 {" + listed(LONG, "%r1") + "}, %r2;\n}\n",
    ),
    "operands": (
        1,
        "this instruction has too many operands",
        lambda n: REGISTERS + "add.u32 " + listed(LONG, "%r1") + ";\n}\n",
    ),
    "operands of an unknown instruction": (
        1,
        "this instruction has too many operands",
        lambda n: REGISTERS + "foo.u32 " + listed(LONG, "%r1") + ";\n}\n",
    ),
    "modifiers": (
        1,
        "'add' has too many modifiers",
        lambda n: REGISTERS + "add" + ".u32" * n + " %r1, %r1, %r1;\n}\n",
    ),
    "modifiers of an unknown instruction": (
        0,
        "unknown instruction 'foo'",
        lambda n: REGISTERS + "foo" + ".u32" * n + " %r1, %r1, %r1;\n" + END,
    ),
    "dimensions": (0, "", lambda n: HEAD + ".global .u32 a" + "[1]" * n + ";\n"),
    "dimensions whose product overflows": (
        1,
        "'a' is too large",
        lambda n: HEAD + ".global .u32 a[18446744073709551615][18446744073709551615];\n",
    ),
    "bytes that overflow": (1, "'b' is too large", lambda n: HEAD + ".global .u64 b[4611686018427387904];\n"),
    "an alignment that is not a power of two": (
        1,
        "an alignment must be a power of two",
        lambda n: HEAD + ".global .align 18446744073709551615 .u32 b;\n",
    ),
    "a range of 2^32 registers": (
        1,
        "this range is too large",
        lambda n: ENTRY + ".reg .b32 %s<4294967296>;\n" + END,
    ),
    "the last of 2^32-1 registers": (
        0,
        "",
        lambda n: ENTRY + ".reg .b32 %r<4294967295>;\nmov.u32 %r4294967294, %r1;\n" + END,
    ),
    "initial values": (0, "", lambda n: HEAD + ".global .u32 a[%d] = {" % n + listed(n, "1") + "};\n"),
    "digits": (1, "this constant does not fit in 64 bits", lambda n: REGISTERS + "mov.u32 %r1, " + "1" * n + ";\n}\n"),
    "digits that are 0": (0, "", lambda n: REGISTERS + "mov.u32 %r1, 0x" + "0" * n + ";\n" + END),
    "digits after the point": (0, "", lambda n: REGISTERS + "mov.f32 %f1, 0." + "1" * n + ";\n" + END),
    "letters of a string": (0, "", lambda n: HEAD + '.file 1 "' + "x" * n + '"\n'),
    "letters of a name": (0, "", lambda n: ENTRY + "x" * n + ":\n" + END),
    "letters of a modifier": (1, "unknown modifier", lambda n: REGISTERS + "add." + "x" * n + " %r1, %r2, %r3;\n}\n"),
    "a comment without an end": (1, "unterminated comment", lambda n: HEAD + "/* " * n),
    "a comment to the end": (0, "", lambda n: HEAD + "//" + "x" * n),
    "bytes of a section": (0, "", lambda n: HEAD + ".section .debug_info\n{\n.b8 " + listed(n, "1") + "\n}\n"),
    "pragmas": (0, "", lambda n: ENTRY + '.pragma "nounroll";\n' * n + END),
    # Bytes
    "nothing": (1, "a module begins with '.version MAJOR.MINOR', not with end of file", lambda n: ""),
    "a NUL byte": (1, "the text contains a NUL byte", lambda n: HEAD + "\0" + END),
    "a NUL byte at the end": (0, "", lambda n: ENTRY + END + "\0"),
    "two NUL bytes at the end": (1, "the text contains a NUL byte", lambda n: ENTRY + END + "\0\0"),
    "a NUL byte in a comment": (1, "the text contains a NUL byte", lambda n: HEAD + "// \0\n"),
    "NUL bytes alone": (1, "the text contains a NUL byte", lambda n: "\0" * n),
    "a byte order mark": (1, "this begins with a byte order mark", lambda n: "\xef\xbb\xbf" + HEAD),
    "UTF-16": (1, "the text contains a NUL byte", lambda n: "\xff\xfe.\0v\0e\0r\0"),
    "Latin-1 in a comment": (1, "PTX is ASCII text; this is byte 0xE9", lambda n: HEAD + "// caf\xe9\n"),
    "half a UTF-8 character in a string": (
        1,
        "PTX is ASCII text; this is byte 0xC3",
        lambda n: HEAD + '.file 1 "caf\xc3"\n',
    ),
    "carriage return and line feed": (0, "", lambda n: (ENTRY + END).replace("\n", "\r\n")),
    "carriage returns alone": (0, "", lambda n: (ENTRY + END).replace("\n", "\r")),
    "a file for another program": (1, "is not PTX but an ELF file", lambda n: "\x7fELF\x02\x01\x01\0"),
    "a cubin": (1, "is not PTX but a cubin", lambda n: "\x7fELF\x02\x01\x01" + "\0" * 9 + "\x02\0\xbe\0"),
    "a fat binary": (1, "is not PTX but a fat binary", lambda n: "\x50\xed\x55\xba\x01\0"),
    "a fat binary's wrapper": (1, "is not PTX but a fat binary", lambda n: "\xb1\x43\x62\x46\x01\0"),
    "LLVM bitcode": (1, "is not PTX but LLVM bitcode", lambda n: "BC\xc0\xde\x35\x14"),
    "LLVM IR": (1, "is not PTX but LLVM IR", lambda n: "; ModuleID = 'k.cu'\nsource_filename = \"k.cu\"\n"),
    "CUDA source code": (1, "is not PTX but CUDA source", lambda n: "/* a */ // b\n__global__ void k() {}\n"),
    "words of other languages in comments": (0, "", lambda n: "// __global__\n/* ; ModuleID */" + ENTRY + END),
    "an end in the middle of a word": (1, "unexpected end of file", lambda n: ENTRY + "mov.u"),
}


def main():
    folder, count = sys.argv[1], int(sys.argv[2])
    for number, (name, (status, message, text)) in enumerate(INPUTS.items()):
        with open("%s/%d.ptx" % (folder, number), "wb") as file:
            file.write(text(count).encode("latin-1"))
        print("%d\t%d\t%s\t%s" % (number, status, name, message))


main()
