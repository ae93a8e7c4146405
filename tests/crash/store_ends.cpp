#include "tests/crash/store_ends.hpp"

#include <iostream>

namespace mankai::test {
namespace {

std::string words(const StoreState& state) {
  return "sequence " + std::to_string(state.sequence) + ", position \"" + state.position + "\"";
}

// Closed and opened again it is the same.
void reopen(SimulatedDisk& found, const StoreState& state, Tally& tally) {
  const auto again = Store::open(kStorePath, {.durability = Durability::never, .calls = &found});
  if (!again) {
    tally.complain("cannot be opened a second time: " + again.error().message());
  } else if (state_of(*again) != state) {
    tally.complain("was " + words(state) + ", and is " + words(state_of(*again)) + " at the second look");
  }
}

}  // namespace

void Tally::add(const Tally& other, const std::string& where) {
  disks += other.disks;
  for (const auto& [what, times] : other.complaints) {
    complain(where + what, times);
  }
}

std::string Tally::text() const {
  std::string all;
  for (const auto& [what, times] : complaints) {
    all += std::to_string(times) + " of " + std::to_string(disks) + ": " + what + "\n";
  }
  return all;
}

std::optional<std::size_t> recover(SimulatedDisk& found, const StoreHistory& history, End end, std::size_t moment,
                                   Tally& tally) {
  ++tally.disks;
  const auto read = read_store(found);
  if (!read) {
    tally.complain("cannot be read: " + read.error().message());
    return std::nullopt;
  }
  if (!found.trace().empty()) {
    tally.complain("reading changed the disk");
  }
  auto opened = Store::open(kStorePath, {.durability = Durability::never, .calls = &found});
  if (!opened) {
    tally.complain("cannot be opened: " + opened.error().message());
    return std::nullopt;
  }
  const StoreState state = state_of(*opened);
  if (state != *read) {
    tally.complain("a reader sees " + words(*read) + " and a writer " + words(state));
  }
  const auto number = history.find(state, end, moment);
  if (!number) {
    tally.complain("is no state that may be found: " + words(state) + ", at least " +
                   words(history.states()[history.least(end, moment)]));
  }
  if (const auto closed = opened->close(); !closed) {
    tally.complain("cannot be closed: " + closed.error().message());
  }
  reopen(found, state, tally);
  return number;
}

void StoreEnds::try_all(SimulatedDisk& disk, const StoreWorkload& workload, std::size_t first) {
  for (DiskWalk walk(disk);; walk.step()) {
    if (walk.moment() >= first && ((walk.moment() - first) % sampling_.step == 0 || walk.is_at_end())) {
      try_moment(walk, workload);
    }
    if (walk.is_at_end() || is_done()) {
      return;
    }
  }
}

void StoreEnds::try_moment(const DiskWalk& walk, const StoreWorkload& workload) {
  for (const Loss loss : kLosses) {
    const std::uint64_t seeds = loss == Loss::some ? sampling_.seeds : 1;
    for (std::uint64_t seed = 0; seed < (sampling_.machine_ends ? seeds : 0); ++seed) {
      const std::uint64_t drawn = options_.seed + walk.moment() * sampling_.seeds + seed;
      look([&] { return walk.machine_ends(loss, drawn); }, workload, End::machine, walk.moment());
    }
  }
  look([&] { return walk.process_ends(walk.moment()); }, workload, End::process, walk.moment());
}

void StoreEnds::look(const Found& found, const StoreWorkload& workload, End end, std::size_t moment) {
  const auto number = recover(*found(), workload.history(), end, moment, tally_);
  if (number && sampling_.again != 0 && tally_.disks % sampling_.again == 0) {
    go_on(*found(), workload.history().continued(*number, end, moment), workload.requests());
  }
}

// What recovers can be ended, too, and what continues from there.
void StoreEnds::go_on(SimulatedDisk& disk, StoreHistory history, const RequestMaker& requests) {
  WorkloadOptions options = options_;
  options.seed += tally_.disks;
  StoreWorkload workload(disk, options, std::move(history), requests);
  workload.run(sampling_.steps_again);
  workload.close();  // its threads would change the disk while it is looked at
  StoreEnds second(options, {.seeds = sampling_.seeds_again, .again = 0, .to_first_wrong = sampling_.to_first_wrong});
  second.try_all(disk, workload);
  tally_.add(second.tally(), "after a first end: ");
}

void say_tried(const Tally& tally, std::string_view what) {
  std::cout << "[  crash   ] " << what << ": " << tally.disks << " disks\n";
}

}  // namespace mankai::test
