/* The interpreter of machine code: instructions with known operands and results. The registers R4 to R9 and the
 * predicate P0 are set before, R2, R3 and P1 are looked at afterwards. suite/check runs whole kernels. */
#include "machine/internal.h"
#include "parsed.h"

typedef struct Case {
    const char *text;
    uint32_t in[6];  /* R4 .. R9 */
    bool p0;
    uint32_t d2, d3; /* R2, R3; both are 0xcccccccc before */
    bool p1;         /* false before */
} Case;

enum { UNTOUCHED = (int)0xcccccccc };

#define ONE 0x3f800000
#define TWO 0x40000000
#define NAN32 0x7fffffff
#define LEAST 0x80000000
#define MOST 0xffffffff

static const Case cases[] = {
    /* Sums and carries. */
    {"IADD3 R2, R4, R5, R6", {1, 2, 3}, false, 6, UNTOUCHED, false},
    {"IADD3 R2, P1, R4, R5, RZ", {MOST, 1}, false, 0, UNTOUCHED, true},
    {"IADD3 R2, P1, PT, R4, R5, RZ", {MOST, 0}, false, MOST, UNTOUCHED, false},
    {"IADD3 R2, P1, R4, -R5, RZ", {5, 5}, false, 0, UNTOUCHED, true},
    {"IADD3 R2, P1, R4, -R5, RZ", {5, 6}, false, MOST, UNTOUCHED, false},
    {"IADD3 R2, P1, R4, -R5, RZ", {5, 0}, false, 5, UNTOUCHED, true},
    {"IADD3 R2, P3, P1, R4, R5, R6", {MOST, MOST, MOST}, false, 0xfffffffd, UNTOUCHED, true},
    {"IADD3 R2, P3, P1, R4, R5, R6", {MOST, MOST, 1}, false, MOST, UNTOUCHED, false},
    {"IADD3.X R2, R4, ~R5, RZ, P0, !PT", {7, 5}, true, 2, UNTOUCHED, false},
    {"IADD3.X R2, R4, ~R5, RZ, P0, !PT", {7, 5}, false, 1, UNTOUCHED, false},
    {"IADD3.X R2, P1, PT, R4, R5, RZ, P0, !PT", {MOST, 0}, true, 0, UNTOUCHED, true},
    {"IADD3 R2, R4, 0x10, RZ", {1}, false, 17, UNTOUCHED, false},
    {"IADD3 R2, R4.reuse, -0x10, RZ", {1}, false, 0xfffffff1, UNTOUCHED, false},
    {"VIADD R2, R4, 0xffffffff", {1}, false, 0, UNTOUCHED, false},
    {"IADD.64 R2, R4, R6", {MOST, 1, 1, 2}, false, 0, 4, false},
    {"IADD.64 R2, R4, -R6", {0, 1, 1, 0}, false, MOST, 0, false},
    {"IADD.64 R2, R4, -0x4", {0, 1}, false, 0xfffffffc, 0, false},
    {"UIADD3.64 UR4, UPT, UPT, UR4, 0x4, URZ", {0}, false, UNTOUCHED, UNTOUCHED, false},
    {"VIADD.16x2 R2, R4, -R5", {0x0001ffff, 0x00020001}, false, 0xfffffffe, UNTOUCHED, false},
    {"VIADD.16x2 R2, R4, R5", {0x0001ffff, 0x00020001}, false, 0x00030000, UNTOUCHED, false},
    {"VIADD.U8x4 R2, R4, -R5", {0x01020304, 0x02020203}, false, 0xff000101, UNTOUCHED, false},
    {"VIADD.S32.ISAT R2, R4, R5", {0x7fffffff, 1}, false, 0x7fffffff, UNTOUCHED, false},
    {"VIADD.S32.ISAT R2, R4, -R5", {LEAST, LEAST}, false, 0, UNTOUCHED, false},
    {"VIADD.S32.ISAT R2, R4, -R5", {LEAST, 1}, false, LEAST, UNTOUCHED, false},
    {"IABS R2, R4", {0xfffffff0}, false, 16, UNTOUCHED, false},
    {"VABSDIFF R2, R4, R5, R6", {MOST, 3, 10}, false, 14, UNTOUCHED, false},
    {"VABSDIFF.U32 R2, R4, R5, RZ", {MOST, 3}, false, 0xfffffffc, UNTOUCHED, false},
    {"VABSDIFF4.U8 R2, R4, R5, R6", {0x01ff0305, 0x02000303, 7}, false, 0x01ff0002, UNTOUCHED, false},
    {"VABSDIFF4.U8.ACC R2, R4, R5, R6", {0x01ff0305, 0x02000303, 7}, false, 265, UNTOUCHED, false},
    /* Products. */
    {"IMAD R2, R4, R5, R6", {3, 5, 7}, false, 22, UNTOUCHED, false},
    {"IMAD R2, R4, R5, -R6", {3, 5, 7}, false, 8, UNTOUCHED, false},
    {"IMAD.MOV.U32 R2, RZ, RZ, R4", {9}, false, 9, UNTOUCHED, false},
    {"IMAD.SHL.U32 R2, R4, 0x8, RZ", {3}, false, 24, UNTOUCHED, false},
    {"IMAD.X R2, R4, 0x1, ~R5, P0", {7, 5}, true, 2, UNTOUCHED, false},
    {"IMAD.WIDE R2, R4, R5, R6", {MOST, 2, 1, 0}, false, MOST, MOST, false},
    {"IMAD.WIDE.U32 R2, R4, R5, R6", {MOST, 2, 1, 0}, false, MOST, 1, false},
    {"IMAD.WIDE.U32 R2, P1, R4, R5, R6", {MOST, MOST, MOST, MOST}, false, 0, 0xfffffffe, true},
    {"IMAD.WIDE.U32.X R2, R4, R5, R6, P0", {2, 3, 4, 5}, true, 11, 5, false},
    {"IMAD.HI R2, R4, R5, RZ", {LEAST, 2}, false, MOST, UNTOUCHED, false},
    {"IMAD.HI.U32 R2, R4, R5, R6", {LEAST, 2, 0, 7}, false, 8, UNTOUCHED, false},
    {"IDP.4A.S8.S8 R2, R4, R5, R6", {0xff020304, 0x01010101, 10}, false, 18, UNTOUCHED, false},
    {"IDP.4A.U8.S8 R2, R4, R5, R6", {0xff020304, 0x01010101, 10}, false, 274, UNTOUCHED, false},
    {"IDP.2A.LO.S16.S8 R2, R4, R5, R6", {0xffff0003, 0x0101ff02, 10}, false, 17, UNTOUCHED, false},
    {"IDP.2A.LO.S16.U8 R2, R4, R5, R6", {0xffff0003, 0x0101ff02, 10}, false, 0xffffff11, UNTOUCHED, false},
    {"IDP.2A.HI.U16.S8 R2, R4, R5, R6", {0xffff0003, 0xff020000, 10}, false, 0xffff0011, UNTOUCHED, false},
    /* Shifts. */
    {"SHF.L.U32 R2, R4, 0x4, RZ", {0xf0000001}, false, 16, UNTOUCHED, false},
    {"SHF.L.U32 R2, R4, R5, RZ", {1, 32}, false, 0, UNTOUCHED, false},
    {"SHF.L.U64.HI R2, R4, 0x4, R5", {0xf0000001, 1}, false, 0x1f, UNTOUCHED, false},
    {"SHF.L.U64.HI R2, R4, R6, R5", {1, 0, 63}, false, LEAST, UNTOUCHED, false},
    {"SHF.L.U64.HI R2, R4, R6, R5", {1, 1, 64}, false, 0, UNTOUCHED, false},
    {"SHF.L.W.U32.HI R2, R4, 0x24, R5", {0xf0000000, 1}, false, 0x1f, UNTOUCHED, false},
    {"SHF.R.U32.HI R2, RZ, 0x4, R4", {0xf0000000}, false, 0x0f000000, UNTOUCHED, false},
    {"SHF.R.S32.HI R2, RZ, 0x1f, R4", {LEAST}, false, MOST, UNTOUCHED, false},
    {"SHF.R.S32.HI R2, RZ, R5, R4", {LEAST, 40}, false, MOST, UNTOUCHED, false},
    {"SHF.R.U64 R2, R4, 0x4, R5", {0x10, 0xf}, false, 0xf0000001, UNTOUCHED, false},
    {"SHF.R.S64 R2, R4, R6, R5", {0, LEAST, 70}, false, MOST, UNTOUCHED, false},
    {"LEA R2, P1, R4, R5, 0x2", {0x40000001, MOST}, false, 3, UNTOUCHED, true},
    {"LEA R2, P1, R4, R5, 0x2", {0x40000001, 1}, false, 5, UNTOUCHED, false},
    {"LEA R2, -R4, R5, 0x3", {1, 10}, false, 2, UNTOUCHED, false},
    {"LEA.HI R2, R4, R5, RZ, 0x4", {0xf0000000, 1}, false, 16, UNTOUCHED, false},
    {"LEA.HI R2, R4, -R5, RZ, 0x9", {0xff800000, 1}, false, 0x1fe, UNTOUCHED, false},
    {"LEA.HI.X R2, R4, R5, R6, 0x2, P0", {0xc0000000, 1, 1}, true, 9, UNTOUCHED, false},
    {"LEA.HI.X.SX32 R2, R4, R5, 0x2, P0", {LEAST, 1}, true, 0, UNTOUCHED, false},
    {"LEA.HI.SX32 R2, R4, R5, 0x1f", {6, 1}, false, 4, UNTOUCHED, false},
    {"SGXT R2, R4, 0x10", {0x00018000}, false, 0xffff8000, UNTOUCHED, false},
    {"SGXT.U32 R2, R4, 0x10", {0x00018000}, false, 0x8000, UNTOUCHED, false},
    {"BMSK R2, R4, R5", {4, 8}, false, 0xff0, UNTOUCHED, false},
    {"BMSK R2, R4, R5", {4, 40}, false, 0xfffffff0, UNTOUCHED, false},
    {"POPC R2, R4", {0xf0f}, false, 8, UNTOUCHED, false},
    {"FLO.U32 R2, R4", {0}, false, MOST, UNTOUCHED, false},
    {"FLO.U32 R2, R4", {0x100}, false, 8, UNTOUCHED, false},
    {"FLO R2, R4", {0xffffff00}, false, 7, UNTOUCHED, false},
    {"FLO.U32.SH R2, R4", {0x100}, false, 23, UNTOUCHED, false},
    {"BREV R2, R4", {1}, false, LEAST, UNTOUCHED, false},
    {"PRMT R2, R4, 0x4321, R5", {0x03020100, 0x07060504}, false, 0x04030201, UNTOUCHED, false},
    {"PRMT R2, R4, 0x9910, RZ", {0x00008000}, false, 0xffff8000, UNTOUCHED, false},
    {"PRMT.F4E R2, R4, 0xa, R5", {0x03020100, 0x07060504}, false, 0x05040302, UNTOUCHED, false},
    {"PRMT.B4E R2, R4, 0x1, R5", {0x03020100, 0x07060504}, false, 0x06070001, UNTOUCHED, false},
    {"PRMT.RC8 R2, R4, R6, R5", {0x03020100, 0, 6}, false, 0x02020202, UNTOUCHED, false},
    {"PRMT.ECL R2, R4, 0x2, R5", {0x03020100}, false, 0x03020202, UNTOUCHED, false},
    {"PRMT.ECR R2, R4, 0x1, R5", {0x03020100}, false, 0x01010100, UNTOUCHED, false},
    {"PRMT.RC16 R2, R4, 0x3, R5", {0x03020100}, false, 0x03020302, UNTOUCHED, false},
    /* Logic, selection, predicates. */
    {"LOP3.LUT R2, R4, R5, R6, 0x96, !PT", {1, 3, 7}, false, 5, UNTOUCHED, false},
    {"LOP3.LUT R2, R4, R5, R6, 0xe2, !PT", {0xf0, 0x0f, 0xff}, false, 0xf0, UNTOUCHED, false},
    {"LOP3.LUT R2, R4, R5, R6, 0x30, !PT", {0xf0, 0xcc}, false, 0x30, UNTOUCHED, false},
    {"LOP3.LUT R2, R4, R5, R6, 0x0a, !PT", {0xf0, 0, 0xcc}, false, 0x0c, UNTOUCHED, false},
    {"LOP3.LUT P1, RZ, R4, 0x1, RZ, 0xc0, !PT", {3}, false, UNTOUCHED, UNTOUCHED, true},
    {"LOP3.LUT P1, RZ, R4, 0x1, RZ, 0xc0, !PT", {2}, false, UNTOUCHED, UNTOUCHED, false},
    {"PLOP3.LUT P1, PT, P0, PT, PT, 0x80, 0x8", {0}, true, UNTOUCHED, UNTOUCHED, true},
    {"PLOP3.LUT P1, PT, P0, PT, PT, 0x8, 0x0", {0}, false, UNTOUCHED, UNTOUCHED, true},
    {"PLOP3.LUT P1, PT, R4.SIGN, R5.reuse.SIGN, P0, 0x20, 0x0", {LEAST, 1}, true, UNTOUCHED, UNTOUCHED, true},
    {"PLOP3.LUT P1, PT, R4.SIGN, R5.SIGN, P0, 0x20, 0x0", {LEAST, MOST}, true, UNTOUCHED, UNTOUCHED, false},
    {"PLOP3.LUT P1, PT, P0, c[0x0] [0x8].SIGN, P0, 0x80, 0x0", {0}, true, UNTOUCHED, UNTOUCHED, true},
    {"SEL R2, R4, R5, P0", {1, 2}, true, 1, UNTOUCHED, false},
    {"SEL R2, R4, R5, !P0", {1, 2}, true, 2, UNTOUCHED, false},
    {"SEL.64 R2, R4, -0x1, P0", {1, 2}, false, MOST, MOST, false},
    {"FSEL R2, R4, -R5, P0", {ONE, ONE}, false, 0xbf800000, UNTOUCHED, false},
    {"MOV.64 R2, 0xfff8000000000001", {0}, false, 1, 0xfff80000, false},
    {"P2R R2, PR, R4, 0x3", {0xf0}, true, 0xf1, UNTOUCHED, false},
    {"P2R R2, PR, R4, 0x2", {0xf0}, true, 0xf0, UNTOUCHED, false},
    {"R2P PR, R4.B1, 0x7f", {0x200}, false, UNTOUCHED, UNTOUCHED, true},
    {"ISETP.GE.AND P1, PT, R4, R5, PT", {MOST, 0}, false, UNTOUCHED, UNTOUCHED, false},
    {"ISETP.GE.U32.AND P1, PT, R4, R5, PT", {MOST, 0}, false, UNTOUCHED, UNTOUCHED, true},
    {"ISETP.LT.OR P1, PT, R4, R5, P0", {3, 3}, true, UNTOUCHED, UNTOUCHED, true},
    {"ISETP.NE.AND.EX P1, PT, R4, RZ, PT, P0", {0}, true, UNTOUCHED, UNTOUCHED, true},
    {"ISETP.GT.AND.EX P1, PT, R4, R5, PT, P0", {2, 1}, false, UNTOUCHED, UNTOUCHED, true},
    {"ISETP.GE.U64.AND P1, PT, R4, R6, PT", {0, 1, MOST, 0}, false, UNTOUCHED, UNTOUCHED, true},
    {"ISETP.GT.U64.AND P1, PT, R4, R6, PT", {0, LEAST, 0, 1}, false, UNTOUCHED, UNTOUCHED, true},
    {"ISETP.GT.S64.AND P1, PT, R4, R6, PT", {0, LEAST, 0, 1}, false, UNTOUCHED, UNTOUCHED, false},
    {"ISETP.LT.AND P2, P1, R4, R5, PT", {3, 3}, false, UNTOUCHED, UNTOUCHED, true},
    {"IMNMX R2, R4, R5, PT", {MOST, 1}, false, MOST, UNTOUCHED, false},
    {"IMNMX.U32 R2, R4, R5, PT", {MOST, 1}, false, 1, UNTOUCHED, false},
    {"IMNMX.S64 PT, PT, R2, R4, R6, PT, !PT", {0, MOST, 1, 0}, false, 0, MOST, false},
    {"IMNMX.U64 PT, PT, R2, R4, R6, PT, !PT", {0, MOST, 1, 0}, false, 1, 0, false},
    {"VIMNMX.S32 R2, R4, R5, !PT", {MOST, 1}, false, 1, UNTOUCHED, false},
    {"VIMNMX.U32 R2, PT, PT, R4, R5, !PT", {MOST, 1}, false, MOST, UNTOUCHED, false},
    {"VIMNMX.S16x2 R2, R4, R5, PT", {0xffff0001, 0x00010002}, false, 0xffff0001, UNTOUCHED, false},
    {"VIMNMX3 R2, R4, R5, R6, !PT", {1, 5, 3}, false, 5, UNTOUCHED, false},
    {"VIMNMX3 R2, R4, -R5, R6, !PT", {1, 5, 0}, false, 1, UNTOUCHED, false},
    {"VIMNMX3.S16x2 R2, R4, R5, R6, !PT", {0xffff0001, 0xfffe0002, 0x80008000}, false, 0xffff0002, UNTOUCHED, false},
    {"VIMNMX3.U16x2 R2, R4, R5, R6, PT", {0xffff0001, 0xfffe0002, 0x80008000}, false, 0x80000001, UNTOUCHED, false},
    {"VIMNMX.U8x4 R2, R4, R5, !PT", {0x01ff0300, 0x02017f80}, false, 0x02ff7f80, UNTOUCHED, false},
    {"VIMNMX.S8x4 R2, R4, R5, PT", {0x01ff0300, 0x02017f80}, false, 0x01ff0380, UNTOUCHED, false},
    {"VIADDMNMX.S16x2 R2, R4, R5, R6, !PT", {0x7fff0001, 0x00010002, 0x80010002}, false, 0x80010003, UNTOUCHED, false},
    {"VIADDMNMX R2, R4, R5, R6, PT", {1, 5, 3}, false, 3, UNTOUCHED, false},
    {"VIADDMNMX.RELU R2, R4, R5, R6, PT", {1, 5, MOST}, false, 0, UNTOUCHED, false},
    /* Floating point. */
    {"FADD R2, R4, -R5", {ONE, ONE}, false, 0, UNTOUCHED, false},
    {"FADD.RM R2, R4, -R5", {ONE, ONE}, false, LEAST, UNTOUCHED, false},
    {"FADD R2, |R4|, R5", {0xbf800000, ONE}, false, TWO, UNTOUCHED, false},
    {"FADD.FTZ R2, R4, R5", {1, 1}, false, 0, UNTOUCHED, false},
    {"FADD R2, R4, R5", {1, 1}, false, 2, UNTOUCHED, false},
    {"FADD.SAT R2, R4, R5", {ONE, ONE}, false, ONE, UNTOUCHED, false},
    {"FMUL R2, R4, R5", {TWO, 0x7fc00001}, false, NAN32, UNTOUCHED, false},
    {"FFMA R2, R4, R5, -R6", {0x3f800001, 0x3f800001, 0x3f800002}, false, 0x28800000, UNTOUCHED, false},
    {"FFMA.RP R2, R4, R5, R6", {ONE, ONE, 1}, false, 0x3f800001, UNTOUCHED, false},
    {"FMNMX R2, R4, R5, PT", {NAN32, ONE}, false, ONE, UNTOUCHED, false},
    {"FMNMX.NAN R2, R4, R5, PT", {NAN32, ONE}, false, NAN32, UNTOUCHED, false},
    {"FMNMX R2, R4, R5, !PT", {LEAST, 0}, false, 0, UNTOUCHED, false},
    {"FMNMX3 R2, R4, R5, R6, !PT", {ONE, TWO, 0}, false, TWO, UNTOUCHED, false},
    {"FSETP.GEU.AND P1, PT, R4, R5, PT", {NAN32, 0}, false, UNTOUCHED, UNTOUCHED, true},
    {"FSETP.GE.AND P1, PT, R4, R5, PT", {NAN32, 0}, false, UNTOUCHED, UNTOUCHED, false},
    {"FSETP.NE.AND P1, PT, R4, R5, PT", {NAN32, 0}, false, UNTOUCHED, UNTOUCHED, false},
    {"FSETP.NEU.AND P1, PT, R4, R5, PT", {NAN32, 0}, false, UNTOUCHED, UNTOUCHED, true},
    {"FSET.BF.LT.AND R2, R4, R5, PT", {0, ONE}, false, ONE, UNTOUCHED, false},
    {"FCHK P1, R4, R5", {ONE, ONE}, false, UNTOUCHED, UNTOUCHED, false},
    {"FCHK P1, R4, R5", {ONE, 0}, false, UNTOUCHED, UNTOUCHED, true},
    {"DADD R2, R4, R6", {0, 0x3ff00000, 0, 0x3ff00000}, false, 0, 0x40000000, false},
    {"DMUL R2, R4, -R6", {0, 0x3ff00000, 0, 0x40000000}, false, 0, 0xc0000000, false},
    {"DFMA R2, R4, R6, R8", {0, 0x40000000, 0, 0x40000000, 0, 0x3ff00000}, false, 0, 0x40140000, false},
    {"DSETP.GT.AND P1, PT, R4, RZ, PT", {1, 0}, false, UNTOUCHED, UNTOUCHED, true},
    {"DSETP.MAX.AND P2, P1, R4, R6, PT", {1, 0x7ff00000, 1, 0x7ff00000}, false, UNTOUCHED, UNTOUCHED, true},
    {"DSETP.MAX.AND P1, P2, R4, R6, PT", {0, LEAST, 0, 0}, false, UNTOUCHED, UNTOUCHED, false},
    {"DSETP.MAX.AND P1, P2, R4, R6, PT", {1, 0x7ff00000, 0, ONE}, false, UNTOUCHED, UNTOUCHED, false},
    {"DSETP.MIN.AND P1, P2, R4, R6, PT", {0, LEAST, 0, 0}, false, UNTOUCHED, UNTOUCHED, true},
    {"DSETP.MIN.AND P1, P2, R4, R6, PT", {0, ONE, 1, 0x7ff00000}, false, UNTOUCHED, UNTOUCHED, true},
    {"MUFU.RCP R2, R4", {TWO}, false, 0x3f000000, UNTOUCHED, false},
    {"MUFU.RCP R2, R4", {1}, false, 0x7f800000, UNTOUCHED, false},
    {"MUFU.RCP64H R2, R4", {0x40000000}, false, 0x3fe00000, UNTOUCHED, false},
    /* Halves. */
    {"HADD2 R2, R4, R5", {0x3c003c00, 0x40003c00}, false, 0x42004000, UNTOUCHED, false},
    {"HADD2 R2, R4.H0_H0, -R5.H1_H1", {0x00003c00, 0x3c000000}, false, 0, UNTOUCHED, false},
    {"HADD2 R2, R4.F32, -RZ.H0_H0", {0x3f801fff}, false, 0x3c003c00, UNTOUCHED, false},
    {"HADD2 R2, R4.F32, -RZ.H0_H0", {0xc7c35000}, false, 0xfbfffbff, UNTOUCHED, false},
    {"HADD2.F32 R2, -RZ, R4.H1_H1", {0x3c000000}, false, ONE, UNTOUCHED, false},
    {"HMUL2.BF16_V2 R2, R4, R5", {0x40003f80, 0x40003f80}, false, 0x40803f80, UNTOUCHED, false},
    {"HFMA2 R2, R4, R5, R6", {0x3c003c00, 0x3c003c00, 0x3c000000}, false, 0x40003c00, UNTOUCHED, false},
    {"HFMA2.RELU R2, R4, R5, R6", {0x3c003c00, 0xbc003c00, 0}, false, 0x00003c00, UNTOUCHED, false},
    {"HMNMX2 R2, R4, R5, PT", {0x3c007e00, 0x40003c00}, false, 0x3c003c00, UNTOUCHED, false},
    {"HSETP2.GT.AND P2, P1, R4, R5, PT", {0x3c000000, 0x00003c00}, false, UNTOUCHED, UNTOUCHED, true},
    {"HSET2.GT.AND R2, R4, R5, PT", {0x3c000000, 0x00003c00}, false, 0xffff0000, UNTOUCHED, false},
    {"HSET2.BF.LEU.XOR R2, R4, R5.H0_H0, P0", {0x3c007e00, 0x4000}, true, 0, UNTOUCHED, false},
    {"HSET2.BF.EQ.AND R2, R4, R4, PT", {0x3c007e00}, false, 0x3c000000, UNTOUCHED, false},
    {"HSET2.BF16_V2.BF.NE.OR R2, R4, R5, P0", {0x3f803f80, 0x3f800000}, false, 0x3f80, UNTOUCHED, false},
    /* Conversions. */
    {"I2F R2, R4", {MOST}, false, 0xbf800000, UNTOUCHED, false},
    {"I2F.U32.RP R2, R4", {0x01000001}, false, 0x4b800001, UNTOUCHED, false},
    {"I2F.U8 R2, R4.B1", {0x200}, false, TWO, UNTOUCHED, false},
    {"I2F.F64.S64 R2, R4", {MOST, MOST}, false, 0, 0xbff00000, false},
    {"I2FP.F32.S32 R2, R4", {2}, false, TWO, UNTOUCHED, false},
    {"F2I.TRUNC.NTZ R2, R4", {0xbfc00000}, false, MOST, UNTOUCHED, false},
    {"F2I.TRUNC.NTZ R2, R4", {NAN32}, false, 0, UNTOUCHED, false},
    {"F2I.U32.TRUNC.NTZ R2, R4", {0xbf800000}, false, 0, UNTOUCHED, false},
    {"F2I.FLOOR.NTZ R2, R4", {0xbfc00000}, false, 0xfffffffe, UNTOUCHED, false},
    {"F2I.NTZ R2, R4", {0x40200000}, false, 2, UNTOUCHED, false},
    {"F2I.S64.TRUNC R2, R4", {NAN32}, false, 0, LEAST, false},
    {"F2I.F64.TRUNC R2, R4", {0, 0x41e00000}, false, 0x7fffffff, UNTOUCHED, false},
    {"F2I.S16.TRUNC.NTZ R2, R4", {0xc7000000}, false, 0xffff8000, UNTOUCHED, false},
    {"F2I.U8.TRUNC.NTZ R2, R4", {0x447a0000}, false, 0xff, UNTOUCHED, false},
    {"F2IP.U8.F32.TRUNC.NTZ R2, RZ, R4, RZ", {0x447a0000}, false, 0xff, UNTOUCHED, false},
    {"I2I.S8.S32.SAT R2, R4", {0xffffff00}, false, 0xffffff80, UNTOUCHED, false},
    {"I2I.U8.S32.SAT R2, R4", {1000}, false, 0xff, UNTOUCHED, false},
    {"I2I.U8.S32.SAT R2, R4", {256}, false, 0xff, UNTOUCHED, false},
    {"I2I.U16.S32.SAT R2, R4", {MOST}, false, 0, UNTOUCHED, false},
    {"FRND.TRUNC R2, R4", {0xbfc00000}, false, 0xbf800000, UNTOUCHED, false},
    {"FRND.FLOOR R2, R4", {0xbe800000}, false, 0xbf800000, UNTOUCHED, false},
    {"FRND.CEIL R2, R4", {0xbe800000}, false, LEAST, UNTOUCHED, false},
    {"F2F.F64.F32 R2, R4", {ONE}, false, 0, 0x3ff00000, false},
    {"F2F.F64.F32 R2, R4", {0xffc00001}, false, 0x20000000, 0xfff80000, false},
    {"F2F.F32.F64 R2, R4", {1, 0x3ff00000}, false, ONE, UNTOUCHED, false},
    {"F2F.F32.F64.RP R2, R4", {1, 0x3ff00000}, false, 0x3f800001, UNTOUCHED, false},
    {"F2F.F16.F32 R2, R4", {ONE}, false, 0x3c00, UNTOUCHED, false},
    {"F2FP.F16.F32.PACK_AB R2, R4, R5", {TWO, ONE}, false, 0x40003c00, UNTOUCHED, false},
    {"F2FP.BF16.F32.PACK_AB R2, RZ, R5", {0, ONE}, false, 0x3f80, UNTOUCHED, false},
    /* Kinds of generic addresses. An operation with a predicate is not performed in shared memory. */
    {"QSPC.E.S P1, RZ, [R4]", {0x400, SHARED_WINDOW}, false, UNTOUCHED, UNTOUCHED, true},
    {"QSPC.E.L P1, RZ, [R4]", {0x400, SHARED_WINDOW}, false, UNTOUCHED, UNTOUCHED, false},
    {"QSPC.E.L P1, RZ, [R4]", {0x400, LOCAL_WINDOW}, false, UNTOUCHED, UNTOUCHED, true},
    {"ATOM.E.OR.64.STRONG.SYS P1, R2, [R4.64], R6", {0x400, SHARED_WINDOW, 1}, false, UNTOUCHED, UNTOUCHED, false},
    /* Guards, constants, special registers. */
    {"@P0 MOV R2, R4", {1}, false, UNTOUCHED, UNTOUCHED, false},
    {"@!P0 MOV R2, R4", {1}, false, 1, UNTOUCHED, false},
    {"MOV R2, c[0x0][0x4]", {0}, false, 0x11223344, UNTOUCHED, false},
    {"LDC.U8 R2, c[0x0][R4+0x5]", {0}, false, 0x33, UNTOUCHED, false},
    {"LDC.S8 R2, c[0x0][R4+0x8]", {3}, false, 0xffffff80, UNTOUCHED, false},
    {"LDC.64 R2, c[0x0][R4]", {4}, false, 0x11223344, 0x80667788, false},
    {"S2R R2, SR_TID.Y", {0}, false, 3, UNTOUCHED, false},
    {"S2R R2, SR_LTMASK", {0}, false, 0x1f, UNTOUCHED, false},
    {"CS2R R2, SRZ", {0}, false, 0, 0, false},
};

static Decoded decode_text(Arena *arena, const char *text)
{
    SassInstruction machine = {.text = text, .target = MACHINE_NONE, .encoding = {UINT64_C(0x4000000000000000)}};
    const SassCode code = {.instructions = &machine, .count = 1};
    return *machine_decode(arena, &code);
}

/* A thread with the case's registers, in a block that can run nothing else. */
static void prepare(Thread *thread, Warp *warp, ThreadBlock *block, const Case *test)
{
    *warp = (Warp){.block = block};
    warp->uniform_predicates[TRUE_PREDICATE] = true;
    *thread = (Thread){.block = block, .warp = warp, .id = {2, 3, 4}, .index = 37};
    thread->registers[2] = thread->registers[3] = (uint32_t)UNTOUCHED;
    memcpy(&thread->registers[4], test->in, sizeof test->in);
    thread->predicates[0] = test->p0;
    thread->predicates[TRUE_PREDICATE] = true;
}

static void test_instructions(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    uint32_t bank[] = {0, 0x11223344, 0x55667788, 0};
    ((uint8_t *)bank)[11] = 0x80;
    Program program = {.banks = {(uint8_t *)bank}, .bank_sizes = {sizeof bank}};
    MachineEnd end = {.approximate = MACHINE_NONE, .ordered = MACHINE_NONE};
    ThreadBlock block = {.program = &program, .end = &end, .arena = arena};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const Case *test = &cases[i];
        const Decoded it = decode_text(arena, test->text);
        Thread thread;
        Warp warp;
        prepare(&thread, &warp, &block, test);
        if (it.problem)
            fail_msg("%s: %s", test->text, it.problem);
        if (thread.predicates[it.guard] != it.guard_inverted)
            assert_int_equal(it.execute(&thread, &it), STEP_ON);
        if (thread.registers[2] != test->d2 || thread.registers[3] != test->d3 || thread.predicates[1] != test->p1)
            fail_msg("%s: 0x%x, 0x%x, %d", test->text, thread.registers[2], thread.registers[3], thread.predicates[1]);
        assert_int_equal(thread.registers[ZERO_REGISTER], 0);
    }
    arena_free(arena);
}

/* Instructions, modifiers and operands that the tables lack are not executed. */
static void test_unknown(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"HMMA.1688.F32 R2, R4, R6, R8", "the instruction 'HMMA.1688.F32'"},
        {"FADD.NEW R2, R4, R5", "the modifier '.NEW'"},
        {"MOV R2, 32@lo(k)", "an operand of"},
        {"MOV R2, c[0x7][0x0]", "the constant"},
        {"MOV R2, R4.NEW", "the operand modifier '.NEW'"},
        {"SEL R2, R4, R5, R6.SIGN", "an operand of"},
    };
    Arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const Decoded it = decode_text(arena, texts[i][0]);
        if (!it.problem)
            fail_msg("%s is executed", texts[i][0]);
        assert_non_null(strstr(it.problem, texts[i][1]));
    }
    arena_free(arena);
}

/* A floating-point number in the text stands for the bits of the instruction; two in a row for two halves of them. */
static void test_decimal(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Decoded it = decode_text(arena, "FMUL R2, R4, 2");
    assert_int_equal(it.operands[2].kind, PLACE_FLOAT);
    assert_int_equal(it.operands[2].number, 0x40000000);
    it = decode_text(arena, "HFMA2 R2, -RZ, RZ, 2, -1.1920928955078125e-07");
    assert_int_equal(it.operand_count, 4);
    assert_int_equal(it.operands[3].number, 0x40000000);
    it = decode_text(arena, "FADD R2, R4, +INF");
    assert_int_equal(it.operands[2].kind, PLACE_FLOAT);
    it = decode_text(arena, "FADD R2, R4, -QNAN");
    assert_int_equal(it.operands[2].kind, PLACE_FLOAT);
    it = decode_text(arena, "LDG.E.64.CONSTANT R2, desc[UR4][R4.64+-0x8]");
    assert_int_equal(it.operands[1].kind, PLACE_MEMORY);
    assert_int_equal(it.operands[1].number, -8);
    it = decode_text(arena, "STG.E.SYS [R4.U32+UR6+0x10], R2");
    assert_true(it.operands[0].narrow && it.operands[0].base == 6 && it.operands[0].index == 4);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_decimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
