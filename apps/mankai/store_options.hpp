#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai/subcommand.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/store.hpp"

namespace mankai::command {

/// The options that say what filter to make, each unset by default.
struct FilterOptions {
  std::optional<Kind> kind;
  std::optional<std::uint64_t> keys;
  std::optional<double> fpr;
  std::optional<HashKind> hash;
  std::optional<std::array<std::uint64_t, 2>> seed;
};

/// --kind, --keys, --fpr, --hash and --seed; `keys_default` and `fpr_default` are words for the help.
[[nodiscard]] Options filter_options(FilterOptions& options, const std::string& keys_default,
                                     const std::string& fpr_default);
/// --hash and --seed only.
[[nodiscard]] Options hash_options(FilterOptions& options);

/// What the clock says.
[[nodiscard]] Time clock_now();

/// Reads a moment, as parse_time, or now. Errors: as parse_time's.
[[nodiscard]] Result<Time> parse_moment(std::string_view text);
/// --at: a moment, or now, which is when the option is read.
[[nodiscard]] Option at_option(std::string help, std::optional<Time>& target);

/// Errors: invalid_argument, with the filter's time, for a moment before that.
[[nodiscard]] Result<void> check_not_in_past(const AnyFilter& filter, Time time);

/// Moves a store's filter to the moment given; where none is given, to now, or not at all if the filter stands later
/// than that or has no time. Errors: as Store::advance's.
[[nodiscard]] Result<void> advance_to_now(Store& store, std::optional<Time> time);

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
