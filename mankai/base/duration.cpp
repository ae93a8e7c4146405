#include "mankai/base/duration.hpp"

#include <array>
#include <cmath>

#include "mankai/base/number.hpp"

namespace mankai {
namespace {

using namespace std::chrono_literals;

struct Unit {
  std::string_view name;
  Duration length;
};

// Largest first, so that the first unit that divides a duration is the largest; "ms" before "s", for suffix matching.
constexpr std::array kUnits = {Unit{"w", 168h}, Unit{"d", 24h},  Unit{"h", 1h}, Unit{"m", 1min},
                               Unit{"ms", 1ms}, Unit{"us", 1us}, Unit{"s", 1s}};

Duration take_unit(std::string_view& text) {
  for (const Unit& unit : kUnits) {
    if (text.ends_with(unit.name)) {
      text.remove_suffix(unit.name.size());
      return unit.length;
    }
  }
  return 1s;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  std::string_view digits = text;
  const Duration unit = take_unit(digits);
  const auto whole = to_number<std::int64_t>(digits);  // exact, where a double has too few bits
  const double length = to_number<double>(digits).value_or(0) * static_cast<double>(unit.count());
  const bool is_too_long =
      whole ? *whole > kLongestDuration / unit : length > static_cast<double>(kLongestDuration.count());
  if (!(length >= 1) || is_too_long) {
    return fail(ErrorCode::invalid_argument,
                "duration '" + std::string(text) +
                    "' is not valid; give a number and a unit of us, ms, s, m, h, d or w, from 1us to 365000d");
  }
  return whole ? unit * *whole : Duration(std::llround(length));
}

std::string to_text(Duration duration) {
  const Unit* best = nullptr;
  for (const Unit& unit : kUnits) {
    if (duration % unit.length == Duration::zero() && (best == nullptr || unit.length > best->length)) {
      best = &unit;
    }
  }
  return std::to_string(duration / best->length) + std::string(best->name);
}

}  // namespace mankai
