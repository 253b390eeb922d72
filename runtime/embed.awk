# Makes the header that ptxopt-nvcc includes in compiled host code: the launch adapter as assembler text, and the names
# under which that host code then refers to the runtime's functions. So an object needs nothing else to be linked, and
# whoever links it need not know.
#
# awk -v prefix=NAME_ -f embed.awk WRAPPED.DEF SYMBOLS ADAPTER.S, where SYMBOLS are those that the assembler text
# defines, one a line. All of them get the prefix, and all sections become one group (COMDAT): a linker keeps the first
# group of that name. The prefix has the version in it, so that objects of different versions can be linked together.

# Names are renamed one by one, because an instruction may be called like a variable ("lock").
function renamed(text,   result, name) {
    result = ""
    while (match(text, /[A-Za-z_.][A-Za-z0-9_.]*/)) {
        name = substr(text, RSTART, RLENGTH)
        result = result substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + RLENGTH)
        result = result (name in own ? own[name] : name ~ /^\.L/ ? ".L" prefix substr(name, 3) : name)
    }
    return result text
}

function put(line) {
    gsub(/\\/, "&&", line)
    gsub(/"/, "\\\"", line)
    print "\"" line "\\n\""
}

# NAME[,"FLAGS"[,@TYPE[,SIZE]]]. A section that was there before is named alone.
function put_section(text,   parts, count, i, line) {
    count = split(text, parts, ",")
    if (count == 1 && parts[1] in sections) {
        put(sections[parts[1]])
        return
    }
    if (count < 2)
        parts[2] = parts[1] ~ /^\.text/ ? "\"ax\"" : "\"aw\""
    if (count < 3)
        parts[3] = parts[1] ~ /^\.bss/ ? "@nobits" : "@progbits"
    line = "\t.section\t" parts[1] "," substr(parts[2], 1, length(parts[2]) - 1) "G\"," parts[3]
    for (i = 4; i <= count; i++)
        line = line "," parts[i]
    line = line "," prefix "adapter,comdat"
    sections[parts[1]] = line
    put(line)
}

# Queries of which CUDA's headers declare a C++ function first. clang, as the host compiler, would take that for the one
# to rename; there these queries are about the original.
BEGIN {
    overloaded["cudaFuncGetAttributes"] = overloaded["cudaOccupancyMaxActiveBlocksPerMultiprocessor"] = 1
    overloaded["cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"] = 1
}

FNR == 1 { file++ }

file == 1 && match($0, /^WRAPPED\(.*\)/) { wrapped[++wrapped_count] = substr($0, 9, RLENGTH - 9) }

file == 2 && !/^\.L/ {
    name = $0
    sub(/^ptxopt_/, "", name)
    own[$0] = prefix name
}

file == 3 && FNR == 1 {
    print "/* Made from runtime/ by embed.awk; see there. For host code that nvcc has taken apart. */"
    print "#if !defined(PTXOPT_EMBEDDED_H) && !defined(__CUDACC__)"
    print "#define PTXOPT_EMBEDDED_H"
    for (i = 1; i <= wrapped_count; i++)
        if (!(wrapped[i] in overloaded))
            print "#pragma redefine_extname " wrapped[i] " " prefix wrapped[i]
    print "#ifndef __clang__"
    for (name in overloaded)
        print "#pragma redefine_extname " name " " prefix name
    print "#endif"
    print "__asm__("
    put("\t.pushsection\t.text")
}

# Sections that are only notes are the compiler's own to write.
file == 3 && /^\t\.(section|text|data|bss)/ { is_note = $0 ~ /^\t\.section\t\.note/ }
file != 3 || is_note || /^#/ || /^[ \t]*$/ || /^\t\.(file|ident|addrsig|addrsig_sym)/ { next }
/^\t\.section\t/ { put_section(substr($0, 11)); next }
/^\t\.(text|data|bss)$/ { put_section(substr($0, 2)); next }
/^\t\.(string|ascii|asciz)/ { put($0); next }
/^\t/ {
    end = index(substr($0, 2), "\t")
    put(end ? substr($0, 1, end + 1) renamed(substr($0, end + 2)) : $0)
    next
}
{ put(renamed($0)) }

END {
    put("\t.popsection")
    print ");"
    print "#endif"
}
