#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/filter/decayed_top/decayed_top.hpp"
#include "mankai/filter/rotating_bloom/rotating_bloom.hpp"
#include "tests/support/filter_request.hpp"

namespace mankai::test {

/// A small decayed-top, filled with keys of all lengths and some that are cut, at several ticks.
inline DecayedTop filled_top(const HashSpec& hash = kXxh3, CountRounding rounding = CountRounding::strict,
                             Duration window = {}) {
  const Decay decay{.lambda_q32 = 3865470567U, .epoch = std::chrono::seconds(60)};  // 0.9
  const std::uint64_t bytes = window == Duration() ? 4096 : 9 * 1024;
  DecayedTop filter =
      DecayedTop::create({.bytes = bytes, .rounding = rounding, .decay = decay, .window = window, .hash = hash})
          .value();
  const Hasher hasher = filter.hasher();
  for (std::uint64_t i = 0; i < 400; ++i) {
    const std::uint64_t number = i % 7 == 0 ? i : i % 5;
    const std::string key = "/" + std::string(number % 41 * (number % 3), 'p') + std::to_string(number);
    const std::int64_t second = 100000 + static_cast<std::int64_t>(i) * 3 - (i % 11 == 0 ? 200 : 0);
    filter.insert(hasher(std::string_view(key)), key, Time(std::chrono::seconds(second)));
  }
  return filter;
}

/// A small rotating-bloom with keys in every generation.
inline RotatingBloom filled_rotating(const HashSpec& hash = kXxh3) {
  RotatingBloom filter =
      RotatingBloom::create({.keys = 90, .fpr = 0.01, .window = std::chrono::hours(1), .hash = hash}).value();
  for (std::uint64_t tick = 7; tick < 12; ++tick) {
    filter.advance(Tick{tick});
    for (std::uint64_t i = 0; i < 30; ++i) {
      filter.insert(filter.hasher()(tick * 1000 + i));
    }
  }
  return filter;
}

}  // namespace mankai::test
