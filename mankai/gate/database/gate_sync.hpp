#pragma once

/// Keeps a gate in step with its source.
///
///     auto gate = mankai::Gate::open("baskets.mk");
///     auto settings = mankai::read_source_settings("baskets.mk");
///     mankai::GateSync sync(*gate, *settings);
///     std::jthread keeper([&] { sync.run(); });            // until sync.stop()

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "mankai/gate/database/gate_mirror.hpp"
#include "mankai/gate/database/row_source.hpp"
#include "mankai/gate/gate.hpp"

namespace mankai {

/// Settings of a GateSync.
struct GateSyncOptions {
  /// How often applied changes are synchronized to disk and acknowledged to the source.
  Duration acknowledge_every = std::chrono::seconds(1);
  Duration first_wait = std::chrono::milliseconds(100);  ///< before the first retry of a source; doubles with each
  Duration longest_wait = std::chrono::seconds(30);
  /// `run` returns when everything is applied that the source had at its start, or with the first error.
  bool until_caught_up = false;
  std::function<bool()> should_stop = {};  ///< polled, for callers that cannot call `stop`
  /// Called by `run` with an error of the source and the time until the retry.
  std::function<void(const Error&, Duration)> on_trouble = {};
  /// Called by `run` with the changes that were applied.
  std::function<void(const RowChanges&)> on_applied = {};
  /// A copy to keep in step with the gate. Its errors are retried in the same way without delaying the gate. Two kinds
  /// of errors end `run`: a permanent one before the first success, and any at the end of `until_caught_up`.
  GateMirror* mirror = nullptr;
  /// Called by `run` with each new error of the mirror and the time until the retry.
  std::function<void(const Error&, Duration)> on_mirror_trouble = {};
  /// Called by `run` when the mirror is in step for the first time, or again after an error.
  std::function<void(MirrorState)> on_mirror_step = {};
};

/// Applies a source's changes to a gate, each exactly once in effect, starting at the gate's position. A change is on
/// disk before it is acknowledged. If the source cannot be reached, `run` retries forever with growing waits; nothing
/// is lost meanwhile, and the gate answers as of its position.
///
/// Threads: one thread calls run; any thread or signal handler may call stop. Gate and mirror must outlive it.
class GateSync {
 public:
  GateSync(Gate& gate, RowSourceSettings settings, GateSyncOptions options = {});

  /// Returns when stopped or caught up. Errors: permanent ones; invalid_argument for a gate of another source.
  [[nodiscard]] Result<void> run();
  void stop() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool is_stopped() const;
  [[nodiscard]] Result<void> check_gate() const;
  [[nodiscard]] Result<void> follow();
  [[nodiscard]] Result<bool> take(RowChanges& changes, Duration patience);
  [[nodiscard]] Result<bool> is_caught_up();
  [[nodiscard]] Result<void> finish();
  [[nodiscard]] Result<void> acknowledge();
  [[nodiscard]] Result<void> tell_mirror(const GateChanges& changes, const GatePosition& from);
  [[nodiscard]] Result<void> sync_gate();
  [[nodiscard]] Result<void> look_after_mirror();
  [[nodiscard]] Result<void> note_mirror(const Result<MirrorState>& state);
  [[nodiscard]] Result<void> note_mirror_trouble(const Error& error);
  void wait(Duration duration);

  Gate& gate_;
  RowSourceSettings settings_;
  GateSyncOptions options_;
  std::unique_ptr<RowSource> source_;
  std::optional<std::uint64_t> target_;
  std::uint64_t acknowledged_ = 0;
  bool made_progress_ = false;
  bool is_gate_broken_ = false;
  Duration mirror_wait_;
  Clock::time_point mirror_due_;
  std::string mirror_said_;
  bool is_mirror_in_step_ = false;
  bool was_mirror_in_step_ = false;
  std::atomic<bool> is_stopped_{false};
};

}  // namespace mankai
