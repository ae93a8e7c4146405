#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apps/mankai/subcommand.hpp"
#include "mankai/store/store.hpp"

namespace mankai::command {

/// How a command is to keep the store that it changes.
struct StoreRequest {
  /// When changes reach the disk.
  struct Policy {
    Durability durability = StoreOptions{}.durability;
    Duration interval = StoreOptions{}.interval;
  };

  std::optional<Policy> policy;  ///< unset: not asked for
  FileMode mode;                 ///< of a file that is made
  std::string position;          ///< of the source, behind what is read; empty: not said

  [[nodiscard]] StoreOptions options() const;
};

/// --durability; `what` says of what.
[[nodiscard]] Option durability_option(StoreRequest& request, const std::string& what);
/// --mode, of the file that the command makes.
[[nodiscard]] Option mode_option(FileMode& mode);
/// --position; `what` says which run becomes one batch.
[[nodiscard]] Option position_option(StoreRequest& request, const std::string& what);

/// Errors: invalid_argument for a policy beside a position, with which everything is on the disk at the end.
[[nodiscard]] Result<void> check_store_request(const StoreRequest& request);

}  // namespace mankai::command
