#include "mankai/catalog/keys.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/catalog/detail/key_windows.hpp"
#include "mankai/catalog/detail/kind_abilities.hpp"
#include "mankai/filter/hash_windows.hpp"
#include "mankai/filter/keyed_batch.hpp"

namespace mankai {
namespace {

using namespace detail;

// Calls `use(start, digests, ends)` with the digests of all segments of a window of URLs.
template <class F, class Use>
void for_each_path_window(const F& filter, Keys keys, const Use& use) {
  Paths paths(keys.size());
  std::vector<Digest> digests;
  for_each_url_window(keys, [&](std::size_t start, Keys window) {
    paths.read(window, rules_of(filter));
    digests.resize(paths.segments().size());
    filter.hasher()(paths.segments(), digests);
    use(start, std::span<const Digest>(digests), paths.ends());
  });
}

template <class Before>
void insert_named(DecayedTop& filter, Keys keys, const Before& before) {
  const Time now = now_of(filter);
  const Hasher hash = filter.hasher();
  for_each_key_window(filter, keys, [&](std::size_t start, Keys window) {
    for (std::size_t i = 0; i < window.size(); ++i) {
      const Digest digest = hash(window[i]);
      before(start + i, digest);
      filter.insert(digest, window[i], now);
    }
  });
}

template <class F, class ValueOf>
void put_each(F& filter, Keys keys, const ValueOf& value_of, double strength) {
  for_each_digest(filter, keys, [&](std::size_t i, Digest digest) { filter.put(digest, value_of(i), strength); });
}

template <class F>
Result<void> insert_with_ids(F& filter, Keys keys, std::span<const std::uint64_t> ids) {
  Result<void> outcome;
  for_each_digest(filter, keys, [&](std::size_t i, Digest digest) {
    if (outcome) {
      outcome = filter.insert(digest, ids[i]);
    }
  });
  return outcome;
}

}  // namespace

void insert_keys(AnyFilter& filter, Keys keys) {
  std::visit(
      [&](auto& f) {
        if constexpr (kTakesValues<decltype(f)>) {
          put_each(f, keys, [](std::size_t) { return kNoValue; }, kWholeStrength);
        } else if constexpr (kTakesNames<decltype(f)>) {
          insert_named(f, keys, [](std::size_t, Digest) {});
        } else if constexpr (kTakesPaths<decltype(f)>) {
          for_each_path_window(f, keys,
                               [&](std::size_t, std::span<const Digest> digests, std::span<const std::uint32_t> ends) {
                                 f.insert(digests, ends);
                               });
        } else {
          for_each_key_window(f, keys, [&](std::size_t, Keys window) { insert_keys(f, window); });
        }
      },
      filter);
}

void observe_keys(AnyFilter& filter, Keys keys, std::span<bool> seen) {
  MANKAI_ASSERT(keys.size() == seen.size());
  std::visit(
      [&](auto& f) {
        if constexpr (kTakesValues<decltype(f)>) {
          for_each_digest(f, keys, [&](std::size_t i, Digest digest) {
            seen[i] = has_value(f, digest);
            f.put(digest, kNoValue, kWholeStrength);
          });
        } else if constexpr (kTakesNames<decltype(f)>) {
          insert_named(f, keys, [&](std::size_t i, Digest digest) { seen[i] = f.may_contain(digest); });
        } else if constexpr (kTakesPaths<decltype(f)>) {
          for_each_path_window(
              f, keys, [&](std::size_t start, std::span<const Digest> digests, std::span<const std::uint32_t> ends) {
                f.observe(digests, ends, seen.subspan(start, ends.size()));
              });
        } else {
          for_each_key_window(f, keys, [&](std::size_t start, Keys window) {
            observe_keys(f, window, seen.subspan(start, window.size()));
          });
        }
      },
      filter);
}

void may_contain_keys(const AnyFilter& filter, Keys keys, std::span<bool> outcomes) {
  MANKAI_ASSERT(keys.size() == outcomes.size());
  std::visit(
      [&](const auto& f) {
        if constexpr (kTakesValues<decltype(f)>) {
          for_each_digest(f, keys, [&](std::size_t i, Digest digest) { outcomes[i] = has_value(f, digest); });
        } else if constexpr (kTakesPaths<decltype(f)>) {
          for_each_path_window(
              f, keys, [&](std::size_t start, std::span<const Digest> digests, std::span<const std::uint32_t> ends) {
                f.may_contain(digests, ends, outcomes.subspan(start, ends.size()));
              });
        } else {
          for_each_key_window(f, keys, [&](std::size_t start, Keys window) {
            may_contain_keys(f, window, outcomes.subspan(start, window.size()));
          });
        }
      },
      filter);
}

Result<void> insert_keys_with_ids(AnyFilter& filter, Keys keys, std::span<const std::uint64_t> ids) {
  MANKAI_ASSERT(keys.size() == ids.size());
  return std::visit(
      [&](auto& f) -> Result<void> {
        if constexpr (kTakesIds<decltype(f)>) {
          return insert_with_ids(f, keys, ids);
        } else {
          return takes_no_ids(f);
        }
      },
      filter);
}

Result<void> erase_keys(AnyFilter& filter, Keys keys, std::span<EraseResult> results) {
  MANKAI_ASSERT(keys.size() == results.size());
  return std::visit(
      [&](auto& f) -> Result<void> {
        if constexpr (kCanErase<decltype(f)>) {
          for_each_digest_window(f, keys, [&](std::size_t start, std::span<const Digest> digests) {
            f.erase(digests, results.subspan(start, digests.size()));
          });
          return {};
        } else {
          return cannot_erase(f);
        }
      },
      filter);
}

Result<void> erase_keys_with_ids(AnyFilter& filter, Keys keys, std::span<const std::uint64_t> ids,
                                 std::span<EraseResult> results) {
  MANKAI_ASSERT(keys.size() == ids.size() && keys.size() == results.size());
  return std::visit(
      [&](auto& f) -> Result<void> {
        if constexpr (kTakesIds<decltype(f)>) {
          for_each_digest_window(f, keys, [&](std::size_t start, std::span<const Digest> digests) {
            f.erase(digests, ids.subspan(start, digests.size()), results.subspan(start, digests.size()));
          });
          return {};
        } else {
          return takes_no_ids(f);
        }
      },
      filter);
}

Result<void> count_keys(const AnyFilter& filter, Keys keys, std::span<KeyCount> counts) {
  MANKAI_ASSERT(keys.size() == counts.size());
  return std::visit(
      [&](const auto& f) -> Result<void> {
        if constexpr (kCanCount<decltype(f)>) {
          for_each_digest_window(f, keys, [&](std::size_t start, std::span<const Digest> digests) {
            f.estimate(digests, counts.subspan(start, digests.size()));
          });
          return {};
        } else {
          return cannot(f.kName, "does not count", [](const KindInfo& info) { return info.can_count; });
        }
      },
      filter);
}

Result<void> advance_filter(AnyFilter& filter, Time time) {
  return std::visit(
      [&](auto& f) -> Result<void> {
        const auto tick = next_tick(f, time);
        if (!tick) {
          return std::unexpected(tick.error());
        }
        if constexpr (kHasTime<decltype(f)>) {
          f.advance(*tick);
        }
        return {};
      },
      filter);
}

std::optional<Time> filter_time(const AnyFilter& filter) noexcept {
  return std::visit(
      [](const auto& f) -> std::optional<Time> {
        if constexpr (kHasTime<decltype(f)>) {
          return start_of(f.tick(), f.epoch());
        } else {
          return std::nullopt;
        }
      },
      filter);
}

Result<void> count_keys_lately(const AnyFilter& filter, Keys keys, std::span<DecayedCount> counts) {
  MANKAI_ASSERT(keys.size() == counts.size());
  return std::visit(
      [&](const auto& f) -> Result<void> {
        if constexpr (kCountsLately<decltype(f)>) {
          for_each_digest_window(f, keys, [&](std::size_t start, std::span<const Digest> digests) {
            f.estimate(digests, counts.subspan(start, digests.size()));
          });
          return {};
        } else {
          return cannot(f.kName, "does not count lately", [](const KindInfo& info) { return info.counts_lately; });
        }
      },
      filter);
}

Result<void> put_values(AnyFilter& filter, Keys keys, std::span<const std::uint32_t> values, double strength) {
  MANKAI_ASSERT(keys.size() == values.size());
  return std::visit(
      [&](auto& f) -> Result<void> {
        if constexpr (kTakesValues<decltype(f)>) {
          put_each(f, keys, [&](std::size_t i) { return values[i]; }, strength);
          return {};
        } else {
          return takes_no_values(f);
        }
      },
      filter);
}

Result<std::vector<ValueMatches>> recall_values(const AnyFilter& filter, std::string_view key,
                                                std::uint32_t min_matches) {
  return std::visit(
      [&](const auto& f) -> Result<std::vector<ValueMatches>> {
        if constexpr (kTakesValues<decltype(f)>) {
          std::vector<ValueMatches> values;
          for_each_digest(f, std::span(&key, 1),
                          [&](std::size_t, Digest digest) { values = f.get(digest, min_matches); });
          return values;
        } else {
          return takes_no_values(f);
        }
      },
      filter);
}

}  // namespace mankai
