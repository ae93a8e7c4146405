#pragma once

#include <cstdint>

#include "mankai/gate/gate.hpp"
#include "mankai/gate/gate_position.hpp"

namespace mankai {

/// How a copy of a gate stands to it.
enum class MirrorState : std::uint8_t {
  in_step,  ///< it was as the gate is, or the changes have made it so
  loaded,   ///< it was not, and has been loaded whole
};

/// A copy of a gate elsewhere, that others ask. GateSync keeps it in step behind the gate itself.
///
/// What an implementation promises those who ask the copy: it is that of the source at one position, which they see
/// together with the answer; and a copy that is not there, or not whole, is no "empty". What the copy is told the
/// gate's file has on the disk, so no power loss takes it back.
///
/// Errors:  io where the same may go well later. All others stay until somebody does something about them.
/// Threads: one at a time.
class GateMirror {
 public:
  GateMirror() = default;
  GateMirror(const GateMirror&) = delete;
  GateMirror& operator=(const GateMirror&) = delete;
  GateMirror(GateMirror&&) = delete;
  GateMirror& operator=(GateMirror&&) = delete;
  virtual ~GateMirror() = default;

  /// Looks where the copy stands, and loads it whole if that is not where the gate does. A copy of another source's
  /// gate is left alone. Errors: invalid_argument for that. Threads: not beside changes of the gate.
  [[nodiscard]] virtual Result<MirrorState> bring(const Gate& gate) = 0;
  /// Does to the copy what was done to the gate last, when it stood at `from`: once in effect, whatever became of
  /// earlier calls. Errors and threads: as of bring.
  [[nodiscard]] virtual Result<MirrorState> apply(const Gate& gate, const GateChanges& changes,
                                                  const GatePosition& from) = 0;
};

}  // namespace mankai
