#include "mankai/catalog/keys.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/filter/hash_windows.hpp"
#include "mankai/filter/keyed_batch.hpp"
#include "mankai/url/canonical_url.hpp"
#include "mankai/url/segments.hpp"

namespace mankai {
namespace {

using Keys = std::span<const std::string_view>;

// "…; counting-bloom, … can", for the kinds that a predicate picks.
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

/// Keys go through the URL rules in windows, so that what is held is bounded.
constexpr std::size_t kUrlWindow = 512;

/// URLs in canonical form; what is no URL is taken as it is.
class CanonicalKeys {
 public:
  explicit CanonicalKeys(std::size_t most) : urls_(std::min(kUrlWindow, most)), keys_(urls_.size()) {}

  /// At most kUrlWindow keys; the result refers to this object until the next call.
  Keys of(Keys keys) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys_[i] = url::canonicalize(keys[i], urls_[i]) ? urls_[i].text() : keys[i];
    }
    return std::span(keys_).first(keys.size());
  }

 private:
  std::vector<url::CanonicalUrl> urls_;
  std::vector<std::string_view> keys_;
};

/// URLs taken apart: the digests of their segments, one URL after the other. What is no URL is a path of one segment,
/// its bytes; a URL has at least two.
class Paths {
 public:
  Paths(const Hasher& hasher, std::size_t most) : hasher_(hasher), urls_(std::min(kUrlWindow, most)) {}

  void read(Keys keys) {
    segments_.clear();
    ends_.clear();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      append(keys[i], urls_[i]);
    }
    digests_.resize(segments_.size());
    hasher_(segments_, digests_);
  }
  [[nodiscard]] std::span<const Digest> digests() const noexcept { return digests_; }
  [[nodiscard]] std::span<const std::uint32_t> ends() const noexcept { return ends_; }

 private:
  void append(std::string_view key, url::CanonicalUrl& url) {
    if (url::canonicalize(key, url)) {
      url::split_segments(url, of_one_);
      segments_.insert(segments_.end(), of_one_.begin(), of_one_.end());
    } else {
      segments_.push_back(key);
    }
    ends_.push_back(static_cast<std::uint32_t>(segments_.size()));
  }

  Hasher hasher_;
  std::vector<url::CanonicalUrl> urls_;
  std::vector<std::string_view> of_one_;
  std::vector<std::string_view> segments_;
  std::vector<std::uint32_t> ends_;
  std::vector<Digest> digests_;
};

template <class F, class Use>
void for_each_path_window(const F& filter, Keys keys, const Use& use) {
  Paths paths(filter.hasher(), keys.size());
  for (std::size_t start = 0; start < keys.size(); start += kUrlWindow) {
    const std::size_t count = std::min(kUrlWindow, keys.size() - start);
    paths.read(keys.subspan(start, count));
    use(start, count, paths);
  }
}

// Calls `use(start, keys)` with the keys as they are hashed: all of them, or window after window in canonical form.
template <class F, class Use>
void for_each_key_window(const F& filter, Keys keys, const Use& use) {
  if (filter.canonical_version() == 0) {
    use(std::size_t{0}, keys);
    return;
  }
  CanonicalKeys canonical(keys.size());
  for (std::size_t start = 0; start < keys.size(); start += kUrlWindow) {
    use(start, canonical.of(keys.subspan(start, std::min(kUrlWindow, keys.size() - start))));
  }
}

// The same, hashed: calls `use(start, digests)`.
template <class F, class Use>
void for_each_digest_window(const F& filter, Keys keys, const Use& use) {
  for_each_key_window(filter, keys, [&](std::size_t start, Keys window) {
    for_each_hashed_window(filter.hasher(), window,
                           [&](std::size_t offset, std::span<const Digest> digests) { use(start + offset, digests); });
  });
}

// One by one: calls `use(index, digest)`.
template <class F, class Use>
void for_each_digest(const F& filter, Keys keys, const Use& use) {
  for_each_digest_window(filter, keys, [&](std::size_t start, std::span<const Digest> digests) {
    for (std::size_t i = 0; i < digests.size(); ++i) {
      use(start + i, digests[i]);
    }
  });
}

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

// A key comes when the filter stands: at its newest time, or where it was moved on since, when that epoch began.
template <class Before>
void insert_named(DecayedTop& filter, Keys keys, const Before& before) {
  const Time now = std::max(filter.newest(), start_of(filter.tick(), filter.epoch()));
  const Hasher hash = filter.hasher();
  for_each_key_window(filter, keys, [&](std::size_t start, Keys window) {
    for (std::size_t i = 0; i < window.size(); ++i) {
      const Digest digest = hash(window[i]);
      before(start + i, digest);
      filter.insert(digest, window[i], now);
    }
  });
}

/// What a key gets that comes without a value.
constexpr std::uint32_t kNoValue = 0;
constexpr double kWholeStrength = 1;

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

// A key is there when a value is.
template <class F>
bool has_value(const F& filter, Digest key) {
  ValueMatches first{};
  return filter.get(key, std::span(&first, 1)) != 0;
}

template <class F>
std::unexpected<Error> has_no_time(const F& /*filter*/) {
  return cannot(F::kName, "knows no time", [](const KindInfo& info) { return info.has_time; });
}

template <class F>
std::unexpected<Error> takes_no_values(const F& /*filter*/) {
  return cannot(F::kName, "keeps no values", [](const KindInfo& info) { return info.key_shape == KeyShape::valued; });
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
          for_each_path_window(
              f, keys, [&](std::size_t, std::size_t, const Paths& paths) { f.insert(paths.digests(), paths.ends()); });
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
          for_each_path_window(f, keys, [&](std::size_t start, std::size_t count, const Paths& paths) {
            f.observe(paths.digests(), paths.ends(), seen.subspan(start, count));
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
          for_each_path_window(f, keys, [&](std::size_t start, std::size_t count, const Paths& paths) {
            f.may_contain(paths.digests(), paths.ends(), outcomes.subspan(start, count));
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
        if constexpr (kHasTime<decltype(f)>) {
          const Tick tick = tick_of(time, f.epoch());
          if (tick < f.tick()) {
            return fail(ErrorCode::invalid_argument,
                        "the filter already stands at a later time, and time does not go "
                        "back: give a time from the epoch at which it stands on");
          }
          f.advance(tick);
          return {};
        } else {
          return has_no_time(f);
        }
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
