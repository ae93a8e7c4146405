#pragma once

/// The filter of a HOT.* key: decayed counts, and the items with the highest ones.
///
/// Each event has a time, which the primary determines and sends to replicas, so both have the same bytes. A query
/// computes the counts as of a moment and changes nothing.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/filter/decayed_top/decayed_top.hpp"
#include "modules/redis/image/value.hpp"

namespace mankai::redis {

/// What a filter is created with; replicas get all of it.
struct HotSettings {
  Decay decay;
  Duration window{};        ///< instead of decaying; 0: none
  std::uint64_t bytes = 0;  ///< of the image; 0: sized by capacity
  std::uint64_t capacity_keys = 0;
  double fpr = 0;  ///< rate of items whose count is too high
  CountRounding rounding = CountRounding::strict;
  HashSpec hash;
};

class HotValue : public FilterValue<DecayedTop> {
 public:
  static constexpr ImageFamily kFamily{.type_name = "mankai-ht",
                                       .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'h', 't'},
                                       .kinds = {DecayedTop::kKind},
                                       .layout = ImageLayout::flat,
                                       .is_of_one_moment = true,
                                       .load_command = "hot.loadchunk"};
  /// Largest image: it is created and copied in one piece.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;
  static constexpr std::uint32_t kMostIncrement = DecayedTop::kMostAtOnce;

  /// An item with its count as of the moment of the query. Its bytes belong to the filter.
  struct Item {
    std::string_view key;
    double count;
  };

  /// Errors: invalid_argument, out_of_space.
  [[nodiscard]] static Result<HotValue> create(const HotSettings& settings);
  [[nodiscard]] static Result<HotValue> from_image(AssembledImage image) {
    return value_of<HotValue>(filter_of<DecayedTop>(std::move(image)));
  }

  /// Counts an item. Returns its new count as of the newest event. Pre: increment >= 1.
  double add(std::string_view key, std::uint32_t increment, Time at) noexcept;
  /// The decayed count as of a moment, or of the newest event if that is later, rounded to a multiple of 2^-16; but for
  /// that, a strict one is never too low.
  [[nodiscard]] double count(std::string_view key, Time at) const noexcept;
  /// Events per hour, as `mankai hot` prints them: the rate of a steady stream with this count at that moment.
  [[nodiscard]] double rate(std::string_view key, Time at) const noexcept;
  /// The items with the highest counts, in descending order, after the first `skip`; without those whose count has
  /// decayed to nothing. Errors: std::bad_alloc.
  [[nodiscard]] std::vector<Item> top(std::size_t most, std::size_t skip, Time at) const;

  [[nodiscard]] ImageParts parts() const;

  explicit HotValue(DecayedTop filter) noexcept : FilterValue(std::move(filter)) {}

 private:
  /// The count at a moment of a steady stream of one event per second.
  [[nodiscard]] double count_of_steady_stream(Time at) const noexcept;
};

}  // namespace mankai::redis
