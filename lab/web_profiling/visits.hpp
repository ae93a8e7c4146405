#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/lab.hpp"
#include "lab/random.hpp"
#include "mankai/base/time.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai::lab::profiling {

/// Returns H_n(z) = Σ 1/i^z.
[[nodiscard]] double harmonic(std::uint64_t n, double z) noexcept;

/// Draws page 0 … n - 1 with probability 1 / (page + 1)^z / H_n(z), by Walker's alias method.
class Zipf {
 public:
  Zipf(std::uint64_t pages, double z);
  [[nodiscard]] std::uint32_t operator()(Random& random) const noexcept {
    const auto page = static_cast<std::uint32_t>(random.below(cells_.size()));
    return random.chance(cells_[page].keep) ? page : cells_[page].alias;
  }

 private:
  struct Cell {
    double keep = 1;
    std::uint32_t alias = 0;
  };
  std::vector<Cell> cells_;
};

/// The visits of one epoch: from the previous epoch's `end` to its own.
struct Epoch {
  Tick tick;
  std::uint64_t end = 0;
};

/// Visits ordered by epoch, and the pages. Epochs without visits are omitted.
struct Visits {
  std::vector<std::string> names{};  ///< of the pages
  std::vector<Digest> digests{};     ///< of the names
  std::vector<std::uint32_t> pages{};
  std::vector<Epoch> epochs{};

  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t epoch) const noexcept {
    const std::uint64_t begin = epoch == 0 ? 0 : epochs[epoch - 1].end;
    return std::span(pages).subspan(begin, epochs[epoch].end - begin);
  }
  [[nodiscard]] Tick last() const noexcept { return epochs.back().tick; }
};

/// The number of visits of each page.
[[nodiscard]] std::vector<std::uint64_t> visits_of_pages(const Visits& visits);

struct Workload {
  std::uint64_t visits = 0;
  std::uint64_t pages = 0;
  std::uint64_t per_epoch = 0;
  double z = 1;
};

/// Page i is the i-th most popular one.
[[nodiscard]] Visits draw(const Workload& workload, const Context& context);
/// Figure 3 as we read it: m counters, and the visits; a fifth of both if quick.
struct Setting {
  std::uint64_t counters = 0;
  Visits visits;
};
[[nodiscard]] Setting figure_3(const Context& context);
/// The same visits in so many epochs of equal numbers of visits.
[[nodiscard]] Visits in_epochs(Visits visits, std::uint64_t epochs);
/// Reads the visits of an access log: targets without their query; lines that are not requests are skipped. Epochs are
/// ticks of `epoch`; late visits count in the newest epoch before them. Errors: those of reading the file.
[[nodiscard]] Result<Visits> read_log(const std::string& path, Duration epoch, const Context& context);

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

/// Of the filters of logs.
inline constexpr Duration kLogHalfLife = std::chrono::hours(24);

/// Pre: there is a data directory.
[[nodiscard]] inline std::string path_of(const Log& log, const Context& context) {
  return *context.data_dir + "/logs/" + log.file;
}

/// Exact decayed counts of numbered pages: Σ λ^age, stored as of each page's newest visit and scaled on access.
class Truth {
 public:
  Truth(std::size_t pages, double lambda) : lambda_(lambda), counts_(pages) {}

  /// Pre: ticks never fall.
  void insert(std::uint32_t page, Tick tick) noexcept {
    Count& count = counts_[page];
    count.value = count.value * weight(tick.value - count.tick) + 1;
    count.tick = tick.value;
  }
  [[nodiscard]] double at(std::size_t page, Tick tick) const noexcept {
    const Count& count = counts_[page];
    return count.value == 0 ? 0 : count.value * weight(tick.value - count.tick);
  }
  [[nodiscard]] std::size_t pages() const noexcept { return counts_.size(); }
  [[nodiscard]] double mass(Tick tick) const noexcept;

 private:
  struct Count {
    double value = 0;
    std::uint64_t tick = 0;
  };
  [[nodiscard]] double weight(std::uint64_t age) const noexcept {
    return age == 0 ? 1 : std::pow(lambda_, static_cast<double>(age));
  }

  double lambda_;
  std::vector<Count> counts_;
};

[[nodiscard]] Truth truth_of(const Visits& visits, double lambda);

}  // namespace mankai::lab::profiling
