#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apps/mankai/subcommand.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/store.hpp"

namespace mankai::command {

struct FilterOptions {
  std::optional<Kind> kind;
  std::optional<std::uint64_t> keys;
  std::optional<double> fpr;
  std::optional<HashKind> hash;
  std::optional<std::array<std::uint64_t, 2>> seed;
};

/// --kind, --keys, --fpr, --hash and --seed; `keys_default` and `fpr_default` are appended to their help. The help of
/// --kind lists the kinds for which `fits` holds.
[[nodiscard]] Options filter_options(FilterOptions& options, const std::string& keys_default,
                                     const std::string& fpr_default, bool (*fits)(const KindDescription&));
[[nodiscard]] Options hash_options(FilterOptions& options);

[[nodiscard]] Time clock_now();

/// Parses a time, or "now". Errors: as parse_time.
[[nodiscard]] Result<Time> parse_moment(std::string_view text);
/// --at; "now" is the time at which the option is parsed.
[[nodiscard]] Option at_option(std::string help, std::optional<Time>& target);

/// Errors: invalid_argument if the time is before the filter's.
[[nodiscard]] Result<void> check_not_in_past(const AnyFilter& filter, Time time);

/// Advances a store's filter to the given time, by default to now. Without a given time, it leaves filters without time
/// unchanged, and warns if the filter's time is in the future. Errors: as check_not_in_past and Store::advance.
[[nodiscard]] Result<void> advance_to_now(Store& store, std::optional<Time> time);

struct StoreRequest {
  struct Policy {
    Durability durability = StoreOptions{}.durability;
    Duration interval = StoreOptions{}.interval;
  };

  std::optional<Policy> policy;  ///< unset: default
  FileMode mode;                 ///< of a new file
  std::string position;          ///< of the source after this input; empty: none

  [[nodiscard]] StoreOptions options() const;
};

/// --durability; `what` names the changes in the help.
[[nodiscard]] Option durability_option(StoreRequest& request, const std::string& what);
[[nodiscard]] Option mode_option(FileMode& mode);
/// --position; `what` names the changes that become one batch.
[[nodiscard]] Option position_option(StoreRequest& request, const std::string& what);

/// Errors: invalid_argument for --durability with --position, whose batch is always synced.
[[nodiscard]] Result<void> check_store_request(const StoreRequest& request);

}  // namespace mankai::command
