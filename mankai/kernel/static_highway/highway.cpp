/// The functions of libhwy that the kernels call, for modules that are linked statically (Debian has no libhwy.a),
/// and for programs that start often. All other parts of Highway are headers. If a newer Highway calls more functions,
/// these do not link.

#include <atomic>
#include <cstdint>

#include <hwy/targets.h>

#if HWY_ARCH_ARM_A64
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace hwy {
namespace {

std::atomic<std::int64_t> targets_for_test = 0;

#if HWY_ARCH_X86
std::int64_t detected_targets() noexcept {
  // The compiler's levels are supersets of what Highway compiles its targets for, except for AES.
  const bool has_aes = __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("pclmul") != 0;
  std::int64_t targets = __builtin_cpu_supports("ssse3") != 0 ? HWY_SSSE3 : 0;
  targets |= has_aes && __builtin_cpu_supports("x86-64-v2") != 0 ? HWY_SSE4 : 0;
  targets |= has_aes && __builtin_cpu_supports("x86-64-v3") != 0 ? HWY_AVX2 : 0;
  const bool has_avx3 = has_aes && __builtin_cpu_supports("x86-64-v4") != 0;
  targets |= has_avx3 ? HWY_AVX3 : 0;
  const bool has_avx3_dl = has_avx3 && __builtin_cpu_supports("avx512vnni") != 0 &&
                           __builtin_cpu_supports("vpclmulqdq") != 0 && __builtin_cpu_supports("avx512vbmi") != 0 &&
                           __builtin_cpu_supports("avx512vbmi2") != 0 && __builtin_cpu_supports("vaes") != 0 &&
                           __builtin_cpu_supports("avx512vpopcntdq") != 0 &&
                           __builtin_cpu_supports("avx512bitalg") != 0 && __builtin_cpu_supports("gfni") != 0;
  targets |= has_avx3_dl ? HWY_AVX3_DL : 0;
  return targets;
}
#elif HWY_ARCH_ARM_A64
// Without SVE, which the build leaves out.
std::int64_t detected_targets() noexcept { return (::getauxval(AT_HWCAP) & HWCAP_AES) != 0 ? HWY_NEON : 0; }
#else
std::int64_t detected_targets() noexcept { return 0; }
#endif

}  // namespace

int64_t SupportedTargets() {
  const std::int64_t chosen = targets_for_test.load(std::memory_order_relaxed);
  // Not the static target, which a file may call although the processor lacks a part of it: NEON with AES. Other files
  // have it in place of the portable ones.
  return chosen != 0 ? chosen : detected_targets() | HWY_EMU128 | HWY_SCALAR;
}

void SetSupportedTargetsForTest(int64_t targets) {
  targets_for_test.store(targets, std::memory_order_relaxed);
  GetChosenTarget().DeInit();
}

ChosenTarget& GetChosenTarget() {
  static constinit ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
