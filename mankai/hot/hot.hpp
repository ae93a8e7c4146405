#pragma once

/// "How hot is it now?": lists the hottest keys of a stream.
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

/// Parameters of a state. An empty field means the default for a new state, and any value for an existing one.
struct HotRequest {
  std::optional<Decay> decay = {};
  /// Counts the keys of the last `window`, instead of decaying: not with `decay`.
  std::optional<Duration> window = {};
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<CountRounding> rounding = {};
  std::optional<HashKind> hash = {};
  std::optional<std::array<std::uint64_t, 2>> seed = {};
  /// Identifies the type of keys; stored in a new state; see DecayedTop::keys_tag.
  std::uint64_t keys_tag = 0;
  /// A record this much older than the newest one counts as beyond the tolerance. Never stored.
  Duration late_tolerance = std::chrono::minutes(5);
  /// Later records are ignored: one far in the future would decay all other counts to nothing. Never stored.
  Time latest = Time::max();
};

/// Keeps decayed counts of keys in a fixed amount of memory, and lists the hottest keys. Each record is weighted by λ
/// to the power of its age in epochs, also if it arrives late. Now is the newest record's time, or a later one passed
/// to advance_to.
///
/// A count is never too low, and too high by the counts of keys that share its cells.
///
/// Cost:    as DecayedTop; batches hash ahead, and allocate only if they have records to ignore.
/// Threads: one at a time.
class Hot {
 public:
  using Entry = DecayedTop::Entry;

  static constexpr Duration kDefaultHalfLife = std::chrono::hours(1);
  static constexpr std::uint64_t kDefaultMemoryBytes = std::uint64_t{256} << 10;

  /// Creates a state in memory. Errors: as DecayedTop::create; invalid_argument for a window and a decay.
  [[nodiscard]] static Result<Hot> create(const HotRequest& request = {});
  /// Opens a file, locks it, and recovers it after a crash; creates it if it is missing. Errors: locked;
  /// invalid_argument if the file has other settings; as Store::open.
  [[nodiscard]] static Result<Hot> open(const std::string& path, const HotRequest& request = {},
                                        const StoreOptions& options = {});

  /// Counts each key once at the time of its record, in order. With a file, the call is one batch unless begin()
  /// started a longer one. Shape: keys[c], times[c]. Errors: in memory none; as Store::insert.
  [[nodiscard]] Result<void> observe(std::span<const std::string_view> keys, std::span<const Time> times);
  [[nodiscard]] Result<void> observe(std::string_view key, Time at) { return observe({&key, 1}, {&at, 1}); }

  /// Ignores records later than this. Hot reads no clock: pass its time plus a tolerance.
  void accept_until(Time latest) noexcept { latest_ = latest; }
  /// An earlier time has no effect. Errors: in memory none; as Store::advance.
  [[nodiscard]] Result<void> advance_to(Time now);
  /// Time to which counts are decayed; 1970 before the first record.
  [[nodiscard]] Time now() const noexcept { return now_; }
  /// Time of the newest record; 1970 before the first one.
  [[nodiscard]] Time newest() const noexcept { return filter().newest(); }

  [[nodiscard]] DecayedCount estimate(std::string_view key) const noexcept;
  /// Returns at most `most` keys as of now, hottest first, ties by bytes. Keys are valid until the next record. Cost: a
  /// pass over the names and a sort.
  [[nodiscard]] std::vector<Entry> top(std::size_t most) const { return filter().top(most, 0, now_); }
  /// Returns the keys with names that have at least this decayed count, in the same order.
  [[nodiscard]] std::vector<Entry> above(double min_raw) const { return filter().above(min_raw, now_); }

  /// As Store::begin and Store::commit; no effect without a file. Uncommitted records are in memory but never in the
  /// file.
  void begin(BatchMode mode = BatchMode::journaled) { kept_.begin(mode); }
  [[nodiscard]] Result<void> commit(std::string_view position = {}) { return kept_.commit(position); }
  /// As Store::sync; no effect without a file.
  [[nodiscard]] Result<void> sync() { return kept_.sync(); }
  /// Writes everything committed to the file and unlocks it; observe must not be called again. The destructor does the
  /// same and ignores errors. Errors: io, out_of_space; committed records are safe even then.
  [[nodiscard]] Result<void> close() { return kept_.close(); }

  /// Since the state was created. Late records arrived in a later epoch than their own.
  [[nodiscard]] std::uint64_t records() const noexcept { return filter().keys_inserted(); }
  [[nodiscard]] std::uint64_t late_records() const noexcept { return filter().late_records(); }
  /// Late records of this object that also exceeded the tolerance. They are counted like the others.
  [[nodiscard]] std::uint64_t records_beyond_tolerance() const noexcept { return beyond_tolerance_; }
  /// Ignored records of this object.
  [[nodiscard]] std::uint64_t records_in_future() const noexcept { return in_future_; }
  [[nodiscard]] Duration late_tolerance() const noexcept { return late_tolerance_; }

  [[nodiscard]] Decay decay() const noexcept { return filter().decay(); }
  /// Zero if counts decay.
  [[nodiscard]] Duration window() const noexcept { return filter().window(); }
  [[nodiscard]] const DecayedTop& filter() const noexcept { return *kept_.filter().as<DecayedTop>(); }
  /// The store, for its recovery report, sequence and position; nullptr without a file.
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
