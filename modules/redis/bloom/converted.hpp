#pragma once

/// A filter of RedisBloom or valkey-bloom that grows by our sub-filters since MANKAI.CONVERT. Its links answer as
/// before. Once the newest is full, new keys go to a filter of ours, which continues the capacities and rates of the
/// source: with links of rates p_0 … p_n and a tightening r, our sub-filter i has the rate p_n r^(i+1).
///
/// So the whole stays below the source's sum of rates, at a cache line per sub-filter and query instead of one per
/// probe. Rates below 1e-8 are raised to that (growth.hpp).
///
/// Format: type of the links (0 RedisBloom, 1 valkey-bloom), their fields, hash (kind, two words of seed), 1 if there
/// is a filter of ours, and its pieces (pieces.hpp).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "mankai/base/error.hpp"
#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/takeover/bloom_chain.hpp"
#include "mankai/takeover/valkey_bloom.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/image/add.hpp"
#include "modules/redis/image/value.hpp"
#include "modules/redis/image/work.hpp"

namespace mankai::redis {

/// Bytes that the links of a filter allocate from the engine.
template <class Filter>
[[nodiscard]] std::size_t heap_bytes_of_links(const Filter& filter) noexcept {
  std::size_t bytes = 0;
  for_each_slice(filter,
                 [&](const auto& link) { bytes += sizeof(link) + engine_bytes(link.cells().present().size()); });
  return bytes;
}

/// See the top of this file. Cost: that of the links, and a cache line per sub-filter. Threads: one writer or any
/// number of readers.
class ConvertedBloom {
 public:
  static constexpr const char* kTypeName = "mankai-cv";
  static constexpr unsigned kEncver = 1;

  /// Pre: the links are not nonscaling.
  template <class Links>
  ConvertedBloom(Links&& links, const HashSpec& hash) noexcept : links_(std::forward<Links>(links)), hash_(hash) {}

  /// Errors: corrupt, unsupported_version, out_of_space, and those of the reader.
  [[nodiscard]] static Result<ConvertedBloom> load(takeover::FieldReader& fields, unsigned encver);
  void save(takeover::FieldWriter& fields) const;
  /// Errors: out_of_space.
  [[nodiscard]] Result<ConvertedBloom> clone() const;
  /// An empty filter of ours with the parameters of the first link. Errors: out_of_space; invalid_argument if there is
  /// none.
  [[nodiscard]] Result<ScalableBloom> create_like() const;

  /// Adds keys in order while there is room, and writes which were new. Shape: keys[c], fresh[c].
  [[nodiscard]] AddReport add(std::span<const std::string_view> keys, std::span<bool> fresh);
  /// Shape: keys[c], answers[c].
  void may_contain(std::span<const std::string_view> keys, std::span<bool> answers) const noexcept;

  [[nodiscard]] std::uint64_t initial_keys() const noexcept;
  [[nodiscard]] double fpr_target() const noexcept;
  [[nodiscard]] std::uint32_t expansion() const noexcept;
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept;
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept;
  /// Links and sub-filters.
  [[nodiscard]] std::size_t slice_count() const noexcept;
  /// The present false-positive rate. Cost: a pass over the cells.
  [[nodiscard]] double fpr_estimate() const noexcept;
  [[nodiscard]] WorkShape work_shape() const noexcept;
  /// Without this object.
  [[nodiscard]] std::size_t heap_bytes() const noexcept;

  /// Calls `use(slice)` for each link, then for each sub-filter, oldest first.
  template <class Use>
  void for_each_slice(const Use& use) const {
    visit_links([&](const auto& links) { redis::for_each_slice(links, use); });
    if (own_) {
      redis::for_each_slice(*own_, use);
    }
  }

  // For defragmentation.
  [[nodiscard]] std::size_t memory_pieces() const noexcept;
  void relocate(std::size_t piece, const Mover& mover) noexcept;

 private:
  using Links = std::variant<takeover::BloomChain, takeover::ValkeyBloom>;

  template <class Use>
  decltype(auto) visit_links(const Use& use) const {
    return std::visit(use, links_);
  }
  [[nodiscard]] ScalableBloom::Options own_options() const noexcept;
  AddReport add_to_own(std::span<const std::string_view> keys, std::span<bool> fresh);

  Links links_;
  HashSpec hash_;
  std::optional<ScalableBloom> own_;  ///< from the first key on that the links have no room for
};

}  // namespace mankai::redis
