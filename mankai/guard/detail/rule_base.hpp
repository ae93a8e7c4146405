#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/guard/detail/node_section.hpp"
#include "mankai/guard/detail/rule_table.hpp"
#include "mankai/guard/fuse_map.hpp"

namespace mankai::detail {

inline constexpr std::size_t kClassesMax = 256;

/// The start of the base's bytes, before its classes. Part of the format.
struct RuleBaseHeader {
  std::uint64_t rules = 0;
  FuseMap::Params map{};
  double fpr_worst = 0;   ///< for the URLs with the most lookups
  double fpr_absent = 0;  ///< for a URL whose anchor is absent
  std::uint16_t host_depth_max = 0;
  std::uint16_t path_depth_max = 0;
  std::uint16_t classes = 0;
  std::uint16_t zero = 0;
};
static_assert(sizeof(RuleBaseHeader) == 64);

/// The bytes of a class. Part of the format.
struct RuleBaseClass {
  std::uint8_t is_rule = 0;
  std::uint8_t has_query = 0;
  std::uint16_t host_mask = 0;
  std::uint16_t path_mask = 0;
  std::uint16_t zero = 0;
};
static_assert(sizeof(RuleBaseClass) == 8);

/// The static filter of rules and of the hosts and anchors above them: a map from digests to classes. Most numbers that
/// a lookup can return are not a class, so most absent keys are recognized. A view; the bytes must outlive it.
///
/// A class says whether a host is a rule, and at which depths below it there are rules. Class 0 is a rule with nothing
/// below it, and every path and query. Rare classes beyond kClassesMax share one that has all their depths, which costs
/// lookups but never loses a rule.
///
/// Formula: the false-positive rate of an absent path is p = 2^-w, of an absent host s = p (b + sum of min(1, u_c p)).
///          Here b classes are rules, and each other class c leads to u_c lookups. A URL below an anchor is a false
///          positive with at most a sum over the depths that the anchor's class has: p per path, and per host of depth
///          d the larger of s and p times the lookups of the hosts there.
/// Threads: const calls are safe together.
class RuleBase {
 public:
  struct Bytes {
    std::vector<std::uint64_t> cells;
    std::vector<std::byte> classes;
  };

  /// Builds the smallest base within the fpr. Cost: 300 ns per rule. Errors: invalid_argument for an fpr that needs
  /// more than 32 bits per value; out_of_space. Pre: no rule `stays_exact`.
  [[nodiscard]] static Result<Bytes> build(const NodeSection& nodes, double fpr, std::uint64_t seed);
  /// Errors: corrupt. Pre: cells are aligned to 8.
  [[nodiscard]] static Result<RuleBase> from_bytes(std::span<const std::byte> cells,
                                                   std::span<const std::byte> classes);

  [[nodiscard]] const HostEntry* find_host(Digest digest) const noexcept {
    const std::uint32_t value = map_.lookup(digest);
    return value < classes_.size() ? &classes_[value] : nullptr;
  }
  [[nodiscard]] bool find_leaf(Digest digest) const noexcept { return map_.lookup(digest) == 0; }
  [[nodiscard]] static bool has_single_labels() noexcept { return false; }
  [[nodiscard]] std::size_t host_depth_max() const noexcept { return header_.host_depth_max; }
  [[nodiscard]] std::size_t path_depth_max() const noexcept { return header_.path_depth_max; }
  [[nodiscard]] const RuleBaseHeader& header() const noexcept { return header_; }

  /// Sets the address of the cells after they were moved. Pre: the bytes are the same.
  void rebase(std::span<const std::byte> cells) noexcept {
    map_.rebase(reinterpret_cast<const std::uint64_t*>(cells.data()));
  }

  /// Whether a check would find the rule; may be a false positive.
  [[nodiscard]] bool may_have(const RuleKey& key) const noexcept;

 private:
  RuleBase(const RuleBaseHeader& header, FuseMap map, std::vector<HostEntry> classes) noexcept
      : header_(header), map_(map), classes_(std::move(classes)) {}

  RuleBaseHeader header_;
  FuseMap map_;
  std::vector<HostEntry> classes_;
};

}  // namespace mankai::detail
