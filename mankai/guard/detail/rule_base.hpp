#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/guard/detail/rule_table.hpp"
#include "mankai/guard/fuse_map.hpp"

namespace mankai::detail {

inline constexpr std::size_t kClassesMax = 256;

/// What the base's bytes begin with, before its classes. Part of the format.
struct RuleBaseHeader {
  std::uint64_t rules = 0;
  FuseMap::Params map{};
  double fpr_worst = 0;     ///< of the URLs with the most lookups
  double fpr_stranger = 0;  ///< of a URL whose anchor is absent
  std::uint16_t host_depth_max = 0;
  std::uint16_t path_depth_max = 0;
  std::uint16_t classes = 0;
  std::uint16_t zero = 0;
};
static_assert(sizeof(RuleBaseHeader) == 64);

/// A class as bytes.
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
/// below it, and every path and query. Rare classes beyond kClassesMax share one that names all their depths, which
/// costs lookups but never loses a rule.
///
/// Formula: a lookup of an absent path is a false positive with probability p = 2^-w, of an absent host with
///          s = p (b + sum of min(1, u_c p)), where b classes are rules and each other class c leads to u_c lookups. A
///          URL below an anchor is a false positive with at most the sum over the depths that the anchor's class names:
///          p per path, and per host of depth d the larger of s and p times the lookups of the hosts there.
/// Threads: const calls are safe together.
class RuleBase {
 public:
  struct Bytes {
    std::vector<std::uint64_t> cells;
    std::vector<std::byte> classes;
  };

  /// Builds the smallest base within the fpr. Pre: none of the rules stays exact. Cost: 300 ns per rule.
  /// Errors: invalid_argument for an fpr that needs more than 32 bits per value; out_of_space.
  [[nodiscard]] static Result<Bytes> build(const RuleTable& rules, double fpr, std::uint64_t seed);
  /// Pre: cells are aligned to 8. Errors: corrupt.
  [[nodiscard]] static Result<RuleBase> from_bytes(std::span<const std::byte> cells,
                                                   std::span<const std::byte> classes);

  [[nodiscard]] std::optional<HostEntry> find_host(Digest digest) const noexcept {
    const std::uint32_t value = map_.lookup(digest);
    return value < classes_.size() ? std::optional(classes_[value]) : std::nullopt;
  }
  [[nodiscard]] bool find_leaf(Digest digest) const noexcept { return map_.lookup(digest) == 0; }
  [[nodiscard]] static bool has_single_labels() noexcept { return false; }
  [[nodiscard]] std::size_t host_depth_max() const noexcept { return header_.host_depth_max; }
  [[nodiscard]] std::size_t path_depth_max() const noexcept { return header_.path_depth_max; }
  [[nodiscard]] const RuleBaseHeader& header() const noexcept { return header_; }

  /// Sets the address of the cells, which have moved. Pre: the same bytes.
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
