#include <dlfcn.h>

#include <cstdint>

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace {

// The program is linked with our function; the library, opened beside it, has Highway's.
TEST(StaticHighway, findsTheInstructionSetsThatTheLibraryFinds) {
  void* const library = ::dlopen("libhwy.so.1", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  using Supported = std::int64_t (*)();
  const auto supported = reinterpret_cast<Supported>(::dlsym(library, "_ZN3hwy16SupportedTargetsEv"));
  ASSERT_NE(supported, nullptr) << ::dlerror();
  ASSERT_NE(supported, &hwy::SupportedTargets);
  // The portable targets are not chosen by what the machine has, and others are left out of the build.
  constexpr std::int64_t kIgnored = HWY_EMU128 | HWY_SCALAR | HWY_DISABLED_TARGETS;
  EXPECT_EQ(hwy::SupportedTargets() & ~kIgnored, supported() & ~kIgnored);
}

}  // namespace
