#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "mankai/base/time.hpp"
#include "mankai/gate/database/gate_mirror.hpp"

namespace mankai::detail {

/// When a mirror is looked after, and what is said of it.
struct MirrorCare {
  Duration look_every;  ///< whether it is still there
  Duration first_wait;  ///< before it is tried again; then twice as long
  Duration longest_wait;
  std::function<void(const Error&, Duration)> on_trouble;
  std::function<void(MirrorState)> on_step;
};

/// Keeps a mirror in step, or tries to: what is wrong with it is said once and does not hold up the gate.
///
/// Errors:  those of the mirror that stay, as long as it was never in step: then something is set up wrongly.
/// Threads: that of the gate's changes.
class MirrorKeeper {
 public:
  MirrorKeeper(GateMirror& mirror, const Gate& gate, MirrorCare care)
      : mirror_(mirror), gate_(gate), care_(std::move(care)), wait_(care_.first_wait) {}

  /// The gate has applied these, and has them on the disk; it stood at `from`.
  [[nodiscard]] Result<void> applied(const GateChanges& changes, const GatePosition& from);
  /// To be called now and then, when the disk has what the gate has.
  [[nodiscard]] Result<void> look();
  /// Brings it in step now. Errors: also those that may pass.
  [[nodiscard]] Result<void> finish();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] Result<void> take(const Result<MirrorState>& state);
  [[nodiscard]] Result<void> take_trouble(const Error& error);

  GateMirror& mirror_;
  const Gate& gate_;
  MirrorCare care_;
  Duration wait_;
  Clock::time_point due_;
  std::string said_;
  bool is_in_step_ = false;
  bool was_in_step_ = false;
};

}  // namespace mankai::detail
