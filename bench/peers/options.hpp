#pragma once

#include <optional>
#include <string>
#include <vector>

namespace mankai::bench {

/// The command line.
struct Options {
  std::vector<std::string> workloads;  ///< those to run
  std::size_t repetitions = 0;         ///< 0: as planned
  std::string out = ".";               ///< the folder for the tables
  std::string commit = "unknown";
  bool is_strict = false;  ///< a missing peer is a failure; BENCH_STRICT=1
};

inline constexpr const char* kUsage =
    "usage: peers [--workloads int-1e5,int-1e7,int-2e8,url-1e7] [--repetitions N] [--out DIR] [--commit ID]\n"
    "Without --workloads all but int-2e8. BENCH_STRICT=1 makes a missing peer a failure.\n";

/// Nothing if the arguments make no sense.
std::optional<Options> parse(int argc, char** argv);

}  // namespace mankai::bench
