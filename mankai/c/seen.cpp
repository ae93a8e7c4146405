#include "mankai/seen/seen.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/forked_mutex.hpp"
#include "mankai/c/detail/handle.hpp"
#include "mankai/c/detail/options.hpp"
#include "mankai/c/detail/outcomes.hpp"
#include "mankai/c/detail/stored.hpp"
#include "mankai/c/mankai.h"

/// The handle of memories.
struct mankai_seen : mankai::c::HandleOf<mankai::c::HandleType::seen> {
  explicit mankai_seen(mankai::Seen made) : HandleOf(made.store() != nullptr), body(std::move(made)) {}

  mutable mankai::c::ForkedMutex mutex;  ///< processes that share a memory fork
  mankai::Seen body;
};

namespace mankai::c {
namespace {

Result<SeenRequest> seen_request_of(const mankai_seen_request* given) {
  MANKAI_ASSIGN(const auto known, read_sized(given));
  SeenRequest request;
  if (known.kind != nullptr) {
    MANKAI_ASSIGN(request.kind, parse_kind(known.kind));
  }
  request.keys = if_set(known.keys);
  request.fpr = if_set(known.fpr);
  MANKAI_ASSIGN(request.hash, hash_of_name(known.hash));
  MANKAI_ASSIGN(request.seed, seed_of_text(known.seed));
  MANKAI_ASSIGN(request.canonical, choice_of(known.canonical, "canonical"));
  MANKAI_ASSIGN(request.window, duration_if_set(known.window_us, "the window"));
  return request;
}

int observe_seen(mankai_seen* seen, KeySource source, const std::int64_t* times_us, bool* repeats) noexcept {
  return change_alone(seen, [&](Seen& body) -> Result<void> {
    MANKAI_ASSIGN(const auto keys, source.checked());
    return use_at_once(keys, repeats, "repeats", false, [&](auto views, std::span<bool> outcomes) {
      return times_us == nullptr ? body.observe(views, outcomes) : body.observe(views, keys.times(times_us), outcomes);
    });
  });
}

int forget_seen(mankai_seen* seen, KeySource source, mankai_erase_result* results) noexcept {
  return change_alone(seen, [&](Seen& body) -> Result<void> {
    MANKAI_ASSIGN(const auto keys, source.checked());
    return erase_at_once(keys, results,
                         [&](auto views, std::span<EraseResult> outcomes) { return body.forget(views, outcomes); });
  });
}

int ask_seen(const mankai_seen* seen, KeySource keys, bool* outcomes) noexcept {
  return read_shared(seen, [&](const Seen& body) {
    return use_in_windows(keys, outcomes, "outcomes", false, [&](auto views, std::span<bool> filled) {
      body.filter().may_contain(views, filled);
      return Result<void>();
    });
  });
}

std::int64_t us_or_0(std::optional<Duration> duration) noexcept { return duration.value_or(Duration()).count(); }

mankai_seen_facts facts_of(const Seen& seen) {
  const AnyFilter& filter = seen.filter();
  return {.size = sizeof(mankai_seen_facts),
          .kind = filter.kind().name.data(),  // NOLINT(bugprone-suspicious-stringview-data-usage): a literal
          .keys_inserted = seen.keys_inserted(),
          .capacity_keys = seen.capacity_keys(),
          .image_bytes = filter.image_bytes(),
          .fpr_target = filter.spec().fpr,
          .window_us = us_or_0(seen.window()),
          .forgets_after_us = us_or_0(seen.forgets_after()),
          .time_us = us_of(seen.time().value_or(Time())),
          .sequence = seen.sequence(),
          .durable_sequence = seen.durable_sequence(),
          .is_in_file = seen.is_in_file(),
          .is_over_capacity = seen.is_over_capacity(),
          .is_overfull = seen.is_overfull()};
}

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

int mankai_seen_open(const char* path, const mankai_seen_request* request, const mankai_file_options* options,
                     mankai_seen** seen) {
  return open_handle(seen, "seen", [&]() -> Result<std::unique_ptr<mankai_seen>> {
    MANKAI_ASSIGN(auto known, seen_request_of(request));
    MANKAI_ASSIGN(auto given, read_sized(options));
    given.size = sizeof given;
    MANKAI_ASSIGN(known.sharing, take_sharing(given));
    MANKAI_ASSIGN(const auto file, options_to_open(&given));
    MANKAI_ASSIGN(auto body, path == nullptr ? Seen::create(known) : Seen::open(path, known, file));
    return std::make_unique<mankai_seen>(std::move(body));
  });
}

int mankai_seen_observe(mankai_seen* seen, const mankai_key* keys, const int64_t* times_us, size_t count,
                        bool* repeats) {
  return observe_seen(seen, KeySource(keys, count), times_us, repeats);
}

int mankai_seen_observe_packed(mankai_seen* seen, const mankai_packed* keys, const int64_t* times_us, bool* repeats) {
  return observe_seen(seen, KeySource(keys), times_us, repeats);
}

int mankai_seen_observe_one(mankai_seen* seen, const void* key, size_t bytes, bool* repeat) {
  return change_alone(seen, [&](Seen& body) -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(key, bytes));
    MANKAI_TRY(check_given(repeat, "repeat"));
    return body.observe(view, *repeat);
  });
}

int mankai_seen_observe_one_at(mankai_seen* seen, const void* key, size_t bytes, int64_t time_us, bool* repeat) {
  return change_alone(seen, [&](Seen& body) -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(key, bytes));
    MANKAI_TRY(check_given(repeat, "repeat"));
    const Time time = time_of_us(time_us);
    return body.observe({&view, 1}, {&time, 1}, {repeat, 1});
  });
}

int mankai_seen_forget(mankai_seen* seen, const mankai_key* keys, size_t count, mankai_erase_result* results) {
  return forget_seen(seen, KeySource(keys, count), results);
}

int mankai_seen_forget_packed(mankai_seen* seen, const mankai_packed* keys, mankai_erase_result* results) {
  return forget_seen(seen, KeySource(keys), results);
}

int mankai_seen_may_contain(const mankai_seen* seen, const mankai_key* keys, size_t count, bool* outcomes) {
  return ask_seen(seen, KeySource(keys, count), outcomes);
}

int mankai_seen_may_contain_packed(const mankai_seen* seen, const mankai_packed* keys, bool* outcomes) {
  return ask_seen(seen, KeySource(keys), outcomes);
}

int mankai_seen_may_contain_one(const mankai_seen* seen, const void* key, size_t bytes, bool* outcome) {
  return read_shared(seen, [&](const Seen& body) -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(key, bytes));
    MANKAI_TRY(check_given(outcome, "outcome"));
    *outcome = body.filter().may_contain(view);
    return {};
  });
}

int mankai_seen_begin(mankai_seen* seen) {
  return change_alone(seen, [](Seen& body) -> Result<void> {
    if (body.is_in_file() && body.store() == nullptr) {
      return fail(ErrorCode::invalid_argument,
                  "no batches in a filter that processes share: each call is in the file when it returns");
    }
    body.begin();
    return {};
  });
}
int mankai_seen_commit(mankai_seen* seen, const void* position, size_t bytes) {
  return commit_stored(seen, position, bytes);
}
int mankai_seen_position(const mankai_seen* seen, void* position, size_t* bytes) {
  return read_shared(seen, [&](const Seen& body) { return write_position(body.store(), position, bytes); });
}
int mankai_seen_sync(mankai_seen* seen) {
  return change_alone(seen, [](Seen& body) { return body.sync(); });
}

int mankai_seen_get_facts(const mankai_seen* seen, mankai_seen_facts* facts) {
  return read_shared(seen, [&](const Seen& body) { return write_sized(facts_of(body), facts, "facts"); });
}

int mankai_seen_close(mankai_seen* seen) {
  return close_handle(seen, [](mankai_seen& handle) { return handle.body.close(); });
}
