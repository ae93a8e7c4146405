#pragma once

/// A read-only copy of a gate's file that another process keeps in step, for each of several web servers.
///
///     auto gate = mankai::GateFollower::open("baskets.mk");     // `mankai gate sync baskets.mk` runs elsewhere
///     std::jthread fresh([&](std::stop_token stop) {
///       while (!stop.stop_requested()) { gate->refresh(); sleep(1s); }
///     });
///     if (const mankai::GateAnswer answer = gate->maybe(cookie)) { … }

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/gate/gate.hpp"

namespace mankai {

/// Answers as Gate does, but as of the last refresh, which lengthens the window between a commit and its application;
/// `maybe(key, after)` closes it. A refresh does not tell which keys have changed, so it empties the memo if any has.
///
/// Cost:    maybe as Gate's. A refresh after a change reads the file and replays its journal.
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

  /// Reads the file again if it has changed; returns whether it has. Errors: as open's; the old copy then answers on.
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
  struct Impl;
  explicit GateFollower(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;
};

}  // namespace mankai
