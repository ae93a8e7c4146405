#pragma once

/// A gate that somebody else keeps in step: each of several web servers asks its own copy of one file.
///
///     auto gate = mankai::GateFollower::open("baskets.mk");     // `mankai gate sync baskets.mk` runs elsewhere
///     std::jthread fresh([&](std::stop_token stop) { while (!stop.stop_requested()) { gate->refresh(); sleep(1s); }
///     }); if (const mankai::GateAnswer answer = gate->maybe(cookie)) { … }

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/gate/gate.hpp"

namespace mankai {

/// Answers as Gate does, of the moment of its last refresh: the window between a commit and its application is longer
/// by the time since then. `maybe(key, after)` closes it in the same way. What keys a refresh brought is not known, so
/// the memo restarts with each that brought any.
///
/// Cost:    maybe as Gate's. A refresh that brings something reads the file, and does what is in the journal again.
/// Threads: any thread asks and reports at any time, also beside a refresh; refreshes take turns.
class GateFollower {
 public:
  /// Opens a gate's file without a lock. Errors: as open_filter's and Gate::open's.
  [[nodiscard]] static Result<GateFollower> open(const std::string& path, const GateOptions& options = {});

  GateFollower(GateFollower&&) noexcept;
  GateFollower& operator=(GateFollower&&) noexcept;
  GateFollower(const GateFollower&) = delete;
  GateFollower& operator=(const GateFollower&) = delete;
  ~GateFollower();

  /// Looks at the file anew; true if something had changed. Errors: as open's; then what was there before answers on.
  [[nodiscard]] Result<bool> refresh();

  /// As Gate's.
  [[nodiscard]] GateAnswer maybe(std::string_view key) const noexcept;
  [[nodiscard]] GateAnswer maybe(std::string_view key, std::uint64_t after) const noexcept;
  void report_false_positive(std::string_view key, const GateAnswer& answer) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> position() const noexcept;
  [[nodiscard]] GateCounts counts() const noexcept;
  /// Threads: not beside a refresh.
  [[nodiscard]] GateFacts facts() const;

 private:
  class Impl;
  explicit GateFollower(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;
};

}  // namespace mankai
