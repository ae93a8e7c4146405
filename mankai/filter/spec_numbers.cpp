#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "mankai/base/number.hpp"
#include "mankai/filter/detail/option_text.hpp"
#include "mankai/filter/spec.hpp"

namespace mankai {
namespace {

using detail::bad;

/// Doubles represent every integer up to here.
constexpr double kExactDouble = 9007199254740992.0;

std::optional<std::uint64_t> parse_hex(std::string_view text) { return to_number<std::uint64_t>(text, 16); }

double take_multiple(std::string_view& text) {
  const std::map<char, double> multiples = {{'k', 1e3}, {'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}};
  if (text.empty()) {
    return 1;
  }
  const auto found = multiples.find(text.back());
  if (found == multiples.end()) {
    return 1;
  }
  text.remove_suffix(1);
  return found->second;
}

}  // namespace

Result<std::uint64_t> parse_count(std::string_view text) {
  if (const auto whole = to_number<std::uint64_t>(text)) {
    return *whole;
  }
  std::string_view digits = text;
  const double multiple = take_multiple(digits);
  const auto number = to_number<double>(digits);
  if (!number || !(*number >= 0)) {
    return bad("count", text, "a whole number such as 1000000, 1e6 or 10M");
  }
  // 2.3 times 1e6 is not exact in doubles: rounds to the nearest integer.
  const double scaled = *number * multiple;
  const double nearest = std::round(scaled);
  if (!(nearest <= kExactDouble) || std::abs(scaled - nearest) > nearest * 1e-12) {
    return bad("count", text, "a whole number of at most 2^53, such as 1000000, 1e6 or 10M");
  }
  return static_cast<std::uint64_t>(nearest);
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  std::string_view digits = text;
  std::uint64_t unit = 1;
  std::uint64_t next = 1;
  for (const std::string_view suffix : {"KiB", "MiB", "GiB", "TiB"}) {
    next <<= 10U;
    if (digits.ends_with(suffix)) {
      digits.remove_suffix(suffix.size());
      unit = next;
      break;
    }
  }
  const auto count = parse_count(digits);
  if (!count || *count > std::numeric_limits<std::uint64_t>::max() / unit) {
    return fail(ErrorCode::invalid_argument,
                "invalid size '" + std::string(text) + "'; give a number of bytes such as 1000000, 10M or 64MiB");
  }
  return *count * unit;
}

Result<double> parse_rate(std::string_view text) {
  std::string_view digits = text;
  double scale = 1;
  if (digits.ends_with('%')) {
    digits.remove_suffix(1);
    scale = 100;
  }
  const double rate = to_number<double>(digits).value_or(0) / scale;
  if (!(rate > 0 && rate < 1)) {
    return bad("rate", text, "a number between 0 and 1, both excluded, such as 0.01 or 1%");
  }
  return rate;
}

Result<std::array<std::uint64_t, 2>> parse_seed(std::string_view text) {
  using Seed = std::array<std::uint64_t, 2>;
  constexpr std::size_t kWordDigits = 16;
  // First, because all 32 digits may be decimal.
  if (text.size() == 2 * kWordDigits) {
    const auto high = parse_hex(text.substr(0, kWordDigits));
    const auto low = parse_hex(text.substr(kWordDigits));
    if (high && low) {
      return Seed{*low, *high};
    }
  }
  if (const auto word = text.starts_with("0x") ? parse_hex(text.substr(2)) : to_number<std::uint64_t>(text)) {
    return Seed{*word, 0};
  }
  return bad("seed", text, "a 64-bit number such as 42 or 0x2a, or 32 hexadecimal digits");
}

Result<HashKind> parse_hash(std::string_view text) {
  for (const HashKind hash : kHashKinds) {
    if (text == name(hash)) {
      return hash;
    }
  }
  return bad("hash", text,
             "nh-siphash, xxh3 for trusted keys, aes4-prf or siphash; murmur3 is for filters of other programs");
}

}  // namespace mankai
