#pragma once

/// The file that says from which lists `guard update` makes a guard (docs/guard.md).

#include <string>
#include <vector>

#include "apps/mankai/guard_list.hpp"
#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"
#include "mankai/guard/rule_list.hpp"
#include "mankai/remote/redis_address.hpp"

namespace mankai::command {

struct ListSource {
  std::string name = {};
  std::string path = {};                  ///< either this
  std::vector<std::string> command = {};  ///< or this
  RuleListOptions format = {};
  double allow_skipped = kSkippedShare;  ///< largest share of rules that may be skipped
  double max_loss = 0.5;                 ///< a new version is refused if it lost this share of its rules; 1: any
  bool allow_empty = false;
  Duration timeout = std::chrono::seconds(60);
};

struct RedisTarget {
  RedisAddress server;
  std::string key;
};

struct GuardSources {
  std::string folder;  ///< of the file, to which paths and commands are relative; with a final /, or empty
  double fpr = 0.01;
  bool is_exact = false;
  std::vector<ListSource> lists;
  std::vector<RedisTarget> targets;
};

/// Reads the file. Errors: invalid_argument, with the line; not_found; io.
[[nodiscard]] Result<GuardSources> read_guard_sources(const std::string& path);

}  // namespace mankai::command
