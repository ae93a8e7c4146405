#pragma once

/// "How hot is it?": the second of the four questions, as one class.
///
///     auto hot = mankai::Hot::create({.decay = *mankai::Decay::of_half_life(std::chrono::hours(1))});
///     hot->observe(path, time);
///     for (const auto& entry : hot->top(20)) { print(entry.key, entry.count.raw); }

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/decayed_top/decayed_top.hpp"
#include "mankai/store/kept_filter.hpp"

namespace mankai {

/// What a caller asks of a state that may exist already; what is left out is taken from it, or by default.
struct HotRequest {
  std::optional<Decay> decay = {};
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<HashKind> hash = {};
  std::optional<std::array<std::uint64_t, 2>> seed = {};
  /// What the keys are, as the caller numbers it, for a state that is created; DecayedTop::keys_tag tells it later.
  std::uint64_t keys_tag = 0;
  /// Records may come so long after a newer one before they count as beyond the tolerance too. Never kept in a state.
  Duration late_tolerance = std::chrono::minutes(5);
  /// Records later than this are left out and counted: one far in the future would make all others worth nothing. Never
  /// kept in a state, and moved on by accept_until.
  Time latest = Time::max();
};

/// Counts keys by the times of their records, each weighed by λ to the power of its age in epochs, in a fixed amount of
/// memory, and names the hottest ones. Time is what the records say: now is the newest one's, or a later moment that
/// advance_to named. A record that comes late counts for what is left of it.
///
/// A count is never too low while no cell has ended (saturations), and too high by what other keys share with it.
///
/// Cost:    as DecayedTop's; batches hash ahead and allocate nothing.
/// Threads: one at a time.
class Hot {
 public:
  using Entry = DecayedTop::Entry;

  static constexpr Duration kDefaultHalfLife = std::chrono::hours(1);
  static constexpr std::uint64_t kDefaultMemoryBytes = std::uint64_t{256} << 10;

  /// A memory that ends with the process. Errors: as DecayedTop::create's.
  [[nodiscard]] static Result<Hot> create(const HotRequest& request = {});
  /// A memory that stays in a file, which is created at once if it is missing, recovered where its last user did not
  /// end well, and locked until the end. Errors: locked; invalid_argument when the file was made for another request;
  /// as Store::open's.
  [[nodiscard]] static Result<Hot> open(const std::string& path, const HotRequest& request = {},
                                        const StoreOptions& options = {});

  /// Counts keys once each, at the times of their records, in order. In a file it is a batch, unless begin() makes one
  /// of several, and Durability says what it survives.
  /// Shape: keys[c], times[c]. Errors: in memory none; as Store::insert's.
  [[nodiscard]] Result<void> observe(std::span<const std::string_view> keys, std::span<const Time> times);
  [[nodiscard]] Result<void> observe(std::string_view key, Time at) { return observe({&key, 1}, {&at, 1}); }

  /// Leaves out records that are later than this from now on: what a clock says and some, as nothing here reads one.
  void accept_until(Time latest) noexcept { latest_ = latest; }
  /// Makes it now; an earlier moment than now changes nothing. Errors: in memory none; as Store::advance's.
  [[nodiscard]] Result<void> advance_to(Time now);
  /// The moment that counts are as of; 1970 before the first record.
  [[nodiscard]] Time now() const noexcept { return now_; }
  /// The time of the newest record; 1970 before the first one.
  [[nodiscard]] Time newest() const noexcept { return filter().newest(); }

  /// The decayed count of a key.
  [[nodiscard]] DecayedCount estimate(std::string_view key) const noexcept;
  /// The hottest keys, at most so many, hottest first, equal ones by their bytes, all as of now. Their bytes stand
  /// until the next record. Cost: a pass over the table and a sort.
  [[nodiscard]] std::vector<Entry> top(std::size_t most) const { return filter().top(most); }
  /// The keys with at least this decayed count, in the same order, as far as the table had room for them.
  [[nodiscard]] std::vector<Entry> above(double min_raw) const { return filter().above(min_raw); }

  /// Makes one batch of what comes until commit(), which may say where the source of the records stands. What is not
  /// committed is in memory, but never in the file. As the store's; nothing for a memory without a file.
  void begin(BatchMode mode = BatchMode::journaled) { kept_.begin(mode); }
  [[nodiscard]] Result<void> commit(std::string_view position = {}) { return kept_.commit(position); }
  /// Puts everything that was committed into the file and gives it back; nothing more may be observed. The end of this
  /// object does the same, but nobody hears an error. Errors: io, out_of_space; what was committed is safe all the
  /// same.
  [[nodiscard]] Result<void> close() { return kept_.close(); }

  /// Records since the memory began, and those of them that came in a later epoch than their own.
  [[nodiscard]] std::uint64_t records() const noexcept { return filter().keys_inserted(); }
  [[nodiscard]] std::uint64_t late_records() const noexcept { return filter().late_records(); }
  /// Records given to this object that came in a later epoch than their own, and later than the tolerance allows. They
  /// are counted like the others.
  [[nodiscard]] std::uint64_t records_beyond_tolerance() const noexcept { return beyond_tolerance_; }
  /// Records given to this object that were left out, since they are later than may be.
  [[nodiscard]] std::uint64_t records_in_future() const noexcept { return in_future_; }
  [[nodiscard]] Duration late_tolerance() const noexcept { return late_tolerance_; }

  [[nodiscard]] Decay decay() const noexcept { return filter().decay(); }
  [[nodiscard]] const DecayedTop& filter() const noexcept { return *kept_.filter().as<DecayedTop>(); }
  /// What is behind it, with its recovery report, sequence and position; nullptr for a memory without a file.
  [[nodiscard]] const Store* store() const noexcept { return kept_.store(); }

 private:
  Hot(KeptFilter kept, const HotRequest& request) noexcept;

  [[nodiscard]] Result<void> count(std::span<const std::string_view> keys, std::span<const Time> times);
  void note_times(std::span<const Time> times) noexcept;

  KeptFilter kept_;
  Duration late_tolerance_;
  Time now_;
  Time newest_;
  Time latest_;
  std::uint64_t beyond_tolerance_ = 0;
  std::uint64_t in_future_ = 0;
};

}  // namespace mankai
