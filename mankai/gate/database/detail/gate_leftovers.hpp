#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/file/file_lock.hpp"
#include "mankai/gate/database/row_source.hpp"

// What builds of a gate have put into databases and is, or may be, of no use: NAME.mk-leftover.

namespace mankai::detail {

/// The list, locked until the end: who builds a gate or drops it has it. It is written before anything is installed, so
/// that what a build leaves that was killed can be found; the file is there only while that may be.
class GateLeftovers {
 public:
  /// Makes the file if there is none. Errors: locked while somebody else has it; io; corrupt.
  [[nodiscard]] static Result<std::unique_ptr<GateLeftovers>> open(const std::string& gate_path);
  [[nodiscard]] static std::string path_of(const std::string& gate_path);

  GateLeftovers(const GateLeftovers&) = delete;
  GateLeftovers(GateLeftovers&&) = delete;
  GateLeftovers& operator=(const GateLeftovers&) = delete;
  GateLeftovers& operator=(GateLeftovers&&) = delete;
  ~GateLeftovers();

  [[nodiscard]] bool lists(std::string_view installed) const;
  /// Returns when the disk has it. Errors: io, out_of_space.
  [[nodiscard]] Result<void> add(const RowSourceSettings& settings);
  /// Takes it off the list, wherever its parts are. Errors: as add.
  [[nodiscard]] Result<void> forget(std::string_view installed);
  /// Takes everything that is listed out of its database, but for what is installed by this name, which is in use and
  /// no longer listed; says how many things there were. What cannot be taken out stays listed. Errors: the first one's.
  [[nodiscard]] Result<std::size_t> take_out(std::string_view in_use);
  /// Empties the list.
  void forget_all() noexcept { list_.clear(); }

 private:
  GateLeftovers(std::string path, FileLock lock, std::vector<RowSourceSettings> list) noexcept
      : path_(std::move(path)), lock_(std::move(lock)), list_(std::move(list)) {}

  [[nodiscard]] Result<void> write();

  std::string path_;
  FileLock lock_;
  std::vector<RowSourceSettings> list_;
};

}  // namespace mankai::detail
