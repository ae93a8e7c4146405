#pragma once

/// A read-only copy of a gate file that another process keeps in step, such as for several web servers.
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

/// Answers as Gate does, as of the last refresh; `maybe(key, after)` closes the longer window. Any change empties the
/// memo. Cost: maybe: as Gate; a refresh after a change reads the file and replays its journal. Threads: queries and
/// reports are safe together and with a refresh; refreshes take turns.
class GateFollower {
 public:
  /// Opens a gate file without a lock. Errors: as open_filter and Gate::open.
  [[nodiscard]] static Result<GateFollower> open(const std::string& path, const GateOptions& options = {});

  GateFollower(GateFollower&&) noexcept;
  GateFollower& operator=(GateFollower&&) noexcept;
  GateFollower(const GateFollower&) = delete;
  GateFollower& operator=(const GateFollower&) = delete;
  ~GateFollower();

  /// Reads the file again if it has changed; returns whether it has. Errors: as open; the old copy then stays in use.
  [[nodiscard]] Result<bool> refresh();

  /// As in Gate.
  [[nodiscard]] GateAnswer maybe(std::string_view key) const noexcept;
  [[nodiscard]] GateAnswer maybe(std::string_view key, std::uint64_t after) const noexcept;
  void report_false_positive(std::string_view key, const GateAnswer& answer) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> position() const noexcept;
  [[nodiscard]] GateCounts counts() const noexcept;
  /// Threads: not during a refresh.
  [[nodiscard]] GateFacts facts() const;

 private:
  struct Impl;
  explicit GateFollower(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;
};

}  // namespace mankai
