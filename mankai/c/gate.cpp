#include "mankai/gate/gate.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <utility>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/handle.hpp"
#include "mankai/c/detail/options.hpp"
#include "mankai/c/mankai.h"
#include "mankai/gate/gate_follower.hpp"

/// The handle of gates. Holds share the gate, since they may outlive the handle.
struct mankai_gate : mankai::c::HandleOf<mankai::c::HandleType::gate> {
  explicit mankai_gate(mankai::Gate made)
      : HandleOf(made.store() != nullptr), gate(std::make_shared<mankai::Gate>(std::move(made))) {}

  std::shared_mutex saving;  ///< shared by changes, during which a gate cannot be saved
  std::shared_ptr<mankai::Gate> gate;
};

struct mankai_gate_hold : mankai::c::HandleOf<mankai::c::HandleType::gate_hold> {
  mankai_gate_hold(std::shared_ptr<mankai::Gate> held, std::string_view key)
      : HandleOf(held->store() != nullptr), gate(std::move(held)), hold(*gate, key) {}

  std::shared_ptr<mankai::Gate> gate;
  mankai::Gate::Hold hold;
};

struct mankai_gate_follower : mankai::c::HandleOf<mankai::c::HandleType::gate_follower> {
  explicit mankai_gate_follower(mankai::GateFollower made)
      : HandleOf(false), gate(std::make_unique<mankai::GateFollower>(std::move(made))) {}

  mutable std::mutex refreshing;  ///< held for a refresh, and for facts
  std::unique_ptr<mankai::GateFollower> gate;
};

namespace mankai::c {
namespace {

Result<GateRequest> gate_request_of(const mankai_gate_request* given) {
  MANKAI_ASSIGN(const auto known, read_sized(given));
  GateRequest request;
  request.keys = if_set(known.keys).value_or(request.keys);
  request.fpr = if_set(known.fpr).value_or(request.fpr);
  MANKAI_ASSIGN(const auto hash, hash_of_name(known.hash));
  request.hash = hash.value_or(request.hash);
  MANKAI_ASSIGN(request.seed, seed_of_text(known.seed));
  request.source_id = known.source_id == nullptr ? std::string() : std::string(known.source_id);
  return request;
}

Result<GateOptions> gate_options_of(const mankai_gate_options* given, const mankai_file_options* file) {
  MANKAI_ASSIGN(const auto known, read_sized(given));
  GateOptions options;
  options.memo_bytes = if_set(static_cast<std::size_t>(known.memo_bytes)).value_or(options.memo_bytes);
  if (known.ignores_reports != 0) {
    options.memo_bytes = 0;
  }
  MANKAI_ASSIGN(options.store, options_to_open(file));
  return options;
}

// Gates and followers have the same queries.
template <class Handle>
int ask_gate(const Handle* handle, const void* key, std::size_t bytes, std::uint64_t after,
             mankai_gate_answer* answer) noexcept {
  if (answer != nullptr) {
    *answer = {.state = 0, .is_maybe = true};
  }
  return with_handle(handle, [&](const Handle& found) -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(key, bytes));
    MANKAI_TRY(check_given(answer, "answer"));
    const GateAnswer given = found.gate->maybe(view, after);
    *answer = {.state = given.state(), .is_maybe = given.is_maybe()};
    return {};
  });
}

template <class Handle>
int report_to_gate(const Handle* handle, const void* key, std::size_t bytes,
                   const mankai_gate_answer* answer) noexcept {
  return with_handle(handle, [&](const Handle& found) -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(key, bytes));
    MANKAI_TRY(check_given(answer, "answer"));
    found.gate->report_false_positive(view, GateAnswer(answer->is_maybe, answer->state));
    return {};
  });
}

template <class Handle>
int write_gate_position(const Handle* handle, std::uint64_t* position, bool* has_position) noexcept {
  return with_handle(handle, [&](const Handle& found) -> Result<void> {
    MANKAI_TRY(check_given(position, "position"));
    MANKAI_TRY(check_given(has_position, "has_position"));
    const auto current = found.gate->position();
    *position = current.value_or(0);
    *has_position = current.has_value();
    return {};
  });
}

template <class Handle>
int write_gate_counts(const Handle* handle, mankai_gate_counts* counts) noexcept {
  return with_handle(handle, [&](const Handle& found) -> Result<void> {
    const GateCounts now = found.gate->counts();
    return write_sized(mankai_gate_counts{.size = sizeof(mankai_gate_counts),
                                          .asked = now.asked,
                                          .empty = now.empty,
                                          .maybe = now.maybe,
                                          .memo_hits = now.memo_hits,
                                          .waiting = now.waiting,
                                          .false_positives = now.false_positives,
                                          .late_reports = now.late_reports},
                       counts, "counts");
  });
}

mankai_gate_facts facts_of(const GateFacts& facts, std::uint64_t missed_erasures) noexcept {
  return {.size = sizeof(mankai_gate_facts),
          .keys = facts.keys,
          .capacity_keys = facts.capacity_keys,
          .saturation = facts.saturation,
          .fpr_target = facts.fpr_target,
          .fpr_estimate = facts.fpr_estimate,
          .stuck_cells = facts.stuck_cells,
          .image_bytes = facts.image_bytes,
          .missed_erasures = missed_erasures};
}

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

int mankai_gate_create(const mankai_gate_request* request, const mankai_gate_options* options, mankai_gate** gate) {
  return open_handle(gate, "gate", [&]() -> Result<std::unique_ptr<mankai_gate>> {
    MANKAI_ASSIGN(const auto known, gate_request_of(request));
    MANKAI_ASSIGN(const auto kept, gate_options_of(options, nullptr));
    MANKAI_ASSIGN(auto made, Gate::create(known, kept));
    return std::make_unique<mankai_gate>(std::move(made));
  });
}

int mankai_gate_open(const char* path, const mankai_gate_options* options, const mankai_file_options* file_options,
                     mankai_gate** gate) {
  return open_handle(gate, "gate", [&]() -> Result<std::unique_ptr<mankai_gate>> {
    MANKAI_TRY(check_given(path, "path"));
    MANKAI_ASSIGN(const auto kept, gate_options_of(options, file_options));
    MANKAI_ASSIGN(auto opened, Gate::open(path, kept));
    return std::make_unique<mankai_gate>(std::move(opened));
  });
}

int mankai_gate_save_file(mankai_gate* gate, const char* path, const mankai_file_options* options) {
  return with_handle(gate, [&](mankai_gate& handle) -> Result<void> {
    MANKAI_TRY(check_given(path, "path"));
    MANKAI_ASSIGN(const auto request, request_of(options));
    const std::scoped_lock alone(handle.saving);
    return handle.gate->save(path, request.existing, request.options.mode);
  });
}

int mankai_gate_maybe(const mankai_gate* gate, const void* key, size_t bytes, uint64_t after,
                      mankai_gate_answer* answer) {
  return ask_gate(gate, key, bytes, after, answer);
}

int mankai_gate_report(const mankai_gate* gate, const void* key, size_t bytes, const mankai_gate_answer* answer) {
  return report_to_gate(gate, key, bytes, answer);
}

int mankai_gate_hold_key(const mankai_gate* gate, const void* key, size_t bytes, mankai_gate_hold** hold) {
  set_null(hold);
  return with_handle(gate, [&](const mankai_gate& handle) -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(hold), "hold"));
    MANKAI_ASSIGN(const auto view, key_of(key, bytes));
    *hold = new mankai_gate_hold(handle.gate, view);
    return {};
  });
}

int mankai_gate_release(mankai_gate_hold* hold) { return close_handle(hold); }

int mankai_gate_apply(mankai_gate* gate, const mankai_gate_changes* changes, uint64_t position) {
  return with_handle(gate, [&](mankai_gate& handle) -> Result<void> {
    MANKAI_TRY(check_given(changes, "changes"));
    MANKAI_ASSIGN(const auto known, read_sized(changes));
    MANKAI_ASSIGN(const auto inserted, KeySource(known.inserted, known.inserted_count).checked());
    MANKAI_ASSIGN(const auto erased, KeySource(known.erased, known.erased_count).checked());
    const std::shared_lock lock(handle.saving);
    return handle.gate->apply({.clears = known.clears != 0,
                               .inserted = KeyViews(inserted).views(),
                               .erased = KeyViews(erased).views(),
                               .mark = known.mark == nullptr ? std::string_view() : std::string_view(known.mark)},
                              position);
  });
}

int mankai_gate_position(const mankai_gate* gate, uint64_t* position, bool* has_position) {
  return write_gate_position(gate, position, has_position);
}

int mankai_gate_source(const mankai_gate* gate, mankai_texts** id_and_mark) {
  return with_handle(gate, [&](const mankai_gate& handle) -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(id_and_mark), "id_and_mark"));
    *id_and_mark = texts_for_caller(std::array{handle.gate->source_id(), handle.gate->position_mark()});
    return {};
  });
}

int mankai_gate_get_counts(const mankai_gate* gate, mankai_gate_counts* counts) {
  return write_gate_counts(gate, counts);
}

int mankai_gate_get_facts(const mankai_gate* gate, mankai_gate_facts* facts) {
  return with_handle(gate, [&](const mankai_gate& handle) {
    return write_sized(facts_of(handle.gate->facts(), handle.gate->missed_erasures()), facts, "facts");
  });
}

int mankai_gate_sync(mankai_gate* gate) {
  return with_handle(gate, [](mankai_gate& handle) { return handle.gate->sync(); });
}

int mankai_gate_close(mankai_gate* gate) {
  return close_handle(gate, [](mankai_gate& handle) { return handle.gate->close(); });
}

int mankai_gate_follower_open(const char* path, const mankai_gate_options* options, mankai_gate_follower** follower) {
  return open_handle(follower, "follower", [&]() -> Result<std::unique_ptr<mankai_gate_follower>> {
    MANKAI_TRY(check_given(path, "path"));
    MANKAI_ASSIGN(const auto kept, gate_options_of(options, nullptr));
    MANKAI_ASSIGN(auto opened, GateFollower::open(path, kept));
    return std::make_unique<mankai_gate_follower>(std::move(opened));
  });
}

int mankai_gate_follower_refresh(mankai_gate_follower* follower, bool* is_changed) {
  return with_handle(follower, [&](mankai_gate_follower& handle) -> Result<void> {
    MANKAI_TRY(check_given(is_changed, "is_changed"));
    const std::scoped_lock turn(handle.refreshing);
    MANKAI_ASSIGN(*is_changed, handle.gate->refresh());
    return {};
  });
}

int mankai_gate_follower_maybe(const mankai_gate_follower* follower, const void* key, size_t bytes, uint64_t after,
                               mankai_gate_answer* answer) {
  return ask_gate(follower, key, bytes, after, answer);
}

int mankai_gate_follower_report(const mankai_gate_follower* follower, const void* key, size_t bytes,
                                const mankai_gate_answer* answer) {
  return report_to_gate(follower, key, bytes, answer);
}

int mankai_gate_follower_position(const mankai_gate_follower* follower, uint64_t* position, bool* has_position) {
  return write_gate_position(follower, position, has_position);
}

int mankai_gate_follower_get_counts(const mankai_gate_follower* follower, mankai_gate_counts* counts) {
  return write_gate_counts(follower, counts);
}

int mankai_gate_follower_get_facts(const mankai_gate_follower* follower, mankai_gate_facts* facts) {
  return with_handle(follower, [&](const mankai_gate_follower& handle) {
    const std::scoped_lock turn(handle.refreshing);
    return write_sized(facts_of(handle.gate->facts(), 0), facts, "facts");
  });
}

int mankai_gate_follower_close(mankai_gate_follower* follower) { return close_handle(follower); }
