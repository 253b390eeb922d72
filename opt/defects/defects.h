/* Known defects of ptxas: code that it assembles wrongly, without a word. */
#ifndef PTXOPT_OPT_DEFECTS_H
#define PTXOPT_OPT_DEFECTS_H

#include "support/support.h"

typedef enum DefectId {
#define DEFECT(id, ...) DEFECT_##id,
#include "opt/defects/defects.def"
    DEFECT_COUNT
} DefectId;

typedef struct Defect {
    const char *name;
    unsigned first, fixed; /* versions of ptxas: 1206 is 12.6; UINT_MAX: no version is known */
    const char *words;
} Defect;

extern const Defect defect_table[DEFECT_COUNT];

/* The assembler that the code is for. */
typedef struct DefectRequest {
    bool fixes;       /* rewrite the code, else only find it */
    unsigned version; /* 1206 is 12.6; 0: unknown, which may have every defect */
    unsigned arch;    /* the target architecture's number; 0: unknown, nothing is found */
    bool or_newer;    /* the code may be assembled for any newer one as well */
} DefectRequest;

/* The version as DefectRequest has it, of "13.0.88"; 0 if the text is none. */
unsigned defect_version(const char *text);
/* True if that assembler has the defect. */
bool defect_applies(DefectId id, const DefectRequest *request);

typedef struct DefectNote {
    DefectId id;
    Span span; /* of the instruction; empty: a pass has made it */
    bool is_fixed;
} DefectNote;

typedef struct DefectList {
    VEC(DefectNote) items;
} DefectList;

#endif
