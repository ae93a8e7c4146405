#pragma once

/// Random work on a Store beside an exact model of it, for tests that end it at any moment.
///
/// The model is the list of all committed batches: after each one the filter's image, made by the functions of
/// catalog/keys.hpp on a filter in memory, the sequence and the source position. What is found after a crash must be
/// one of these states: at least the last one that was acknowledged as surviving this end, at most the last one that
/// was begun.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mankai/store/store.hpp"
#include "tests/support/random.hpp"
#include "tests/support/requests.hpp"
#include "tests/support/simulated_disk.hpp"
#include "tests/support/store_requests.hpp"

namespace mankai::test {

inline const std::string kStorePath = "/disk/filter.mk";

/// How a process or a machine ends.
enum class End : std::uint8_t { process, machine };

/// The states of a store, and when they were begun and acknowledged.
class StoreHistory {
 public:
  explicit StoreHistory(StoreState first) : states_{std::move(first)}, begun_{0} {}

  /// What continues from this state, which was found when the process or the machine had ended: moments restart. What
  /// survived the process can still be lost with the machine.
  [[nodiscard]] StoreHistory continued(std::size_t state, End end, std::size_t moment) const;

  /// The batch that leads to this state began at this moment.
  void add(StoreState state, std::size_t begun) {
    states_.push_back(std::move(state));
    begun_.push_back(begun);
  }
  /// From this moment on, everything so far survives this end.
  void acknowledge(End end, std::size_t moment) { acknowledge(end, moment, states_.size() - 1); }
  /// As far as this sequence.
  void acknowledge_sequence(End end, std::size_t moment, std::uint64_t sequence);

  [[nodiscard]] const std::vector<StoreState>& states() const noexcept { return states_; }
  [[nodiscard]] const StoreState& last() const noexcept { return states_.back(); }

  /// The number of the state that is this one and may be found at this moment; nothing where there is none.
  [[nodiscard]] std::optional<std::size_t> find(const StoreState& found, End end, std::size_t moment) const;
  /// The first state that may be found.
  [[nodiscard]] std::size_t least(End end, std::size_t moment) const;

 private:
  struct Acknowledged {
    std::size_t moment;
    std::size_t state;
  };

  void acknowledge(End end, std::size_t moment, std::size_t state);

  std::vector<StoreState> states_;
  std::vector<std::size_t> begun_;
  std::vector<Acknowledged> by_process_;
  std::vector<Acknowledged> by_machine_;
};

struct WorkloadOptions {
  std::string_view spec;
  Durability durability = Durability::always;
  std::uint64_t seed = 0;
  std::size_t most_keys = 12;                  ///< in a request
  std::uint64_t checkpoint_bytes = 0;          ///< as in StoreOptions
  Duration interval = std::chrono::hours(24);  ///< as in StoreOptions: nothing happens because of time
  FileCalls* calls = nullptr;                  ///< to the disk; nullptr: the disk itself
  /// What becomes of its syncs, but of those that make the store.
  std::function<SimulatedDisk::Fate(const SyncCall&)> decide = {};
};

/// Does random work on a store. An error is a failure of the test, but where errors are expected.
class StoreWorkload {
 public:
  /// Makes a store.
  StoreWorkload(SimulatedDisk& disk, const WorkloadOptions& options);
  /// Opens one that is there, in the last state of a history. The requests continue from those that led there.
  StoreWorkload(SimulatedDisk& disk, const WorkloadOptions& options, StoreHistory history, RequestMaker requests);

  void run(std::size_t steps);
  /// One of each thing that can be done, in a fixed order.
  void run_each();

  void request(std::size_t keys);
  /// So many insertions of one key each that may be pending (Store::change_later). Pre: the kind does not grow.
  void later(std::size_t changes);
  void batch(BatchMode mode, std::size_t requests);
  /// A batch that is not committed, in a store that is closed and opened again.
  void give_batch_up(BatchMode mode, bool syncs);
  void commit_position();
  void sync();
  void checkpoint();
  void clear();
  void merge();
  void close();
  void reopen();

  [[nodiscard]] const StoreHistory& history() const noexcept { return history_; }
  [[nodiscard]] const RequestMaker& requests() const noexcept { return requests_; }
  /// Pre: it is open.
  [[nodiscard]] const Store& store() const noexcept { return *store_; }
  /// Notes what is on the disk by now.
  void look_at_durable() { acknowledge(false); }

 private:
  void open();
  void step();
  void ask(const Request& request);
  void begin_step() { begun_ = disk_.moment(); }
  void committed(std::string_view position);
  /// What has returned, and what of it is on the disk.
  void acknowledge(bool is_all_durable);
  [[nodiscard]] std::string next_position() { return "at " + std::to_string(history_.states().size()); }

  SimulatedDisk& disk_;
  WorkloadOptions options_;
  Random random_;
  AnyFilter model_;
  RequestMaker requests_;
  StoreHistory history_;
  std::uint64_t sequence_ = 0;  ///< with what is not committed yet
  std::size_t begun_ = 0;
  std::optional<Store> store_;
  std::optional<ChangeEncoder> encoder_;  ///< for `later`: to ask the store for its filter applies what is pending
};

/// What a reader finds.
[[nodiscard]] Result<StoreState> read_store(SimulatedDisk& disk);
/// The filter of a valid image.
[[nodiscard]] AnyFilter filter_from(const std::vector<std::byte>& image);

}  // namespace mankai::test
