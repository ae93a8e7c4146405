#pragma once

/// Ends a workload on a Store at every moment, and looks at what is left.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tests/crash/store_workload.hpp"
#include "tests/support/crash_rounds.hpp"

namespace mankai::test {

/// How many disks were looked at, and what was wrong with them.
struct Tally {
  std::size_t disks = 0;
  std::map<std::string, std::size_t> complaints = {};

  void complain(const std::string& what, std::size_t times = 1) { complaints[what] += times; }
  void add(const Tally& other, const std::string& where);
  /// All that was wrong; empty when nothing was.
  [[nodiscard]] std::string text() const;
};

/// Opens what was found, as a reader and as a writer, and closes it and opens it again. Returns the number of the state
/// that it is, when it is one that may be found.
std::optional<std::size_t> recover(SimulatedDisk& found, const StoreHistory& history, End end, std::size_t moment,
                                   Tally& tally);

/// See the top of this file.
class StoreEnds {
 public:
  /// Which disks are looked at, of all that may be left.
  struct Sampling {
    std::size_t step = kMomentStep;  ///< one moment in so many, and the last one
    std::uint64_t seeds = 2;         ///< disks of which what is lost is drawn, at each moment
    bool machine_ends = true;        ///< or only processes
    std::uint64_t again = 97;        ///< one disk in so many is worked on, and ended again at every moment; 0: none
    std::uint64_t seeds_again = 1;   ///< of those
    std::size_t steps_again = 4;     ///< what is done on it
    bool to_first_wrong = false;     ///< stops there
  };

  StoreEnds(const WorkloadOptions& options, const Sampling& sampling) : options_(options), sampling_(sampling) {}

  /// From this moment on.
  void try_all(SimulatedDisk& disk, const StoreWorkload& workload, std::size_t first = 0);
  [[nodiscard]] const Tally& tally() const noexcept { return tally_; }
  [[nodiscard]] bool is_done() const noexcept { return sampling_.to_first_wrong && !tally_.complaints.empty(); }

 private:
  /// Makes a disk as it was found, as often as it is asked to.
  using Found = std::function<std::unique_ptr<SimulatedDisk>()>;

  void try_moment(const DiskWalk& walk, const StoreWorkload& workload);
  void look(const Found& found, const StoreWorkload& workload, End end, std::size_t moment);
  void go_on(SimulatedDisk& disk, StoreHistory history, const RequestMaker& requests);

  WorkloadOptions options_;
  Sampling sampling_;
  Tally tally_;
};

/// Says how much was tried, for whoever reads a test's output.
void say_tried(const Tally& tally, std::string_view what);

}  // namespace mankai::test
