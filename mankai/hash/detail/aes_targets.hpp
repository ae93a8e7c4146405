#pragma once

// The instruction sets that the hash of AES rounds is compiled for. Comes before all headers of Highway.

#define HWY_WANT_AVX3_DL
// Highway's fallback without vectors has no AES; the one that it replaces under g++ 12 has. That compiler's error
// concerns products of 16 bits (gcc.gnu.org/PR106322), which are not used here.
#define HWY_BROKEN_EMU128 0
// Under g++ Highway takes NEON for what every ARM64 processor has, and executes AES instructions there, which not every
// one has. Clang chooses nothing at run time and emulates them.
#if defined(__aarch64__) && !defined(__clang__) && !defined(__ARM_FEATURE_AES)
#define HWY_BASELINE_TARGETS HWY_EMU128
#endif
