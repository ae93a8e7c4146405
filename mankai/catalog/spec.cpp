#include "mankai/catalog/spec.hpp"

#include <array>
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

std::string shortest(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return error == std::errc() ? std::string(buffer, end) : std::string();
}

bool is_bloom(Kind kind) { return kind == Kind::bloom; }
bool is_counting(Kind kind) { return info_of(kind).can_erase; }
bool is_growing(Kind kind) { return info_of(kind).can_grow; }
bool is_numbered(Kind kind) { return info_of(kind).key_shape == KeyShape::numbered; }
bool takes_any_keys(Kind kind) { return info_of(kind).key_shape != KeyShape::path; }
bool is_layered(Kind kind) { return kind == Kind::layered_url_bloom; }
bool has_probes(Kind kind) { return is_bloom(kind) || kind == Kind::counting_bloom; }

Result<void> read_k(FilterSpec& spec, std::string_view text) {
  std::uint32_t k = 0;
  if (!reads_whole(text, k) || k == 0 || k > kernel::kMaxProbes) {
    return bad("k", text, "a number of probes from 1 to 64");
  }
  spec.k = k;
  return {};
}

Result<void> read_growth(FilterSpec& spec, std::string_view text) {
  std::uint32_t factor = 0;
  if (!reads_whole(text, factor) || factor == 0 || factor > Growth::kMaxFactor) {
    return bad("growth", text,
               "a whole number from 1, for slices of one size, to " + std::to_string(Growth::kMaxFactor));
  }
  spec.growth.factor = factor;
  return {};
}

Result<void> read_tightening(FilterSpec& spec, std::string_view text) {
  double ratio = 0;
  if (!reads_whole(text, ratio) || !(ratio > 0 && ratio < 1)) {
    return bad("tightening", text, "a ratio between 0 and 1, both excluded, such as 0.7");
  }
  spec.growth.tightening = ratio;
  return {};
}

Result<void> read_first_id(FilterSpec& spec, std::string_view text) {
  if (!reads_whole(text, spec.first_id) || spec.first_id > ScalableCountingBloom::kMaxId) {
    return bad("first-id", text, "a whole number of at most 2^64 - 2");
  }
  return {};
}

Result<void> read_canonical(FilterSpec& spec, std::string_view text) {
  if (text != "yes" && text != "no") {
    return bad("canonical", text, "yes or no");
  }
  spec.canonical = text == "yes";
  return {};
}

Result<void> read_levels(FilterSpec& spec, std::string_view text) {
  std::uint32_t levels = 0;
  if (!reads_whole(text, levels) || levels == 0 || levels > LayeredUrlBloom::kMaxLevels) {
    return bad("levels", text, "a whole number from 1 to " + std::to_string(LayeredUrlBloom::kMaxLevels));
  }
  spec.levels = levels;
  return {};
}

// Reads one of a few names; `name` is found for each value by its overload.
template <class T, std::size_t count>
Result<void> read_choice(std::string_view what, const std::array<T, count>& values, std::string_view text, T& target) {
  std::string known;
  for (const T value : values) {
    if (text == name(value)) {
      target = value;
      return {};
    }
    known += (known.empty() ? "" : " or ") + std::string(name(value));
  }
  return bad(what, text, known);
}

constexpr std::array kAddressings = {BloomAddressing::range, BloomAddressing::fields};
constexpr std::array kLayouts = {CountingLayout::blocked, CountingLayout::partitioned};
constexpr std::array kBounds = {FprBound::total, FprBound::first};
constexpr std::array kLayerings = {UrlLayering::repaired, UrlLayering::faithful};
constexpr std::array<std::string_view, 2> kLayeringNames = {"repaired", "faithful"};
constexpr std::array<std::string_view, 2> kAddressingNames = {"range", "fields"};
constexpr std::array<std::string_view, 2> kLayoutNames = {"blocked", "partitioned"};
constexpr std::array<std::string_view, 2> kBoundNames = {"total", "first"};

// What is written for a value that may be the default.
template <class T>
std::string unless_default(const T& value, const T& standard, std::string_view written) {
  return value == standard ? std::string() : std::string(written);
}

constexpr std::array kOptions = {
    SpecOption{.name = "k",
               .value = "K",
               .choices = {},
               .help = "The probes a key makes. The best number unless given.",
               .applies_to = has_probes,
               .read = read_k,
               .write = [](const FilterSpec& spec) { return spec.k == 0 ? std::string() : std::to_string(spec.k); }},
    SpecOption{
        .name = "addressing",
        .value = "MODE",
        .choices = kAddressingNames,
        .help = "How a key's bits are found: range, or fields, the white paper's literal fields of one long hash "
                "in an array of a power of two. range unless given.",
        .applies_to = is_bloom,
        .read = [](FilterSpec& spec,
                   std::string_view text) { return read_choice("addressing", kAddressings, text, spec.addressing); },
        .write =
            [](const FilterSpec& spec) {
              return unless_default(spec.addressing, BloomAddressing::range, name(spec.addressing));
            }},
    SpecOption{.name = "layout",
               .value = "LAYOUT",
               .choices = kLayoutNames,
               .help = "Where a key's counters are: blocked, all in one cache line, or partitioned, the classic shape, "
                       "which takes fewer bits and many times as long. blocked unless given.",
               .applies_to = is_counting,
               .read = [](FilterSpec& spec,
                          std::string_view text) { return read_choice("layout", kLayouts, text, spec.layout); },
               .write =
                   [](const FilterSpec& spec) {
                     return unless_default(spec.layout, CountingLayout::blocked, name(spec.layout));
                   }},
    SpecOption{.name = "growth",
               .value = "S",
               .choices = {},
               .help = "Each slice is made for S times the keys of the one before. 2 unless given.",
               .applies_to = is_growing,
               .read = read_growth,
               .write =
                   [](const FilterSpec& spec) {
                     return unless_default(spec.growth.factor, Growth{}.factor, std::to_string(spec.growth.factor));
                   }},
    SpecOption{.name = "tightening",
               .value = "R",
               .choices = {},
               .help = "Each slice is made for R times the rate of the one before. 0.7 unless given.",
               .applies_to = is_growing,
               .read = read_tightening,
               .write =
                   [](const FilterSpec& spec) {
                     return unless_default(spec.growth.tightening, Growth{}.tightening,
                                           shortest(spec.growth.tightening));
                   }},
    SpecOption{.name = "bound",
               .value = "WHAT",
               .choices = kBoundNames,
               .help =
                   "What the rate is a bound for: total, the whole filter however far it grows, or first, its first "
                   "slice only. total unless given.",
               .applies_to = is_growing,
               .read = [](FilterSpec& spec,
                          std::string_view text) { return read_choice("bound", kBounds, text, spec.growth.bound); },
               .write =
                   [](const FilterSpec& spec) {
                     return unless_default(spec.growth.bound, FprBound::total, name(spec.growth.bound));
                   }},
    SpecOption{.name = "canonical",
               .value = "",
               .choices = {},
               .help = "Keys are URLs: they are made canonical before they are hashed, so that all spellings of a URL "
                       "are one key. What is no URL is a key as it is.",
               .applies_to = takes_any_keys,
               .read = read_canonical,
               .write = [](const FilterSpec& spec) { return unless_default(spec.canonical, false, "yes"); }},
    SpecOption{.name = "first-id",
               .value = "N",
               .choices = {},
               .help = "The lowest id; keys with lower ones are refused. 0 unless given.",
               .applies_to = is_numbered,
               .read = read_first_id,
               .write =
                   [](const FilterSpec& spec) {
                     return unless_default(spec.first_id, std::uint64_t{0}, std::to_string(spec.first_id));
                   }},
    SpecOption{.name = "levels",
               .value = "N",
               .choices = {},
               .help = "The levels of a path that have an array of their own, at most; deeper segments share the last "
                       "one. 8 unless given.",
               .applies_to = is_layered,
               .read = read_levels,
               .write =
                   [](const FilterSpec& spec) {
                     return unless_default(spec.levels, FilterSpec{}.levels, std::to_string(spec.levels));
                   }},
    SpecOption{.name = "layering",
               .value = "MODE",
               .choices = kLayeringNames,
               .help = "What the levels of a path hold: repaired, or faithful, as the paper has it, which takes some "
                       "URLs that were never added for members with certainty. repaired unless given.",
               .applies_to = is_layered,
               .read = [](FilterSpec& spec,
                          std::string_view text) { return read_choice("layering", kLayerings, text, spec.layering); },
               .write =
                   [](const FilterSpec& spec) {
                     return unless_default(spec.layering, UrlLayering::repaired, name(spec.layering));
                   }},
};

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
  std::string known = "keys, fpr, hash, seed";
  for (const SpecOption& option : kOptions) {
    if (option.name == name) {
      return option.read(spec, value);
    }
    known += ", " + std::string(option.name);
  }
  return fail(ErrorCode::invalid_argument, "unknown option '" + std::string(name) + "' in a spec; there are: " + known);
}

}  // namespace

std::span<const SpecOption> spec_options() noexcept { return kOptions; }

Result<void> check_options(const FilterSpec& spec) {
  for (const SpecOption& option : kOptions) {
    if (option.applies_to(spec.kind) || option.write(spec).empty()) {
      continue;
    }
    std::string kinds_with_it;
    for (const KindInfo& info : kinds()) {
      if (option.applies_to(info.kind)) {
        kinds_with_it += (kinds_with_it.empty() ? "" : " or ") + std::string(info.name);
      }
    }
    return fail(ErrorCode::invalid_argument, std::string(option.name) + " is an option of kind " + kinds_with_it +
                                                 " only, not of " + std::string(info_of(spec.kind).name));
  }
  return {};
}

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
  if (auto valid = check_options(spec); !valid) {
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
  for (const SpecOption& option : kOptions) {
    if (const std::string value = option.write(spec); !value.empty()) {
      text += "," + std::string(option.name) + "=" + value;
    }
  }
  return text;
}

}  // namespace mankai
