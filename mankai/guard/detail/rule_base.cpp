#include "mankai/guard/detail/rule_base.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "mankai/guard/detail/rule_classes.hpp"

namespace mankai::detail {
namespace {

std::unexpected<Error> wrong(const char* what) { return fail(ErrorCode::corrupt, std::string("base: ") + what); }

std::vector<std::byte> class_bytes(const RuleBaseHeader& header, const std::vector<HostEntry>& classes) {
  std::vector<std::byte> out(sizeof(header) + classes.size() * sizeof(RuleBaseClass));
  std::memcpy(out.data(), &header, sizeof(header));
  std::size_t at = sizeof(header);
  for (const HostEntry& entry : classes) {
    const RuleBaseClass each{.is_rule = static_cast<std::uint8_t>(entry.is_rule),
                             .has_query = static_cast<std::uint8_t>(entry.has_query),
                             .host_mask = entry.host_mask,
                             .path_mask = entry.path_mask};
    std::memcpy(out.data() + at, &each, sizeof(each));
    at += sizeof(each);
  }
  return out;
}

bool is_rate(double rate) { return rate >= 0 && rate <= 1; }

// Errors: corrupt.
Result<std::vector<HostEntry>> read_classes(const RuleBaseHeader& header, std::span<const std::byte> bytes) {
  if (header.classes == 0 || header.classes > kClassesMax || bytes.size() != header.classes * sizeof(RuleBaseClass)) {
    return wrong("not as many classes as it says");
  }
  std::vector<HostEntry> classes;
  for (std::size_t i = 0; i < header.classes; ++i) {
    RuleBaseClass each;
    std::memcpy(&each, bytes.data() + i * sizeof(each), sizeof(each));
    if (each.is_rule > 1 || each.has_query > 1 || each.zero != 0) {
      return wrong("a class that none can be");
    }
    classes.push_back({.is_rule = each.is_rule == 1,
                       .has_query = each.has_query == 1,
                       .host_mask = each.host_mask,
                       .path_mask = each.path_mask});
  }
  if (classes.front() != HostEntry{.is_rule = true}) {
    return wrong("class 0 is not that of a rule alone");
  }
  return classes;
}

Result<unsigned> choose_bits(const RuleRates& rates, std::size_t classes, double fpr) {
  auto bits = std::max(FuseMap::kMinValueBits, static_cast<unsigned>(std::bit_width(classes)));
  while (bits <= FuseMap::kMaxValueBits && rates.at(bits).worst > fpr) {
    ++bits;
  }
  if (bits > FuseMap::kMaxValueBits) {
    return fail(ErrorCode::invalid_argument, "no filter of 32 bits holds this rate; take a higher one, and exactness");
  }
  return bits;
}

}  // namespace

Result<RuleBase::Bytes> RuleBase::build(const RuleTable& rules, double fpr, std::uint64_t seed) {
  const RuleClasses classes(rules);
  const RuleRates rates(rules, classes);
  MANKAI_ASSIGN(const auto bits, choose_bits(rates, classes.all().size(), fpr));
  std::vector<Digest> keys;
  std::vector<std::uint32_t> values;
  keys.reserve(rules.node_count());
  values.reserve(rules.node_count());
  rules.for_each([&](const RuleTable::Node& node) {
    keys.push_back(node.digest);
    values.push_back(is_host(node.kind) ? classes.number_of(node) : 0);
  });
  MANKAI_ASSIGN(auto cells, FuseMap::build(keys, values, bits, seed));
  const RuleRates::Rates held = rates.at(bits);
  const RuleBaseHeader header{.rules = rules.rule_count(),
                              .map = cells.params,
                              .fpr_worst = held.worst,
                              .fpr_stranger = held.stranger,
                              .host_depth_max = rates.host_depth_max(),
                              .path_depth_max = rates.path_depth_max(),
                              .classes = static_cast<std::uint16_t>(classes.all().size())};
  return Bytes{.cells = std::move(cells.words), .classes = class_bytes(header, classes.all())};
}

Result<RuleBase> RuleBase::from_bytes(std::span<const std::byte> cells, std::span<const std::byte> classes) {
  RuleBaseHeader header;
  if (classes.size() < sizeof(header)) {
    return wrong("too short");
  }
  std::memcpy(&header, classes.data(), sizeof(header));
  MANKAI_ASSIGN(auto entries, read_classes(header, classes.subspan(sizeof(header))));
  if (!is_rate(header.fpr_worst) || !is_rate(header.fpr_stranger) || header.host_depth_max > kBaseDepthMax ||
      header.path_depth_max > kBaseDepthMax || header.zero != 0 || header.rules == 0 ||
      header.rules > header.map.keys || cells.size() % sizeof(std::uint64_t) != 0) {
    return wrong("a header that none can be");
  }
  MANKAI_ASSIGN(const auto map, FuseMap::from_cells(header.map, {reinterpret_cast<const std::uint64_t*>(cells.data()),
                                                                 cells.size() / sizeof(std::uint64_t)}));
  return RuleBase(header, map, std::move(entries));
}

bool RuleBase::may_have(const RuleKey& key) const noexcept {
  if (stays_exact(key)) {
    return false;
  }
  const auto anchor = find_host(key.anchor);
  if (!anchor) {
    return false;
  }
  if (key.host_depth != 0 && !has_depth(anchor->host_mask, key.host_depth)) {
    return false;
  }
  const auto host = key.host_depth == 0 ? anchor : find_host(key.host);
  if (!host) {
    return false;
  }
  if (key.has_query) {
    return host->has_query && find_leaf(key.rule);
  }
  return key.path_depth == 0 ? host->is_rule : has_depth(host->path_mask, key.path_depth) && find_leaf(key.rule);
}

}  // namespace mankai::detail
