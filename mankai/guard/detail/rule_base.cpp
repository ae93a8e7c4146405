#include "mankai/guard/detail/rule_base.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <unordered_map>
#include <vector>

namespace mankai::detail {

namespace {

HostEntry both(HostEntry a, const HostEntry& b) {
  a.is_rule = a.is_rule || b.is_rule;
  a.has_query = a.has_query || b.has_query;
  a.host_mask |= b.host_mask;
  a.path_mask |= b.path_mask;
  return a;
}

bool names_all_of(const HostEntry& wide, const HostEntry& narrow) { return both(wide, narrow) == wide; }

int width_of(const HostEntry& entry) {
  return std::popcount(entry.host_mask) + std::popcount(entry.path_mask) + (entry.has_query ? 1 : 0);
}

constexpr HostEntry kRuleAlone{.is_rule = true};

// What is at and below each node that is a host.
std::vector<HostEntry> entries_of(const NodeSection& nodes) {
  std::vector<HostEntry> entries(nodes.size());
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    entries[nodes.parent(node)].add(nodes.kind(node), nodes.depth(node));
    entries[node].is_rule = nodes.is_rule(node);
  }
  return entries;
}

class RuleClasses {
 public:
  // Each class of rules costs every lookup of an absent host, so all rules with something below them share one class.
  RuleClasses(const NodeSection& nodes, std::span<const HostEntry> entries) : classes_{kRuleAlone} {
    std::map<HostEntry, std::uint64_t> counts;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      if (is_host(nodes.kind(node)) && entries[node] != kRuleAlone) {
        ++counts[entries[node]];
      }
    }
    std::vector<std::pair<std::uint64_t, HostEntry>> others;
    HostEntry above_others = kRuleAlone;
    for (const auto& [entry, count] : counts) {
      if (entry.is_rule) {
        above_others = both(above_others, entry);
      } else {
        others.emplace_back(count, entry);
      }
    }
    if (above_others != kRuleAlone) {
      classes_.push_back(above_others);
    }
    // The most frequent first; ties in an order that does not depend on the table.
    std::ranges::sort(others, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    const bool is_crowded = classes_.size() + others.size() > kClassesMax;
    const std::size_t kept = is_crowded ? kClassesMax - classes_.size() - 1 : others.size();
    HostEntry rest{};
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (i < kept) {
        classes_.push_back(others[i].second);
      } else {
        rest = both(rest, others[i].second);
      }
    }
    if (is_crowded) {
      classes_.push_back(rest);
    }
    for (std::uint32_t number = 0; number < classes_.size(); ++number) {
      numbers_.try_emplace(classes_[number], number);
    }
  }

  /// Returns the class with everything that is at and below a host.
  [[nodiscard]] std::uint32_t number_of(const HostEntry& entry) const {
    if (entry == kRuleAlone) {
      return 0;
    }
    if (const auto found = numbers_.find(entry); found != numbers_.end()) {
      return found->second;
    }
    std::uint32_t best = static_cast<std::uint32_t>(classes_.size());
    for (std::uint32_t number = 0; number < classes_.size(); ++number) {
      const HostEntry& wide = classes_[number];
      const bool fits = wide.is_rule == entry.is_rule && names_all_of(wide, entry);
      if (fits && (best == classes_.size() || width_of(wide) < width_of(classes_[best]))) {
        best = number;
      }
    }
    return best;
  }
  [[nodiscard]] const std::vector<HostEntry>& all() const noexcept { return classes_; }

 private:
  std::vector<HostEntry> classes_;
  std::map<HostEntry, std::uint32_t> numbers_;
};

/// False-positive rates per width of values; rule_base.hpp has the formulas.
class RuleRates {
 public:
  // `numbers`: the class of each node that is a host.
  RuleRates(const NodeSection& nodes, std::span<const std::uint32_t> numbers, const RuleClasses& classes)
      : classes_(&classes), anchors_(classes.all().size()) {
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      std::uint16_t& deepest = is_host(nodes.kind(node)) ? host_depth_max_ : path_depth_max_;
      const auto depth = static_cast<std::uint16_t>(nodes.kind(node) == NodeKind::query ? 0 : nodes.depth(node));
      deepest = std::max(deepest, depth);
    }
    for (std::uint32_t number = 0; number < anchors_.size(); ++number) {
      anchors_[number] = {.number = number, .is_used = false, .looks_by_depth = {}};
    }
    std::unordered_map<std::size_t, Anchor> with_looks;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      anchors_[numbers[node]].is_used |= is_anchor(nodes.kind(node));
      const unsigned looks = nodes.kind(node) == NodeKind::host ? looks_at(classes.all()[numbers[node]]) : 0;
      if (looks != 0) {
        Anchor& anchor = with_looks[nodes.parent(node)];
        anchor.number = numbers[nodes.parent(node)];
        anchor.looks_by_depth.resize(std::max<std::size_t>(anchor.looks_by_depth.size(), nodes.depth(node)));
        unsigned& most = anchor.looks_by_depth[nodes.depth(node) - 1];
        most = std::max(most, looks);
      }
    }
    for (auto& [node, anchor] : with_looks) {
      anchors_.push_back(std::move(anchor));
    }
  }

  [[nodiscard]] std::uint16_t host_depth_max() const noexcept { return host_depth_max_; }
  [[nodiscard]] std::uint16_t path_depth_max() const noexcept { return path_depth_max_; }

  struct Rates {
    double worst;
    double absent_key;
  };
  [[nodiscard]] Rates at(unsigned value_bits) const {
    const double p = std::ldexp(1.0, -static_cast<int>(value_bits));
    double host = 0;
    for (const HostEntry& entry : classes_->all()) {
      host += p * (entry.is_rule ? 1 : std::min(1.0, p * looks_at(entry)));
    }
    double absent_key = 0;
    for (const HostEntry& entry : classes_->all()) {
      const double below =
          p * looks_at(entry) + host * static_cast<double>(depths_of(entry.host_mask, host_depth_max_));
      absent_key += p * (entry.is_rule ? 1 : std::min(1.0, below));
    }
    double worst = absent_key;
    for (const Anchor& anchor : anchors_) {
      worst = anchor.is_used ? std::max(worst, worst_below(anchor, p, host)) : worst;
    }
    return {.worst = std::min(1.0, worst), .absent_key = std::min(1.0, absent_key)};
  }

 private:
  /// An anchor with rules below it: its class, and per depth the most lookups for the paths of a host there.
  struct Anchor {
    std::uint32_t number = 0;
    bool is_used = true;
    std::vector<unsigned> looks_by_depth;
  };

  [[nodiscard]] static std::size_t depths_of(DepthMask mask, std::size_t depth_max) noexcept {
    const auto named = static_cast<std::size_t>(std::popcount(mask));
    return has_depth(mask, kMaskBits) ? named + depth_max - kMaskBits : named;
  }
  [[nodiscard]] unsigned looks_at(const HostEntry& entry) const noexcept {
    return static_cast<unsigned>(depths_of(entry.path_mask, path_depth_max_)) + (entry.has_query ? 1 : 0);
  }
  [[nodiscard]] double worst_below(const Anchor& anchor, double p, double host) const {
    const HostEntry& entry = classes_->all()[anchor.number];
    double sum = p * looks_at(entry);
    for (std::size_t depth = 1; depth <= host_depth_max_; ++depth) {
      if (has_depth(entry.host_mask, depth)) {
        const bool is_known = depth <= anchor.looks_by_depth.size();
        sum += std::max(host, is_known ? p * anchor.looks_by_depth[depth - 1] : 0);
      }
    }
    return sum;
  }

  const RuleClasses* classes_;
  std::uint16_t host_depth_max_ = 0;
  std::uint16_t path_depth_max_ = 0;
  std::vector<Anchor> anchors_;  ///< one of each class, then those with lookups for paths of hosts
};

std::unexpected<Error> wrong_base(const char* what) { return fail(ErrorCode::corrupt, std::string("base: ") + what); }

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

Result<std::vector<HostEntry>> read_classes(const RuleBaseHeader& header, std::span<const std::byte> bytes) {
  if (header.classes == 0 || header.classes > kClassesMax || bytes.size() != header.classes * sizeof(RuleBaseClass)) {
    return wrong_base("the number of classes is wrong");
  }
  std::vector<HostEntry> classes;
  for (std::size_t i = 0; i < header.classes; ++i) {
    RuleBaseClass each;
    std::memcpy(&each, bytes.data() + i * sizeof(each), sizeof(each));
    if (each.is_rule > 1 || each.has_query > 1 || each.zero != 0) {
      return wrong_base("an invalid class");
    }
    classes.push_back({.is_rule = each.is_rule == 1,
                       .has_query = each.has_query == 1,
                       .host_mask = each.host_mask,
                       .path_mask = each.path_mask});
  }
  if (classes.front() != HostEntry{.is_rule = true}) {
    return wrong_base("class 0 is not that of a rule alone");
  }
  return classes;
}

Result<unsigned> choose_bits(const RuleRates& rates, std::size_t classes, double fpr) {
  auto bits = std::max(FuseMap::kMinValueBits, static_cast<unsigned>(std::bit_width(classes)));
  while (bits <= FuseMap::kMaxValueBits && rates.at(bits).worst > fpr) {
    ++bits;
  }
  if (bits > FuseMap::kMaxValueBits) {
    return fail(ErrorCode::invalid_argument,
                "the false-positive rate is too low for 32 bits per value; give a higher one, or --exact");
  }
  return bits;
}

}  // namespace

Result<RuleBase::Bytes> RuleBase::build(const NodeSection& nodes, double fpr, std::uint64_t seed) {
  std::vector<HostEntry> entries = entries_of(nodes);
  const RuleClasses classes(nodes, entries);
  std::uint64_t rules = 0;
  std::vector<std::uint32_t> numbers(nodes.size());
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    rules += nodes.is_rule(node) ? 1 : 0;
    numbers[node] = is_host(nodes.kind(node)) ? classes.number_of(entries[node]) : 0;
  }
  entries = std::vector<HostEntry>();
  const RuleRates rates(nodes, numbers, classes);
  MANKAI_ASSIGN(const auto bits, choose_bits(rates, classes.all().size(), fpr));
  MANKAI_ASSIGN(auto cells, FuseMap::build(nodes.digests(), numbers, bits, seed));
  const RuleRates::Rates held = rates.at(bits);
  const RuleBaseHeader header{.rules = rules,
                              .map = cells.params,
                              .fpr_worst = held.worst,
                              .fpr_absent = held.absent_key,
                              .host_depth_max = rates.host_depth_max(),
                              .path_depth_max = rates.path_depth_max(),
                              .classes = static_cast<std::uint16_t>(classes.all().size())};
  return Bytes{.cells = std::move(cells.words), .classes = class_bytes(header, classes.all())};
}

Result<RuleBase> RuleBase::from_bytes(std::span<const std::byte> cells, std::span<const std::byte> classes) {
  RuleBaseHeader header;
  if (classes.size() < sizeof(header)) {
    return wrong_base("too short");
  }
  std::memcpy(&header, classes.data(), sizeof(header));
  MANKAI_ASSIGN(auto entries, read_classes(header, classes.subspan(sizeof(header))));
  if (!is_rate(header.fpr_worst) || !is_rate(header.fpr_absent) || header.host_depth_max > kBaseDepthMax ||
      header.path_depth_max > kBaseDepthMax || header.zero != 0 || header.rules == 0 ||
      header.rules > header.map.keys || cells.size() % sizeof(std::uint64_t) != 0) {
    return wrong_base("an invalid header");
  }
  MANKAI_ASSIGN(const auto map, FuseMap::from_cells(header.map, {reinterpret_cast<const std::uint64_t*>(cells.data()),
                                                                 cells.size() / sizeof(std::uint64_t)}));
  return RuleBase(header, map, std::move(entries));
}

bool RuleBase::may_have(const RuleKey& key) const noexcept {
  if (stays_exact(key)) {
    return false;
  }
  const HostEntry* const anchor = find_host(key.anchor);
  if (!anchor) {
    return false;
  }
  if (key.host_depth != 0 && !has_depth(anchor->host_mask, key.host_depth)) {
    return false;
  }
  const HostEntry* const host = key.host_depth == 0 ? anchor : find_host(key.host);
  if (!host) {
    return false;
  }
  if (key.has_query) {
    return host->has_query && find_leaf(key.rule);
  }
  return key.path_depth == 0 ? host->is_rule : has_depth(host->path_mask, key.path_depth) && find_leaf(key.rule);
}

}  // namespace mankai::detail
