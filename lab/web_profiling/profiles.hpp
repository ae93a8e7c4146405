#pragma once

/// Filters of decayed counts behind one interface with batches, so that virtual calls are cheap. All have the context's
/// fault.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lab/under_test.hpp"
#include "lab/web_profiling/visits.hpp"
#include "mankai/filter/decayed_top/decayed_top.hpp"
#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"
#include "mankai/filter/time_decaying_pooled_counts/time_decaying_pooled_counts.hpp"
#include "mankai/filter/time_decaying_tiered_counts/time_decaying_tiered_counts.hpp"

namespace mankai::lab::profiling {

/// The lambda and the cells per key of most parts.
inline constexpr double kLambda = 0.9;
inline constexpr std::uint32_t kProbes = 4;

class Profile {
 public:
  virtual ~Profile() = default;
  Profile() = default;
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Advances to the tick and inserts visits of that tick.
  void insert(const Visits& visits, std::span<const std::uint32_t> pages, Tick tick);
  void insert(const Visits& visits);
  virtual void advance(Tick tick) = 0;
  [[nodiscard]] DecayedCount estimate(Digest digest) const { return with_fault(counted(digest), digest); }
  void estimate(std::span<const Digest> digests, std::span<DecayedCount> counts) const;
  [[nodiscard]] bool may_contain(Digest digest) const { return knows(digest) || invents_yes(fault_, digest.value); }
  /// Of the cells, and of the whole image.
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t image_bytes() const { return bytes(); }
  /// The hottest keys that the filter lists; nullopt if it stores no keys.
  [[nodiscard]] virtual std::optional<std::vector<std::string>> hottest(std::size_t /*most*/) const { return {}; }

 protected:
  explicit Profile(Fault fault) noexcept : fault_(fault) {}

  struct Batch {
    std::span<const Digest> digests;
    std::span<const std::string_view> names;
  };
  virtual void take(const Batch& batch) = 0;
  [[nodiscard]] virtual DecayedCount counted(Digest digest) const = 0;
  virtual void counted(std::span<const Digest> digests, std::span<DecayedCount> counts) const = 0;
  [[nodiscard]] virtual bool knows(Digest digest) const = 0;
  [[nodiscard]] Fault fault() const noexcept { return fault_; }

 private:
  // A false positive on purpose has the count of one visit.
  [[nodiscard]] DecayedCount with_fault(DecayedCount count, Digest digest) const noexcept {
    return count.raw == 0 && invents_yes(fault_, digest.value) ? DecayedCount{.raw = 1} : count;
  }

  Fault fault_ = Fault::none;
};

template <DecayedFrequencyFilter F>
class ProfileOf : public Profile {
 public:
  ProfileOf(F filter, Fault fault) noexcept : Profile(fault), filter_(std::move(filter)) {}

  void advance(Tick tick) override {
    if (fault() != Fault::never_decays) {
      filter_.advance(tick);
    }
  }
  [[nodiscard]] std::uint64_t bytes() const override { return filter_.cells_bytes(); }
  [[nodiscard]] std::uint64_t image_bytes() const override { return filter_.image_bytes(); }
  [[nodiscard]] std::optional<std::vector<std::string>> hottest(std::size_t most) const override {
    if constexpr (requires { filter_.top(most); }) {
      std::vector<std::string> keys;
      for (const auto& entry : filter_.top(most)) {
        keys.emplace_back(entry.key);
      }
      return keys;
    } else {
      return {};
    }
  }
  [[nodiscard]] F& filter() noexcept { return filter_; }
  [[nodiscard]] const F& filter() const noexcept { return filter_; }

 protected:
  void take(const Batch& batch) override {
    if constexpr (requires { filter_.insert(batch.digests, batch.names, std::span<const Time>()); }) {
      const std::vector<Time> times(batch.digests.size(), start_of(filter_.tick(), filter_.epoch()));
      filter_.insert(batch.digests, batch.names, times);
    } else {
      insert_crowd(fault(), {}, [&](Digest other) {
        std::vector<Digest> crowd(batch.digests.begin(), batch.digests.end());
        for (Digest& digest : crowd) {
          digest.value ^= other.value;
        }
        filter_.insert(std::span<const Digest>(crowd));
      });
    }
  }
  [[nodiscard]] DecayedCount counted(Digest digest) const override { return filter_.estimate(digest); }
  void counted(std::span<const Digest> digests, std::span<DecayedCount> counts) const override {
    filter_.estimate(digests, counts);
  }
  [[nodiscard]] bool knows(Digest digest) const override { return filter_.may_contain(digest); }

 private:
  F filter_;
};

using Basic = ProfileOf<TimeDecayingCounts>;
using Pooled = ProfileOf<TimeDecayingPooledCounts>;
using Tiered = ProfileOf<TimeDecayingTieredCounts>;

/// The epoch of drawn streams. Its length has no effect, since their ticks are given.
inline constexpr Duration kDrawnEpoch = std::chrono::seconds(1);
[[nodiscard]] inline Decay drawn_decay(double lambda) { return *Decay::of(lambda, kDrawnEpoch); }

template <class F>
[[nodiscard]] Result<std::unique_ptr<ProfileOf<F>>> profile_of(Result<F> filter, const Context& context) {
  if (!filter) {
    return std::unexpected(filter.error());
  }
  return std::make_unique<ProfileOf<F>>(std::move(*filter), context.fault);
}
template <class F>
[[nodiscard]] Result<std::unique_ptr<ProfileOf<F>>> make_profile(typename F::Options options, const Context& context) {
  options.hash = context.hash();
  return profile_of(F::create(options), context);
}
inline constexpr auto kMakeBasic = make_profile<TimeDecayingCounts>;
/// The optimized filter, by default the paper's: m counters, and a pool of m / 2 digits that grows when it is
/// exhausted.
inline constexpr auto kMakePooled = make_profile<TimeDecayingPooledCounts>;
inline constexpr auto kMakeTiered = make_profile<TimeDecayingTieredCounts>;
inline constexpr auto kMakeTop = make_profile<DecayedTop>;

struct Tally {
  std::uint64_t checks = 0;  ///< of pages with a decayed count above 0
  std::uint64_t under = 0;   ///< estimates that were too low
  std::uint64_t live = 0;    ///< checks of pages with a decayed count of at least 1
  std::uint64_t live_under = 0;
  std::uint64_t saturated = 0;  ///< estimates flagged as possibly too low; not checked
  double most_lost = 0;         ///< the largest distance below the truth
  double most_gained = 0;       ///< the largest distance above it
};

/// Compares the estimates of all pages at a tick. Doubles that differ by a factor of up to 1 ± 1e-9 count as equal.
void check(const Profile& profile, const Visits& visits, const Truth& truth, Tick tick, Tally& tally);
/// Inserts all visits and checks at the end of every epoch.
[[nodiscard]] Tally replay_and_check(Profile& profile, const Visits& visits, double lambda);

/// Errors of estimates. Live pages are those with a decayed count of at least 1.
struct Accuracy {
  std::uint64_t live = 0;
  double relative = 0;       ///< mean of |estimate - truth| / truth over live pages
  double absolute = 0;       ///< mean of |estimate - truth| over live pages
  double relative_top = 0;   ///< as `relative`, over the 1000 live pages with the highest counts
  double worst_top = 0;      ///< the largest |estimate - truth| / truth of the 100 live pages with the highest counts
  double recall = 0;         ///< share of these 100 in the filter's list; without one, in that of the highest estimates
  double under = 0;          ///< share of live pages whose estimate was too low
  std::uint64_t checks = 0;  ///< pages with a decayed count above 0
  double under_of_checks = 0;  ///< share of those whose estimate was too low
};
inline constexpr std::size_t kTopPages = 1000;
inline constexpr std::size_t kListed = 100;

[[nodiscard]] Accuracy accuracy_of(const Profile& profile, const Visits& visits, const Truth& truth);

}  // namespace mankai::lab::profiling
