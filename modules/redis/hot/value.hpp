#pragma once

/// The filter behind a HOT.* key: counts that fade, and the hottest items by name.
///
/// Events come with their times, which the primary decides on and replicas are told: so both have the same bytes. What
/// is asked is answered as of a moment: counts fade until then in the answer, and nothing is changed by asking.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/filter/decayed_top/decayed_top.hpp"
#include "modules/redis/image/value.hpp"

namespace mankai::redis {

/// What a filter is made with; replicas get all of it.
struct HotSettings {
  Decay decay;
  std::uint64_t bytes = 0;  ///< of the image; 0: sized by capacity
  std::uint64_t capacity_keys = 0;
  double fpr = 0;  ///< of items whose count is too high
  HashSpec hash;
};

class HotValue : public FilterValue<DecayedTop> {
 public:
  static constexpr ImageFamily kFamily{.type_name = "mankai-ht",
                                       .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'h', 't'},
                                       .kind = DecayedTop::kKind,
                                       .layout = ImageLayout::flat,
                                       .is_of_one_moment = true,
                                       .load_command = "hot.loadchunk"};
  /// The largest image that is made: all of it fades, in one go, at the start of every epoch.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;
  /// More epochs would bring the pass over the image too often, for a count that is hardly smoother.
  static constexpr double kMostEpochsPerHalfLife = 1024;
  /// The most that an item is counted at once.
  static constexpr std::uint32_t kMostIncrement = DecayedTop::kMostAtOnce;

  /// An item with its count as of the moment that was asked about; its bytes are the filter's.
  struct Item {
    std::string_view key;
    double count;
  };

  /// Errors: invalid_argument, out_of_space.
  [[nodiscard]] static Result<HotValue> create(const HotSettings& settings);
  /// Errors: corrupt.
  [[nodiscard]] static Result<HotValue> from_image(AssembledImage image) {
    return value_of<HotValue>(filter_of<DecayedTop>(std::move(image)));
  }

  /// Counts an item, and returns its count after that, as of the newest event. Pre: increment >= 1.
  double add(std::string_view key, std::uint32_t increment, Time at) noexcept;
  /// The item's decayed count as of a moment, or of the newest event if that is later: never too low, unless cells were
  /// saturated (`filter().saturations()`).
  [[nodiscard]] double count(std::string_view key, Time at) const noexcept;
  /// Events per hour, as `mankai hot` prints them: of a stream as steady as the count would be as it is then.
  [[nodiscard]] double rate(std::string_view key, Time at) const noexcept;
  /// The hottest items after the first `skip`, hottest first, without those whose count has decayed to nothing.
  /// Errors: std::bad_alloc.
  [[nodiscard]] std::vector<Item> top(std::size_t most, std::size_t skip, Time at) const;

  [[nodiscard]] ImageParts parts() const;

  explicit HotValue(DecayedTop filter) noexcept : FilterValue(std::move(filter)) {}

 private:
  /// What is left at a moment of what is counted now.
  [[nodiscard]] double share_left(Time at) const noexcept;
  /// The count that one event a second has come to at a moment.
  [[nodiscard]] double count_of_steady_stream(Time at) const noexcept;
};

}  // namespace mankai::redis
