#include "mankai/catalog/spec.hpp"

#include <charconv>
#include <cmath>
#include <functional>
#include <map>

namespace mankai {
namespace {

/// Doubles hold every whole number up to here.
constexpr double kExactDouble = 9007199254740992.0;

template <class T>
bool reads_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool reads_hex(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

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

std::unexpected<Error> bad(std::string_view what, std::string_view text, std::string_view way_out) {
  return fail(ErrorCode::invalid_argument,
              std::string(what) + " '" + std::string(text) + "' is wrong: give " + std::string(way_out));
}

// Stores a parsed value, or passes the error on.
template <class T, class U>
Result<void> assign(T& target, const Result<U>& value) {
  if (!value) {
    return std::unexpected(value.error());
  }
  target = *value;
  return {};
}

Result<std::uint32_t> parse_k(std::string_view text) {
  std::uint32_t k = 0;
  if (!reads_whole(text, k) || k == 0 || k > kernel::kMaxProbes) {
    return bad("k", text, "a number of probes from 1 to 64");
  }
  return k;
}

Result<void> apply(FilterSpec& spec, std::string_view name, std::string_view value) {
  if (name == "keys") {
    return assign(spec.keys, parse_count(value));
  }
  if (name == "fpr") {
    return assign(spec.fpr, parse_rate(value));
  }
  if (name == "hash") {
    return assign(spec.hash, parse_hash(value));
  }
  if (name == "seed") {
    return assign(spec.seed, parse_seed(value));
  }
  if (name == "k") {
    return assign(spec.k, parse_k(value));
  }
  if (name == "addressing") {
    return assign(spec.addressing, parse_addressing(value));
  }
  return fail(ErrorCode::invalid_argument,
              "unknown option '" + std::string(name) + "' in a spec; there are: keys, fpr, hash, seed, k, addressing");
}

Result<void> check_combination(const FilterSpec& spec) {
  if (spec.kind != Kind::bloom && (spec.k != 0 || spec.addressing != BloomAddressing::range)) {
    return fail(ErrorCode::invalid_argument, "k and addressing are options of kind bloom only; " +
                                                 std::string(info_of(spec.kind).name) + " has its own layout");
  }
  return {};
}

std::string shortest(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return error == std::errc() ? std::string(buffer, end) : std::string();
}

}  // namespace

Result<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t whole = 0;
  if (reads_whole(text, whole)) {
    return whole;
  }
  std::string_view digits = text;
  const double multiple = take_multiple(digits);
  double number = 0;
  if (!reads_whole(digits, number) || !(number >= 0)) {
    return bad("count", text, "a whole number such as 1000000, 1e6 or 10M");
  }
  // 2.3e6 is not a whole double times a power of ten to the last bit: the nearest whole number is what was meant.
  const double scaled = number * multiple;
  const double nearest = std::round(scaled);
  if (!(nearest <= kExactDouble) || std::abs(scaled - nearest) > nearest * 1e-12) {
    return bad("count", text, "a whole number of at most 2^53, such as 1000000, 1e6 or 10M");
  }
  return static_cast<std::uint64_t>(nearest);
}

Result<double> parse_rate(std::string_view text) {
  std::string_view digits = text;
  double scale = 1;
  if (digits.ends_with('%')) {
    digits.remove_suffix(1);
    scale = 100;
  }
  double rate = 0;
  if (!reads_whole(digits, rate) || !(rate / scale > 0 && rate / scale < 1)) {
    return bad("rate", text, "a number between 0 and 1, both excluded, such as 0.01 or 1%");
  }
  return rate / scale;
}

Result<std::array<std::uint64_t, 2>> parse_seed(std::string_view text) {
  std::array<std::uint64_t, 2> seed{};
  constexpr std::size_t kWordDigits = 16;
  // First, because 32 digits may all be decimal ones.
  if (text.size() == 2 * kWordDigits && reads_hex(text.substr(0, kWordDigits), seed[1]) &&
      reads_hex(text.substr(kWordDigits), seed[0])) {
    return seed;
  }
  seed = {};
  if (reads_whole(text, seed[0])) {
    return seed;
  }
  if (text.starts_with("0x") && reads_hex(text.substr(2), seed[0])) {
    return seed;
  }
  return bad("seed", text, "a 64-bit number such as 42 or 0x2a, or 32 hexadecimal digits");
}

Result<HashKind> parse_hash(std::string_view text) {
  for (const HashKind hash : {HashKind::xxh3, HashKind::siphash}) {
    if (text == name(hash)) {
      return hash;
    }
  }
  return bad("hash", text, "xxh3, or siphash where strangers choose the keys");
}

Result<BloomAddressing> parse_addressing(std::string_view text) {
  for (const BloomAddressing addressing : {BloomAddressing::range, BloomAddressing::fields}) {
    if (text == name(addressing)) {
      return addressing;
    }
  }
  return bad("addressing", text, "range or fields");
}

Result<FilterSpec> parse_spec(std::string_view text) {
  FilterSpec spec;
  std::string_view options = text;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos || text.find('=') == std::string_view::npos) {
    const auto kind = parse_kind(text.substr(0, colon));
    if (!kind) {
      return std::unexpected(kind.error());
    }
    spec.kind = *kind;
    options = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  }
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find(','));
    options.remove_prefix(std::min(options.size(), option.size() + 1));
    const std::size_t equals = option.find('=');
    if (equals == std::string_view::npos) {
      return bad("option", option, "name=value");
    }
    if (auto applied = apply(spec, option.substr(0, equals), option.substr(equals + 1)); !applied) {
      return std::unexpected(applied.error());
    }
  }
  if (auto valid = check_combination(spec); !valid) {
    return std::unexpected(valid.error());
  }
  return spec;
}

std::string to_string(const FilterSpec& spec) {
  std::string text(info_of(spec.kind).name);
  text += ":keys=" + std::to_string(spec.keys) + ",fpr=" + shortest(spec.fpr) + ",hash=" + std::string(name(spec.hash));
  if (spec.seed) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += ",seed=";
    for (const std::uint64_t word : {(*spec.seed)[1], (*spec.seed)[0]}) {
      for (int shift = 60; shift >= 0; shift -= 4) {
        text += kDigits[(word >> shift) & 15U];
      }
    }
  }
  if (spec.k != 0) {
    text += ",k=" + std::to_string(spec.k);
  }
  if (spec.addressing != BloomAddressing::range) {
    text += ",addressing=" + std::string(name(spec.addressing));
  }
  return text;
}

}  // namespace mankai
