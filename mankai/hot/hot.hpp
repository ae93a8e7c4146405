#pragma once

/// "How hot is it now?": the second of the four questions, as one class.
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

/// Settings of a new state, or requirements on an existing one. Settings left out come from the state, or are defaults.
struct HotRequest {
  std::optional<Decay> decay = {};
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<HashKind> hash = {};
  std::optional<std::array<std::uint64_t, 2>> seed = {};
  /// The caller's number for the type of its keys, stored in a new state; see DecayedTop::keys_tag.
  std::uint64_t keys_tag = 0;
  /// How much older than the newest record a record may be before it counts as beyond the tolerance. Never stored.
  Duration late_tolerance = std::chrono::minutes(5);
  /// Later records are counted and ignored: one far in the future would decay all other counts to nothing. Never
  /// stored; accept_until changes it.
  Time latest = Time::max();
};

/// Keeps decayed counts of keys in a fixed amount of memory, and lists the hottest keys. Each record is weighted by λ
/// to the power of its age in epochs. Time comes from the records: now is the newest record's time, or a later one
/// passed to advance_to. A late record counts with its decayed weight.
///
/// A count is never too low while no cell is saturated, and too high by the counts of keys that share its cells.
///
/// Cost:    as DecayedTop's; batches hash ahead and allocate nothing.
/// Threads: one at a time.
class Hot {
 public:
  using Entry = DecayedTop::Entry;

  static constexpr Duration kDefaultHalfLife = std::chrono::hours(1);
  static constexpr std::uint64_t kDefaultMemoryBytes = std::uint64_t{256} << 10;

  /// Makes a state in memory. Errors: as DecayedTop::create's.
  [[nodiscard]] static Result<Hot> create(const HotRequest& request = {});
  /// Opens a state in a file, which is created if it is missing, recovered after a crash, and locked until close() or
  /// destruction. Errors: locked; invalid_argument when the file was made with other settings; as Store::open's.
  [[nodiscard]] static Result<Hot> open(const std::string& path, const HotRequest& request = {},
                                        const StoreOptions& options = {});

  /// Counts each key once, at the time of its record, in order. In a file this is one batch, unless begin() joins
  /// several; Durability says what a batch survives.
  /// Shape: keys[c], times[c]. Errors: in memory none; as Store::insert's.
  [[nodiscard]] Result<void> observe(std::span<const std::string_view> keys, std::span<const Time> times);
  [[nodiscard]] Result<void> observe(std::string_view key, Time at) { return observe({&key, 1}, {&at, 1}); }

  /// Ignores records later than this from now on. Nothing here reads a clock: pass its time and a tolerance.
  void accept_until(Time latest) noexcept { latest_ = latest; }
  /// Moves now forward; an earlier time has no effect. Errors: in memory none; as Store::advance's.
  [[nodiscard]] Result<void> advance_to(Time now);
  /// The time that counts are decayed to; 1970 before the first record.
  [[nodiscard]] Time now() const noexcept { return now_; }
  /// The time of the newest record; 1970 before the first one.
  [[nodiscard]] Time newest() const noexcept { return filter().newest(); }

  /// Returns the decayed count of a key.
  [[nodiscard]] DecayedCount estimate(std::string_view key) const noexcept;
  /// Returns at most `most` hottest keys as of now, hottest first, equal ones by their bytes. The keys are valid until
  /// the next record. Cost: a pass over the table and a sort.
  [[nodiscard]] std::vector<Entry> top(std::size_t most) const { return filter().top(most); }
  /// Returns the keys in the table with at least this decayed count, in the same order.
  [[nodiscard]] std::vector<Entry> above(double min_raw) const { return filter().above(min_raw); }

  /// Joins what follows into one batch until commit(), which may store the position of the records' source. What is not
  /// committed is in memory but never in the file. As the store's; no effect without a file.
  void begin(BatchMode mode = BatchMode::journaled) { kept_.begin(mode); }
  [[nodiscard]] Result<void> commit(std::string_view position = {}) { return kept_.commit(position); }
  /// Writes what was committed to the file and unlocks it; nothing may be observed afterwards. The destructor does the
  /// same, but ignores errors. Errors: io, out_of_space; what was committed is recovered at the next open.
  [[nodiscard]] Result<void> close() { return kept_.close(); }

  /// Records since the state was created, and those of them that arrived in a later epoch than their own.
  [[nodiscard]] std::uint64_t records() const noexcept { return filter().keys_inserted(); }
  [[nodiscard]] std::uint64_t late_records() const noexcept { return filter().late_records(); }
  /// Records of this object that arrived in a later epoch than their own and after the tolerance. They are counted like
  /// the others.
  [[nodiscard]] std::uint64_t records_beyond_tolerance() const noexcept { return beyond_tolerance_; }
  /// Records of this object that were ignored because they are too far in the future.
  [[nodiscard]] std::uint64_t records_in_future() const noexcept { return in_future_; }
  [[nodiscard]] Duration late_tolerance() const noexcept { return late_tolerance_; }

  [[nodiscard]] Decay decay() const noexcept { return filter().decay(); }
  [[nodiscard]] const DecayedTop& filter() const noexcept { return *kept_.filter().as<DecayedTop>(); }
  /// The store, with its recovery report, sequence number and position; nullptr without a file.
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
