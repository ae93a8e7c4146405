#include "tests/crash/store_workload.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "mankai/store/detail/load_store.hpp"

namespace mankai::test {
namespace {

void expect_ok(const Result<void>& result) { EXPECT_TRUE(result.has_value()) << result.error().message(); }

// Asks a store what requests ask of filters.
Result<Answers> done_by(Store& store, const Request& request, bool observes) {
  const auto keys = request.views();
  Answers answers;
  Flags seen(observes ? keys.size() : 0);
  Result<void> done;
  switch (request.operation) {
    case Operation::insert:
      done = observes ? store.observe(keys, seen.span()) : store.insert(keys);
      answers.seen = seen.list();
      break;
    case Operation::insert_with_ids: done = store.insert(keys, request.ids); break;
    case Operation::insert_at: done = store.insert(keys, request.times); break;
    case Operation::insert_until: done = store.insert_until(keys, request.times); break;
    case Operation::erase:
      answers.erased.resize(keys.size());
      done = store.erase(keys, answers.erased);
      break;
    case Operation::erase_with_ids:
      answers.erased.resize(keys.size());
      done = store.erase(keys, request.ids, answers.erased);
      break;
    case Operation::put: done = store.put(keys, request.values, request.strength); break;
    case Operation::advance: done = store.advance(request.time); break;
  }
  return done ? Result<Answers>(std::move(answers)) : std::unexpected(done.error());
}

// As callers do who encode their changes themselves: keys that come or go, at most a window of them.
Result<Answers> done_encoded(Store& store, const Request& request) {
  ChangeEncoder encoder(store.filter());
  const bool erases = request.operation == Operation::erase;
  const auto change = encoded(encoder, request);
  if (!change) {
    return std::unexpected(change.error());
  }
  Answers answers;
  Flags seen(erases ? 0 : request.keys.size());
  answers.erased.resize(erases ? request.keys.size() : 0);
  const auto done = store.change(*change, {.seen = seen.span(), .erased = answers.erased});
  answers.seen = seen.list();
  return done ? Result<Answers>(std::move(answers)) : std::unexpected(done.error());
}

bool can_be_encoded(const Request& request) {
  return (request.operation == Operation::insert || request.operation == Operation::erase) &&
         request.keys.size() <= ChangeEncoder::kMaxKeys;
}

StoreOptions store_options(SimulatedDisk& disk, const WorkloadOptions& options) {
  return {.durability = options.durability,
          .interval = options.interval,
          .checkpoint_bytes = options.checkpoint_bytes,
          .calls = options.calls == nullptr ? &disk : options.calls};
}

}  // namespace

AnyFilter filter_from(const std::vector<std::byte>& image) {
  Region region = Region::allocate(system_memory(), image.size()).value();
  std::ranges::copy(image, region.bytes().begin());
  return filter_from_region(std::move(region), Trust::checked).value();
}

void StoreHistory::acknowledge(End end, std::size_t moment, std::size_t state) {
  (end == End::process ? by_process_ : by_machine_).push_back({.moment = moment, .state = state});
}

void StoreHistory::acknowledge_sequence(End end, std::size_t moment, std::uint64_t sequence) {
  const auto reached = std::ranges::find_if(states_, [&](const auto& state) { return state.sequence >= sequence; });
  ASSERT_NE(reached, states_.end()) << "change " << sequence << " was never made";
  acknowledge(end, moment, static_cast<std::size_t>(reached - states_.begin()));
}

StoreHistory StoreHistory::continued(std::size_t state, End end, std::size_t moment) const {
  StoreHistory next = *this;
  next.states_.resize(state + 1);
  next.begun_.assign(state + 1, 0);
  next.by_process_ = {{.moment = 0, .state = state}};
  next.by_machine_ = {{.moment = 0, .state = end == End::machine ? state : least(End::machine, moment)}};
  return next;
}

std::size_t StoreHistory::least(End end, std::size_t moment) const {
  std::size_t least = 0;
  for (const Acknowledged& each : end == End::process ? by_process_ : by_machine_) {
    if (each.moment <= moment) {
      least = std::max(least, each.state);
    }
  }
  return least;
}

std::optional<std::size_t> StoreHistory::find(const StoreState& found, End end, std::size_t moment) const {
  for (std::size_t state = least(end, moment); state < states_.size() && begun_[state] <= moment; ++state) {
    if (states_[state] == found) {
      return state;
    }
  }
  return std::nullopt;
}

StoreWorkload::StoreWorkload(SimulatedDisk& disk, const WorkloadOptions& options)
    : disk_(disk),
      options_(options),
      random_(options.seed),
      model_(filter_of(options.spec)),
      requests_(model_, options.seed),
      history_({.image = image_of(model_)}) {
  disk_.tear_sectors(kStorePath);
  auto made = Store::create(kStorePath, filter_of(options.spec), store_options(disk, options));
  EXPECT_TRUE(made.has_value()) << made.error().message();
  store_.emplace(std::move(*made));
  encoder_.emplace(store_->filter());
  acknowledge(true);
  disk_.decide_syncs(options_.decide);
}

StoreWorkload::StoreWorkload(SimulatedDisk& disk, const WorkloadOptions& options, StoreHistory history,
                             RequestMaker requests)
    : disk_(disk),
      options_(options),
      random_(options.seed),
      model_(filter_from(history.last().image)),
      requests_(std::move(requests)),
      history_(std::move(history)),
      sequence_(history_.last().sequence) {
  requests_.time_was_lost();
  disk_.tear_sectors(kStorePath);
  disk_.decide_syncs(options_.decide);
  open();
}

void StoreWorkload::open() {
  auto opened = Store::open(kStorePath, store_options(disk_, options_));
  ASSERT_TRUE(opened.has_value()) << opened.error().message();
  store_.emplace(std::move(*opened));
  encoder_.emplace(store_->filter());
  EXPECT_EQ(state_of(*store_), history_.last());
  acknowledge(false);
}

void StoreWorkload::acknowledge(bool is_all_durable) {
  const bool is_durable = is_all_durable || options_.durability == Durability::always;
  const std::uint64_t durable = store_ ? store_->durable_sequence() : 0;
  EXPECT_LE(durable, history_.last().sequence);
  const std::size_t moment = disk_.moment();
  history_.acknowledge(End::process, moment);
  if (is_durable) {
    history_.acknowledge(End::machine, moment);
  } else {
    history_.acknowledge_sequence(End::machine, moment, durable);
  }
}

void StoreWorkload::committed(std::string_view position) {
  history_.add({.sequence = sequence_,
                .position = position.empty() ? history_.last().position : std::string(position),
                .image = image_of(model_)},
               begun_);
  if (store_) {
    EXPECT_EQ(store_->sequence(), sequence_);
    EXPECT_EQ(store_->position().view(), history_.last().position);
  }
}

void StoreWorkload::ask(const Request& request) {
  const bool observes = random_.below(2) == 0;
  // Not drawn, so that the work is the same as without.
  const bool is_encoded = observes && sequence_ % 2 == 0 && can_be_encoded(request);
  const auto answered = is_encoded ? done_encoded(*store_, request) : done_by(*store_, request, observes);
  ASSERT_TRUE(answered.has_value()) << answered.error().message();
  const Answers expected = done_directly(model_, request);
  if (observes && request.operation == Operation::insert) {
    EXPECT_EQ(answered->seen, expected.seen);
  }
  EXPECT_EQ(answered->erased, expected.erased);
  sequence_ += request.operation == Operation::advance ? 1 : request.keys.size();
}

void StoreWorkload::request(std::size_t keys) {
  begin_step();
  ask(requests_.next(keys));
  committed({});
  acknowledge(false);
}

void StoreWorkload::later(std::size_t changes) {
  for (std::size_t i = 0; i < changes; ++i) {
    begin_step();
    const Request request = requests_.of(Operation::insert, 1);
    expect_ok(store_->change_later(*encoded(*encoder_, request)));
    done_directly(model_, request);
    ++sequence_;
    committed({});
    acknowledge(false);
  }
}

void StoreWorkload::batch(BatchMode mode, std::size_t requests) {
  begin_step();
  store_->begin(mode);
  for (std::size_t i = 0; i < requests; ++i) {
    ask(requests_.next(options_.most_keys));
    disk_.observe();
  }
  const std::string position = random_.below(2) == 0 ? next_position() : std::string();
  expect_ok(store_->commit(position));
  committed(position);
  acknowledge(mode == BatchMode::in_memory);
}

void StoreWorkload::give_batch_up(BatchMode mode, bool syncs) {
  begin_step();
  store_->begin(mode);
  ask(requests_.next(options_.most_keys));
  ask(requests_.next(options_.most_keys));
  disk_.observe();
  if (syncs) {
    expect_ok(store_->sync());
  }
  expect_ok(store_->close());
  store_.reset();
  model_ = filter_from(history_.last().image);
  sequence_ = history_.last().sequence;
  requests_.time_was_lost();
  acknowledge(true);
  open();
}

void StoreWorkload::commit_position() {
  begin_step();
  const std::string position = next_position();
  expect_ok(store_->commit(position));
  ++sequence_;
  committed(position);
  acknowledge(false);
}

void StoreWorkload::sync() {
  expect_ok(store_->sync());
  acknowledge(true);
  EXPECT_EQ(store_->durable_sequence(), store_->sequence());
}

void StoreWorkload::checkpoint() {
  expect_ok(store_->checkpoint());
  acknowledge(true);
  EXPECT_EQ(store_->durable_sequence(), store_->sequence());
}

void StoreWorkload::clear() {
  begin_step();
  expect_ok(store_->clear());
  model_.clear();
  ++sequence_;
  committed({});
  acknowledge(true);
}

void StoreWorkload::merge() {
  if (!info_of(model_).can_merge) {
    return;
  }
  begin_step();
  AnyFilter other = model_.create_like().value();
  done_directly(other, requests_.of(Operation::insert, options_.most_keys));
  expect_ok(store_->merge(other));
  expect_ok(model_.merge(other));
  ++sequence_;
  committed({});
  acknowledge(true);
}

void StoreWorkload::close() {
  expect_ok(store_->close());
  store_.reset();
  acknowledge(true);
}

void StoreWorkload::reopen() {
  close();
  open();
}

void StoreWorkload::step() {
  constexpr std::uint64_t kChoices = 32;
  switch (random_.below(kChoices)) {
    case 0:
    case 1: reopen(); break;
    case 2:
    case 3: checkpoint(); break;
    case 4:
    case 5:
    case 6: sync(); break;
    case 7: clear(); break;
    case 8: merge(); break;
    case 9: commit_position(); break;
    case 10: batch(BatchMode::in_memory, 2); break;
    case 11:
      give_batch_up(random_.below(2) == 0 ? BatchMode::journaled : BatchMode::in_memory, random_.below(2) == 0);
      break;
    case 12:
    case 13:
    case 14:
    case 15: batch(BatchMode::journaled, 1 + random_.below(3)); break;
    default: request(options_.most_keys);
  }
}

void StoreWorkload::run(std::size_t steps) {
  for (std::size_t i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
    step();
  }
}

void StoreWorkload::run_each() {
  request(options_.most_keys);
  batch(BatchMode::journaled, 2);
  sync();
  request(options_.most_keys);
  checkpoint();
  request(1);
  commit_position();
  reopen();
  merge();
  request(options_.most_keys);
  give_batch_up(BatchMode::journaled, false);
  request(options_.most_keys);
  give_batch_up(BatchMode::in_memory, false);
  request(options_.most_keys);
  batch(BatchMode::in_memory, 2);
  request(1);
  checkpoint();
  close();
  open();
  clear();
  request(options_.most_keys);
  close();
}

Result<StoreState> read_store(SimulatedDisk& disk) {
  auto loaded = detail::load_store(kStorePath, {.calls = &disk});
  if (!loaded) {
    return std::unexpected(loaded.error());
  }
  return StoreState{.sequence = loaded->report.sequence,
                    .position = std::string(loaded->report.position.view()),
                    .image = image_of(loaded->filter)};
}

}  // namespace mankai::test
