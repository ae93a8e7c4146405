#pragma once

/// The interface of a filter class to AnyFilter: one virtual call per batch of keys.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mankai/filter/any_filter.hpp"

namespace mankai {

/// Implemented once, by KindBody in `define_kind.hpp`. Threads: as AnyFilter.
class FilterBody {
 public:
  using Keys = AnyFilter::Keys;

  FilterBody() = default;
  FilterBody(const FilterBody&) = delete;
  FilterBody& operator=(const FilterBody&) = delete;
  virtual ~FilterBody() = default;

  [[nodiscard]] virtual const KindDescription& kind() const noexcept = 0;
  [[nodiscard]] virtual void* address() noexcept = 0;

  // As AnyFilter's functions of the same names.
  virtual void may_contain(Keys keys, std::span<bool> outcomes) const = 0;
  [[nodiscard]] virtual bool may_contain(std::string_view key) const = 0;
  /// As AnyFilter::observe; nothing, and no change, if the filter needs more than the digest of the key's bytes.
  [[nodiscard]] virtual std::optional<bool> observe(std::string_view key) = 0;
  [[nodiscard]] virtual Result<void> count(Keys keys, std::span<KeyCount> counts) const = 0;
  [[nodiscard]] virtual Result<void> count(Keys keys, std::span<DecayedCount> counts) const = 0;
  [[nodiscard]] virtual Result<std::vector<ValueMatches>> recall(std::string_view key,
                                                                 std::uint32_t min_matches) const = 0;
  [[nodiscard]] virtual std::optional<Time> time() const noexcept = 0;
  [[nodiscard]] virtual Result<void> apply(const Change& change, const Outcomes& outcomes) = 0;
  [[nodiscard]] virtual Result<std::uint64_t> observe_concurrent(Keys keys, std::span<bool> seen) = 0;
  [[nodiscard]] virtual Result<std::uint64_t> erase_concurrent(Keys keys, std::span<EraseResult> results) = 0;
  [[nodiscard]] virtual Result<void> count_again(std::uint64_t keys) = 0;
  /// Pre: a filter of the same kind.
  [[nodiscard]] virtual Result<void> merge(FilterBody& other) = 0;
  virtual void clear() noexcept = 0;
  [[nodiscard]] virtual Result<AnyFilter> create_like(const Memory& memory) const = 0;
  [[nodiscard]] virtual FilterSpec spec() const = 0;
  [[nodiscard]] virtual FilterInfo describe() const = 0;
  [[nodiscard]] virtual std::uint64_t keys_inserted() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t capacity_keys() const noexcept = 0;
  [[nodiscard]] virtual Room room() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t image_bytes() const noexcept = 0;
  [[nodiscard]] virtual Hasher hasher() const noexcept = 0;
  [[nodiscard]] virtual std::uint8_t canonical_version() const noexcept = 0;
  [[nodiscard]] virtual std::vector<std::span<const std::byte>> seal_parts() = 0;
  [[nodiscard]] virtual std::vector<std::byte> to_bytes() const = 0;
  [[nodiscard]] virtual Result<void> verify() const = 0;

  // For ChangeEncoder.
  /// Errors: invalid_argument for a kind without time, and for a time before the filter's.
  [[nodiscard]] virtual Result<Tick> tick_at(Time time) const = 0;
  /// The time of a key that arrives without one, for kinds that store names.
  [[nodiscard]] virtual Time now() const noexcept = 0;
  /// Errors: invalid_argument for an id that the filter cannot take.
  [[nodiscard]] virtual Result<void> check_id(std::uint64_t id) const = 0;
  /// Errors: out_of_space for a filter that does not grow and has no room for so many more keys.
  [[nodiscard]] virtual Result<void> check_room(std::span<const Digest> digests) const = 0;
  /// Errors: invalid_argument for a filter that was created without removal, of a kind that has it.
  [[nodiscard]] virtual Result<void> check_erase() const = 0;
  /// The tick until which a key lives. Errors: as ChangeEncoder::insert_until.
  [[nodiscard]] virtual Result<std::uint64_t> until_of(Time expiry) const = 0;
  /// Prefetches the cells of one key; `id` selects its sub-filter.
  virtual void prefetch(Digest digest, std::optional<std::uint64_t> id) const noexcept = 0;
};

}  // namespace mankai
