// Any bytes as a spec, a count, a rate or a seed: no crash, values within their promised ranges, and what parses is
// written back as a spec that means the same.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mankai/base/assert.hpp"
#include "mankai/filter/spec.hpp"

namespace {

bool is_one_line(const mankai::Error& error) {
  return error.code == mankai::ErrorCode::invalid_argument || error.code == mankai::ErrorCode::not_found;
}

void check_spec(std::string_view text) {
  const auto spec = mankai::parse_spec(text);
  if (!spec) {
    MANKAI_ASSERT(is_one_line(spec.error()) && !spec.error().detail.empty());
    return;
  }
  const auto again = mankai::parse_spec(mankai::to_string(*spec));
  MANKAI_ASSERT(again.has_value());
  MANKAI_ASSERT(again->kind == spec->kind && again->keys == spec->keys && again->fpr == spec->fpr);
  MANKAI_ASSERT(again->hash == spec->hash && again->seed == spec->seed);
  MANKAI_ASSERT(again->canonical == spec->canonical);
  MANKAI_ASSERT(mankai::to_string(*again) == mankai::to_string(*spec));
}

void check_values(std::string_view text) {
  if (const auto count = mankai::parse_count(text)) {
    MANKAI_ASSERT(mankai::parse_count(std::to_string(*count)) == *count);
  }
  if (const auto rate = mankai::parse_rate(text)) {
    MANKAI_ASSERT(*rate > 0 && *rate < 1);
  }
  if (const auto seed = mankai::parse_seed(text)) {
    mankai::FilterSpec spec{.keys = 1};
    spec.seed = *seed;
    MANKAI_ASSERT(mankai::parse_spec(mankai::to_string(spec))->seed == *seed);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_spec(text);
  check_values(text);
  return 0;
}
