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

/// URLs taken apart: the digests of their segments, one URL after the other. What is no URL is a path of one segment,
/// its bytes; a URL has at least two.
class Paths {
 public:
  explicit Paths(const Hasher& hasher) : hasher_(hasher) {}

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

  /// Keys taken apart in one go, so that their lines are fetched together.
  static constexpr std::size_t kWindow = 512;

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
  std::vector<url::CanonicalUrl> urls_ = std::vector<url::CanonicalUrl>(kWindow);
  std::vector<std::string_view> of_one_;
  std::vector<std::string_view> segments_;
  std::vector<std::uint32_t> ends_;
  std::vector<Digest> digests_;
};

template <class F, class Use>
void for_each_path_window(const F& filter, Keys keys, const Use& use) {
  Paths paths(filter.hasher());
  for (std::size_t start = 0; start < keys.size(); start += Paths::kWindow) {
    const std::size_t count = std::min(Paths::kWindow, keys.size() - start);
    paths.read(keys.subspan(start, count));
    use(start, count, paths);
  }
}

template <class F>
constexpr bool kTakesPaths = PathFilter<std::remove_cvref_t<F>>;
template <class F>
constexpr bool kCanCount = FrequencyFilter<std::remove_cvref_t<F>>;
template <class F>
constexpr bool kCanErase = DeletableFilter<std::remove_cvref_t<F>>;
template <class F>
constexpr bool kTakesIds = NumberedFilter<std::remove_cvref_t<F>>;

}  // namespace

void insert_keys(AnyFilter& filter, Keys keys) {
  std::visit(
      [&](auto& f) {
        if constexpr (kTakesPaths<decltype(f)>) {
          for_each_path_window(
              f, keys, [&](std::size_t, std::size_t, const Paths& paths) { f.insert(paths.digests(), paths.ends()); });
        } else {
          insert_keys(f, keys);
        }
      },
      filter);
}

void observe_keys(AnyFilter& filter, Keys keys, std::span<bool> seen) {
  MANKAI_ASSERT(keys.size() == seen.size());
  std::visit(
      [&](auto& f) {
        if constexpr (kTakesPaths<decltype(f)>) {
          for_each_path_window(f, keys, [&](std::size_t start, std::size_t count, const Paths& paths) {
            f.observe(paths.digests(), paths.ends(), seen.subspan(start, count));
          });
        } else {
          observe_keys(f, keys, seen);
        }
      },
      filter);
}

void may_contain_keys(const AnyFilter& filter, Keys keys, std::span<bool> outcomes) {
  MANKAI_ASSERT(keys.size() == outcomes.size());
  std::visit(
      [&](const auto& f) {
        if constexpr (kTakesPaths<decltype(f)>) {
          for_each_path_window(f, keys, [&](std::size_t start, std::size_t count, const Paths& paths) {
            f.may_contain(paths.digests(), paths.ends(), outcomes.subspan(start, count));
          });
        } else {
          may_contain_keys(f, keys, outcomes);
        }
      },
      filter);
}

Result<void> insert_keys_with_ids(AnyFilter& filter, Keys keys, std::span<const std::uint64_t> ids) {
  MANKAI_ASSERT(keys.size() == ids.size());
  return std::visit(
      [&](auto& f) -> Result<void> {
        if constexpr (kTakesIds<decltype(f)>) {
          Result<void> outcome;
          for_each_hashed_window(f.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
            for (std::size_t i = 0; i < digests.size() && outcome; ++i) {
              outcome = f.insert(digests[i], ids[start + i]);
            }
          });
          return outcome;
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
          for_each_hashed_window(f.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
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
          for_each_hashed_window(f.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
            for (std::size_t i = 0; i < digests.size(); ++i) {
              results[start + i] = f.erase(digests[i], ids[start + i]);
            }
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
          for_each_hashed_window(f.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
            f.estimate(digests, counts.subspan(start, digests.size()));
          });
          return {};
        } else {
          return cannot(f.kName, "does not count", [](const KindInfo& info) { return info.can_count; });
        }
      },
      filter);
}

}  // namespace mankai
