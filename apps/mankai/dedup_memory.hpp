#pragma once

/// The memory of `mankai dedup`: a filter, a filter with a window, a filter in a server, or an exact log.

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "apps/mankai/dedup_input.hpp"
#include "apps/mankai/dedup_remote.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/store_options.hpp"
#include "mankai/seen/confirmed_seen.hpp"
#include "mankai/seen/seen.hpp"

namespace mankai::command {

struct DedupMemoryRequest {
  FilterOptions filter;
  std::string state;
  std::string log;
  StoreRequest store;
  std::optional<Duration> window;
  bool grow = false;
  bool canonical = false;
};

/// Errors: invalid_argument for options that cannot be combined.
[[nodiscard]] Result<void> check_dedup_memory(const DedupMemoryRequest& request);

class DedupMemory {
 public:
  using Answer = ConfirmedSeen::Answer;

  [[nodiscard]] static Result<DedupMemory> open(const DedupMemoryRequest& request);

  /// The filter, if DedupInput may encode keys for it beside observe(); else nullptr.
  [[nodiscard]] const AnyFilter* filter() const noexcept;
  /// Adds the batch's keys and delivers which are repeats; from a server, later. Keys without a time get the clock's.
  /// Errors: as Seen::observe and DedupRemote::observe.
  [[nodiscard]] Result<void> observe(const DedupBatch& batch, const DeliverDedup& deliver);
  /// Delivers all that was observed.
  [[nodiscard]] Result<void> drain(const DeliverDedup& deliver);
  /// Writes what was observed since the last commit to the file, if there is one.
  [[nodiscard]] Result<void> commit();
  /// Syncs an exact log if --durability requires it now. Called while no input is available.
  [[nodiscard]] Result<void> idle();
  [[nodiscard]] Result<void> close();

  /// Path of the state or log; empty without one.
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  /// The memory in a server, else nullptr.
  [[nodiscard]] const DedupRemote* remote() const noexcept { return std::get_if<DedupRemote>(&memory_); }
  [[nodiscard]] bool is_exact() const noexcept { return std::holds_alternative<ConfirmedSeen>(memory_); }
  [[nodiscard]] bool forgets() const noexcept;
  /// Empty within the capacity.
  [[nodiscard]] std::string capacity_warning(bool is_at_end) const;
  [[nodiscard]] bool is_overfull() const noexcept;
  /// Message for the end of a run during which is_overfull() was true.
  [[nodiscard]] std::string overfull_error() const;
  /// `unique`: number of new keys in this run.
  void add_to(Report& report, std::uint64_t unique) const;

  /// Number of keys with a timestamp more than a day in the future; they got the time of the key before. Counted only
  /// with a window.
  [[nodiscard]] std::uint64_t in_future() const noexcept { return in_future_; }

 private:
  using Memory = std::variant<Seen, ConfirmedSeen, DedupRemote>;

  DedupMemory(Memory memory, const DedupMemoryRequest& request);

  [[nodiscard]] Result<void> observe(Seen& seen, const DedupBatch& batch, std::span<Answer> answers);
  [[nodiscard]] std::span<const Time> times_of(const DedupBatch& batch);
  [[nodiscard]] Result<void> sync_if_due();
  void add_filter_to(Report& report, const Seen& seen, std::uint64_t unique) const;
  void add_window_to(Report& report, const Seen& seen) const;
  void add_log_to(Report& report, const ConfirmedSeen& memory) const;

  Memory memory_;
  std::string file_;
  StoreRequest::Policy policy_;
  std::unique_ptr<bool[]> seen_;
  std::vector<Time> times_;
  std::optional<Time> before_;
  std::uint64_t remembered_before_ = 0;  ///< with a window: keys left at open
  std::uint64_t without_time_ = 0;
  std::uint64_t in_future_ = 0;
  bool is_unsynced_ = false;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};

}  // namespace mankai::command
