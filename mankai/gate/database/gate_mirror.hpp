#pragma once

#include <cstdint>

#include "mankai/gate/gate.hpp"
#include "mankai/gate/gate_position.hpp"

namespace mankai {

/// The result of bringing a copy of a gate in step.
enum class MirrorState : std::uint8_t {
  in_step,  ///< the copy was up to date, or the changes updated it
  loaded,   ///< the copy was missing or out of date, and was loaded whole
};

/// A copy of a gate in another place, which GateSync updates after the gate's file, so that power loss cannot revert
/// what others have read. Implementations guarantee that readers see the source at one position together with the
/// answer, and never "empty" from a missing or incomplete copy.
/// Errors:  io is temporary: a retry may succeed. All others are permanent until somebody fixes the cause.
/// Threads: one at a time.
class GateMirror {
 public:
  GateMirror() = default;
  GateMirror(const GateMirror&) = delete;
  GateMirror& operator=(const GateMirror&) = delete;
  GateMirror(GateMirror&&) = delete;
  GateMirror& operator=(GateMirror&&) = delete;
  virtual ~GateMirror() = default;

  /// Loads the copy whole unless the positions are equal. Errors: invalid_argument for a copy of another source's gate,
  /// which stays unchanged. Threads: not during changes of the gate.
  [[nodiscard]] virtual Result<MirrorState> bring(const Gate& gate) = 0;
  /// Applies the gate's last changes, made at position `from`, to the copy: in effect once, whatever became of earlier
  /// calls. Errors and threads: as bring.
  [[nodiscard]] virtual Result<MirrorState> apply(const Gate& gate, const GateChanges& changes,
                                                  const GatePosition& from) = 0;
};

}  // namespace mankai
