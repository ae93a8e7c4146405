#pragma once

#include <stdexcept>

namespace mankai::test {

/// Throws when a promise is broken: a failure to gtest, a counterexample to rapidcheck, a crash to libFuzzer.
inline void require(bool promise, const char* what) {
  if (!promise) {
    throw std::logic_error(what);
  }
}

}  // namespace mankai::test
