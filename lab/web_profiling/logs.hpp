#pragma once

/// The access logs among the real data.

#include <array>
#include <chrono>
#include <string>

#include "lab/lab.hpp"
#include "mankai/base/time.hpp"

namespace mankai::lab::profiling {

struct Log {
  const char* id;
  const char* file;
  const char* what;
};
inline constexpr std::array<Log, 6> kLogs = {{
    {"nasa-july", "nasa-1995-07-01.sample.log.zst", "a space agency's site, an early morning in July 1995"},
    {"nasa-august", "nasa-1995-08-01.sample.log.zst", "the same site, an early morning in August 1995"},
    {"semicomplete", "semicomplete-2015.log.zst", "a programmer's blog, four days of May 2015"},
    {"blog", "wordpress-blog-2016.log.zst", "a blog, five weeks of 2016"},
    {"judge", "ruet-oj-2017.log.zst", "a university's programming contests, four months of 2017"},
    {"hut", "almhuette-2020-12_2021-04.log.zst", "a mountain hut, four months of 2021, mostly one attacker"},
}};

/// How fast visits in logs fade here.
inline constexpr Duration kLogHalfLife = std::chrono::hours(24);

/// Pre: there is a data directory.
[[nodiscard]] inline std::string path_of(const Log& log, const Context& context) {
  return *context.data_dir + "/logs/" + log.file;
}

}  // namespace mankai::lab::profiling
