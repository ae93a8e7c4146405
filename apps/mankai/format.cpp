#include "apps/mankai/format.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace mankai::command {

std::string human_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  constexpr std::size_t kGroup = 3;
  for (std::size_t i = digits.size(); i > kGroup; i -= kGroup) {
    digits.insert(i - kGroup, ",");
  }
  return digits;
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  constexpr double kStep = 1024;
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= kStep && unit + 1 < kUnits.size()) {
    value /= kStep;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} bytes", bytes)
                   : fmt::format("{:.{}f} {}", value, value < 100 ? 1 : 0, kUnits[unit]);
}

std::string human_share(double share) { return fmt::format("{:.3g}%", share * 100); }

std::string human_estimate(double estimate) {
  return std::isfinite(estimate) ? human_count(static_cast<std::uint64_t>(std::llround(estimate)))
                                 : "unknown: every cell is set";
}

}  // namespace mankai::command
