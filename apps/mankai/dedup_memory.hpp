#pragma once

/// What dedup remembers: a filter, a filter with a window, or a log.

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "apps/mankai/dedup_input.hpp"
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

/// Errors: invalid_argument for options that contradict each other.
[[nodiscard]] Result<void> check_dedup_memory(const DedupMemoryRequest& request);

/// One of them, behind one face.
class DedupMemory {
 public:
  using Answer = ConfirmedSeen::Answer;

  /// Errors: as Seen's and ConfirmedSeen's.
  [[nodiscard]] static Result<DedupMemory> open(const DedupMemoryRequest& request);

  /// Takes keys in. Where nothing tells the time, the clock does. Shape: answers[c], of the batch's keys. Errors: as
  /// theirs.
  [[nodiscard]] Result<void> observe(const DedupBatch& batch, std::span<Answer> answers);
  /// Keeps what was observed since the last commit; nothing where there is no file.
  [[nodiscard]] Result<void> commit();
  /// Called when nothing can be read: what must be on the disk by now gets there.
  [[nodiscard]] Result<void> idle();
  [[nodiscard]] Result<void> close();

  /// The file that remembers; empty for none.
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] bool is_exact() const noexcept { return std::holds_alternative<ConfirmedSeen>(memory_); }
  [[nodiscard]] bool forgets() const noexcept;
  /// What is said when there are more keys than it was made for; empty before.
  [[nodiscard]] std::string capacity_warning(bool is_at_end) const;
  /// As Seen's.
  [[nodiscard]] bool is_overfull() const noexcept;
  /// What is said at the end of a run in which it was.
  [[nodiscard]] std::string overfull_error() const;
  /// `unique` is how many new keys this run had.
  void add_to(Report& report, std::uint64_t unique) const;

  /// Returns how many keys of a memory with a window had a time of more than a day after now. They were given the time
  /// of the key before.
  [[nodiscard]] std::uint64_t in_future() const noexcept { return in_future_; }

 private:
  using Memory = std::variant<Seen, ConfirmedSeen>;

  DedupMemory(Memory memory, const DedupMemoryRequest& request);

  [[nodiscard]] Result<void> observe(Seen& seen, const DedupBatch& batch, std::span<Answer> answers);
  [[nodiscard]] std::span<const Time> times_of(std::span<const std::optional<Time>> times);
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
  std::uint64_t remembered_before_ = 0;  ///< of a memory that forgets, when it was opened
  std::uint64_t without_time_ = 0;
  std::uint64_t in_future_ = 0;
  bool is_unsynced_ = false;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};

}  // namespace mankai::command
