#include <array>

#include "mankai/catalog/detail/option_text.hpp"
#include "mankai/catalog/detail/spec_options.hpp"

namespace mankai::detail {
namespace {

bool is_bloom(Kind kind) { return kind == Kind::bloom; }
bool is_counting(Kind kind) { return info_of(kind).can_erase; }
bool is_growing(Kind kind) { return info_of(kind).can_grow; }
bool is_numbered(Kind kind) { return info_of(kind).key_shape == KeyShape::numbered; }
bool takes_any_keys(Kind kind) { return info_of(kind).key_shape != KeyShape::path; }
bool is_layered(Kind kind) { return kind == Kind::layered_url_bloom; }
bool has_probes(Kind kind) {
  const KindInfo& info = info_of(kind);
  return is_bloom(kind) || kind == Kind::counting_bloom || (info.forgets && kind != Kind::rotating_bloom);
}

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
  return read_flag("canonical", text, spec.canonical);
}

Result<void> read_levels(FilterSpec& spec, std::string_view text) {
  std::uint32_t levels = 0;
  if (!reads_whole(text, levels) || levels == 0 || levels > LayeredUrlBloom::kMaxLevels) {
    return bad("levels", text, "a whole number from 1 to " + std::to_string(LayeredUrlBloom::kMaxLevels));
  }
  spec.levels = levels;
  return {};
}

constexpr std::array kAddressings = {BloomAddressing::range, BloomAddressing::fields};
constexpr std::array kLayouts = {CountingLayout::blocked, CountingLayout::partitioned, CountingLayout::dablooms};
constexpr std::array kBounds = {FprBound::total, FprBound::first};
constexpr std::array kLayerings = {UrlLayering::repaired, UrlLayering::faithful};
constexpr std::array<std::string_view, 2> kLayeringNames = {"repaired", "faithful"};
constexpr std::array<std::string_view, 2> kAddressingNames = {"range", "fields"};
constexpr std::array<std::string_view, 3> kLayoutNames = {"blocked", "partitioned", "dablooms"};
constexpr std::array<std::string_view, 2> kBoundNames = {"total", "first"};

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
               .help = "Where a key's counters are: blocked, all in one cache line; partitioned, the classic shape, "
                       "which takes fewer bits and many times as long; or dablooms, what `mankai import dablooms` "
                       "makes, for nothing new. blocked unless given.",
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

}  // namespace

std::span<const SpecOption> keeping_options() noexcept { return kOptions; }

}  // namespace mankai::detail
