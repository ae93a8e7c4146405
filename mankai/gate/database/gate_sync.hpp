#pragma once

/// Builds a gate of a source and keeps it in step.
///
///     auto gate = mankai::Gate::open("baskets.mk");
///     auto settings = mankai::read_source_settings("baskets.mk");
///     mankai::GateSync sync(*gate, *settings);
///     std::jthread keeper([&] { sync.run(); });            // until sync.stop()

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "mankai/gate/database/detail/mirror_keeper.hpp"
#include "mankai/gate/database/row_source.hpp"
#include "mankai/gate/gate.hpp"

namespace mankai {

/// How a gate is built.
struct GateBuild {
  std::optional<std::uint64_t> keys = {};  ///< rows to size it for; twice as many as there are, by default
  double fpr = 0.01;
  Existing existing = Existing::refuse;
  FileMode mode = {};                      ///< of the gate's file, and of that which says where the keys come from
  std::function<bool()> should_stop = {};  ///< asked now and then; ends it with nothing done
};

/// What was built.
struct GateBuilt {
  std::uint64_t keys = 0;
  std::uint64_t position = 0;
  std::string position_text = {};  ///< as the database writes it
  std::string replaced_left = {};  ///< why what the replaced gate had installed could not be taken out; else empty
};

/// Installs what the source needs under a new name, makes the gate of a snapshot, and writes both files, whole or not
/// at all: after an error nothing is left installed, as far as the database can be reached. A gate that is replaced is
/// taken out of its database. What may be left, also by a process crash, is listed in NAME.mk-leftover
/// meanwhile, and the next build or drop takes it out. Errors: as RowSource's, Gate::save's; locked while another one
/// builds it; invalid_argument or io when it was stopped.
[[nodiscard]] Result<GateBuilt> build_gate(const std::string& path, RowSourceSettings settings, const GateBuild& build);

/// Takes out of its database what the builds of a gate have put there, removes NAME.mk-source, and takes the name of
/// what was installed off the position in NAME.mk, where that can be opened; says how many things there were. Forced,
/// it ends well also where a database cannot be reached or nothing says which one it is, and its parts stay. Errors: as
/// read_source_settings', RowSource's and Gate::forget_source's; locked while somebody builds or syncs the gate.
[[nodiscard]] Result<std::size_t> drop_gate(const std::string& path, bool is_forced = false);

/// The name of what build_gate has installed for the gate whose filter and position these are; empty for others.
[[nodiscard]] std::string installed_name_of(const AnyFilter& filter, const SourcePosition& position);

/// How a gate is kept in step.
struct GateSyncOptions {
  /// How often the gate is synchronized with the disk and the source may forget, while there are changes.
  Duration acknowledge_every = std::chrono::seconds(1);
  Duration first_wait = std::chrono::milliseconds(100);  ///< before a source is tried again; then twice as long
  Duration longest_wait = std::chrono::seconds(30);
  /// Ends when everything is applied that the source had when it began, or with its first error.
  bool until_caught_up = false;
  std::function<bool()> should_stop = {};  ///< asked now and then, for what cannot call stop
  /// Told of an error after which the source is tried again, and in how long. Called by run.
  std::function<void(const Error&, Duration)> on_trouble = {};
  /// Told what was applied just now. Called by run.
  std::function<void(const RowChanges&)> on_applied = {};
  /// A copy to be kept in step behind the gate. Trouble with it is tried again in the same way and holds up nothing,
  /// unless it stays and the copy was never in step, which ends run; so does any in the end of `until_caught_up`.
  GateMirror* mirror = nullptr;
  /// Told of an error of the mirror that was not told yet, and in how long it is tried again. Called by run.
  std::function<void(const Error&, Duration)> on_mirror_trouble = {};
  /// Told that the mirror is in step from now on, or again. Called by run.
  std::function<void(MirrorState)> on_mirror_step = {};
};

/// Applies a source's changes to a gate, each once in effect, from where the gate stands.
///
/// What is applied is on the disk before the source may forget it. A source that cannot be reached is tried again with
/// longer and longer waits, forever; nothing is lost meanwhile, and the gate answers as of its position.
///
/// Threads: one runs; any may stop it, also a signal handler. Gate, mirror and options outlive it.
class GateSync {
 public:
  GateSync(Gate& gate, RowSourceSettings settings, GateSyncOptions options = {});

  /// Returns when it was stopped, or has caught up. Errors: those of the source after which trying again does not help;
  /// those of the gate; invalid_argument for a gate that was not built from this source.
  [[nodiscard]] Result<void> run();
  void stop() noexcept;

 private:
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
  void wait(Duration duration);

  Gate& gate_;
  RowSourceSettings settings_;
  GateSyncOptions options_;
  std::unique_ptr<RowSource> source_;
  std::optional<detail::MirrorKeeper> mirror_;
  std::optional<std::uint64_t> target_;
  std::uint64_t acknowledged_ = 0;
  bool made_progress_ = false;
  bool is_gate_broken_ = false;
  std::atomic<bool> is_stopped_{false};
};

}  // namespace mankai
