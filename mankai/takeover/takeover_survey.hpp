#pragma once

/// What a takeover of an RDB file would load, and what it would refuse, before a server tries.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/takeover/rdb_file.hpp"

namespace mankai::takeover {

/// All values of one type of a module.
struct SurveyedType {
  std::string_view family = {};                    ///< "BF", "CF", "CMS", "TOPK", "TDIGEST"; empty: another module's
  std::map<unsigned, std::uint64_t> encvers = {};  ///< keys per version of the encoding
  std::uint64_t keys = 0;
  std::uint64_t refused = 0;
  std::uint64_t doubtful = 0;  ///< load, but are probably incomplete
  std::uint64_t items = 0;     ///< of CMS: the sum of all counts; without those of refused values
  std::uint64_t bytes = 0;     ///< in the file
  std::uint64_t largest_bytes = 0;
};

/// A value that is refused or doubtful, and what to do about it.
struct SurveyFinding {
  std::uint64_t database = 0;
  std::string key = {};
  ModuleType type = {};
  bool is_refused = false;
  std::string reason = {};
  std::string_view remedy = {};
};

/// The outcome of survey_rdb.
struct TakeoverSurvey {
  /// Kept findings. Their number is that of all refused and doubtful values.
  static constexpr std::size_t kMostFindings = 1000;

  RdbFacts file = {};
  std::uint64_t bytes = 0;
  std::set<std::uint64_t> databases = {};
  std::array<std::uint64_t, kRdbKinds> keys = {};  ///< indexed by RdbKind
  std::map<std::string, SurveyedType> types = {};  ///< by name
  std::vector<SurveyFinding> findings = {};        ///< in the file's order

  [[nodiscard]] std::uint64_t refused() const noexcept;
  [[nodiscard]] std::uint64_t doubtful() const noexcept;
  /// Engines that load this version of RDB files, in words.
  [[nodiscard]] std::string_view engines() const noexcept;
};

/// Reads a whole file, loads every value of RedisBloom and valkey-bloom as a server with Mankai's module would, and
/// counts.
///
/// Cost:    a pass over the bytes for the checksum, and one over the cells of filters. Memory: twice the largest value.
/// Errors:  as RdbFileReader; out_of_space for a value that does not fit into memory.
[[nodiscard]] Result<TakeoverSurvey> survey_rdb(RdbFileReader& file);

}  // namespace mankai::takeover
