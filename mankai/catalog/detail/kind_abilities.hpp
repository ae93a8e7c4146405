#pragma once

/// What kinds can do, as the catalog asks it, and the errors that say that one cannot.

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>

#include "mankai/catalog/kind.hpp"
#include "mankai/filter/concepts.hpp"

namespace mankai::detail {

template <class F>
constexpr bool kTakesPaths = PathFilter<std::remove_cvref_t<F>>;
template <class F>
constexpr bool kCanCount = FrequencyFilter<std::remove_cvref_t<F>>;
template <class F>
constexpr bool kCanErase = DeletableFilter<std::remove_cvref_t<F>>;
template <class F>
constexpr bool kTakesIds = NumberedFilter<std::remove_cvref_t<F>>;
template <class F>
constexpr bool kHasTime = DecayingFilter<std::remove_cvref_t<F>>;
template <class F>
constexpr bool kCountsLately = DecayedFrequencyFilter<std::remove_cvref_t<F>>;
template <class F>
constexpr bool kTakesValues = AssociativeFilter<std::remove_cvref_t<F>>;
/// Keeps the bytes of keys beside their digests.
template <class F>
constexpr bool kTakesNames = std::is_same_v<std::remove_cvref_t<F>, DecayedTop>;

/// "…; counting-bloom, … can", for the kinds that a predicate picks.
template <class Has>
std::unexpected<Error> cannot(std::string_view kind, std::string_view what, const Has& has) {
  std::string others;
  for (const KindInfo& info : kinds()) {
    if (has(info)) {
      others += (others.empty() ? "" : ", ") + std::string(info.name);
    }
  }
  return fail(ErrorCode::invalid_argument,
              "a filter of kind " + std::string(kind) + " " + std::string(what) + "; these can: " + others);
}

template <class F>
std::unexpected<Error> cannot_erase(const F& /*filter*/) {
  return cannot(F::kName, "cannot take keys out", [](const KindInfo& info) { return info.can_erase; });
}

template <class F>
std::unexpected<Error> takes_no_ids(const F& /*filter*/) {
  return cannot(F::kName, "takes no ids", [](const KindInfo& info) { return info.key_shape == KeyShape::numbered; });
}

template <class F>
std::unexpected<Error> takes_no_values(const F& /*filter*/) {
  return cannot(F::kName, "keeps no values", [](const KindInfo& info) { return info.key_shape == KeyShape::valued; });
}

template <class F>
std::unexpected<Error> takes_no_times(const F& /*filter*/) {
  return cannot(F::kName, "takes no times with keys",
                [](const KindInfo& info) { return info.key_shape == KeyShape::named; });
}

/// Returns the tick to which a filter moves on at a moment. Errors: invalid_argument for a kind without time, and for a
/// moment before the filter's.
template <class F>
Result<Tick> next_tick(const F& filter, Time time) {
  if constexpr (kHasTime<F>) {
    const Tick tick = tick_of(time, filter.epoch());
    if (tick < filter.tick()) {
      return fail(ErrorCode::invalid_argument,
                  "the filter already stands at a later time, and time does not go "
                  "back: give a time from the epoch at which it stands on");
    }
    return tick;
  } else {
    return cannot(F::kName, "knows no time", [](const KindInfo& info) { return info.has_time; });
  }
}

/// Returns when a key comes that has no time of its own: at the filter's newest time, or where it was moved on since,
/// when that epoch began.
inline Time now_of(const DecayedTop& filter) noexcept {
  return std::max(filter.newest(), start_of(filter.tick(), filter.epoch()));
}

/// What a key gets that comes without a value.
inline constexpr std::uint32_t kNoValue = 0;
inline constexpr double kWholeStrength = 1;

/// A key is there when a value is.
template <class F>
bool has_value(const F& filter, Digest key) {
  ValueMatches first{};
  return filter.get(key, std::span(&first, 1)) != 0;
}

}  // namespace mankai::detail
