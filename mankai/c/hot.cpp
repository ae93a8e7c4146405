#include "mankai/hot/hot.hpp"

#include <algorithm>
#include <shared_mutex>
#include <utility>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/handle.hpp"
#include "mankai/c/detail/options.hpp"
#include "mankai/c/detail/outcomes.hpp"
#include "mankai/c/detail/stored.hpp"
#include "mankai/c/mankai.h"

/// The handle of states of hot keys.
struct mankai_hot : mankai::c::HandleOf<mankai::c::HandleType::hot> {
  explicit mankai_hot(mankai::Hot made) : HandleOf(made.store() != nullptr), body(std::move(made)) {}

  mutable std::shared_mutex mutex;
  mankai::Hot body;
};

namespace mankai::c {
namespace {

Result<std::optional<CountRounding>> rounding_of(std::uint32_t asked) {
  switch (asked) {
    case MANKAI_ROUNDING_ANY: return std::nullopt;
    case MANKAI_ROUNDING_STRICT: return CountRounding::strict;
    case MANKAI_ROUNDING_BALANCED: return CountRounding::balanced;
    default: return fail(ErrorCode::invalid_argument, "there is no rounding " + std::to_string(asked));
  }
}

Result<std::optional<Decay>> decay_of(const mankai_hot_request& known) {
  if (known.half_life_us == 0) {
    return known.epoch_us == 0 ? Result<std::optional<Decay>>(std::nullopt)
                               : fail(ErrorCode::invalid_argument, "an epoch needs a half-life");
  }
  MANKAI_ASSIGN(const Duration half_life, duration_of(known.half_life_us, "the half-life"));
  MANKAI_ASSIGN(const Duration epoch, duration_of(known.epoch_us, "the epoch"));
  MANKAI_ASSIGN(const Decay decay, Decay::of_half_life(half_life, epoch));
  return decay;
}

Result<HotRequest> hot_request_of(const mankai_hot_request* given) {
  MANKAI_ASSIGN(const auto known, read_sized(given));
  HotRequest request;
  MANKAI_ASSIGN(request.decay, decay_of(known));
  MANKAI_ASSIGN(request.window, duration_if_set(known.window_us, "the window"));
  request.memory_bytes = if_set(known.memory_bytes);
  MANKAI_ASSIGN(request.rounding, rounding_of(known.rounding));
  MANKAI_ASSIGN(request.hash, hash_of_name(known.hash));
  MANKAI_ASSIGN(request.seed, seed_of_text(known.seed));
  request.keys_tag = known.keys_tag;
  MANKAI_ASSIGN(const auto tolerance, duration_if_set(known.late_tolerance_us, "the tolerance of late records"));
  request.late_tolerance = tolerance.value_or(request.late_tolerance);
  request.latest = known.latest_us == 0 ? request.latest : time_of_us(known.latest_us);
  return request;
}

int observe_hot(mankai_hot* hot, KeySource source, const std::int64_t* times_us) noexcept {
  return change_alone(hot, [&](Hot& body) -> Result<void> {
    MANKAI_ASSIGN(const auto keys, source.checked());
    MANKAI_TRY(check_array(times_us, keys.size(), "times_us"));
    return body.observe(KeyViews(keys).views(), keys.times(times_us));
  });
}

double half_life_us_of(const Hot& hot) noexcept {
  constexpr double kMicroseconds = 1e6;
  return hot.window() == Duration() ? hot.decay().half_life_seconds() * kMicroseconds : 0.0;
}

mankai_hot_facts facts_of(const Hot& hot) {
  const DecayedTop& filter = hot.filter();
  return {.size = sizeof(mankai_hot_facts),
          .records = hot.records(),
          .late_records = hot.late_records(),
          .records_beyond_tolerance = hot.records_beyond_tolerance(),
          .records_in_future = hot.records_in_future(),
          .now_us = us_of(hot.now()),
          .newest_us = us_of(hot.newest()),
          .half_life_us = half_life_us_of(hot),
          .epoch_us = filter.epoch().count(),
          .window_us = hot.window().count(),
          .image_bytes = filter.image_bytes(),
          .keys_tag = filter.keys_tag(),
          .sequence = sequence_of(hot.store()),
          .durable_sequence = durable_sequence_of(hot.store()),
          .is_in_file = hot.store() != nullptr,
          .is_balanced = filter.rounding() == CountRounding::balanced};
}

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

int mankai_hot_open(const char* path, const mankai_hot_request* request, const mankai_file_options* options,
                    mankai_hot** hot) {
  return open_handle(hot, "hot", [&]() -> Result<std::unique_ptr<mankai_hot>> {
    MANKAI_ASSIGN(const auto known, hot_request_of(request));
    MANKAI_ASSIGN(const auto file, options_to_open(options));
    MANKAI_ASSIGN(auto body, path == nullptr ? Hot::create(known) : Hot::open(path, known, file));
    return std::make_unique<mankai_hot>(std::move(body));
  });
}

int mankai_hot_observe(mankai_hot* hot, const mankai_key* keys, const int64_t* times_us, size_t count) {
  return observe_hot(hot, KeySource(keys, count), times_us);
}

int mankai_hot_observe_packed(mankai_hot* hot, const mankai_packed* keys, const int64_t* times_us) {
  return observe_hot(hot, KeySource(keys), times_us);
}

int mankai_hot_observe_one(mankai_hot* hot, const void* key, size_t bytes, int64_t time_us) {
  return change_alone(hot, [&](Hot& body) -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(key, bytes));
    return body.observe(view, time_of_us(time_us));
  });
}

int mankai_hot_accept_until(mankai_hot* hot, int64_t latest_us) {
  return change_alone(hot, [&](Hot& body) {
    body.accept_until(time_of_us(latest_us));
    return Result<void>();
  });
}

int mankai_hot_advance(mankai_hot* hot, int64_t time_us) {
  return change_alone(hot, [&](Hot& body) { return body.advance_to(time_of_us(time_us)); });
}

int mankai_hot_counts(const mankai_hot* hot, const mankai_key* keys, size_t count, mankai_lately* counts) {
  return read_shared(hot, [&](const Hot& body) {
    return use_in_windows(KeySource(keys, count), counts, "counts", mankai_lately(), [&](auto views, auto filled) {
      std::ranges::transform(views, filled.begin(), [&](std::string_view key) { return as_c(body.estimate(key)); });
      return Result<void>();
    });
  });
}

int mankai_hot_count_one(const mankai_hot* hot, const void* key, size_t bytes, mankai_lately* count) {
  return read_shared(hot, [&](const Hot& body) -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(key, bytes));
    MANKAI_TRY(check_given(count, "count"));
    *count = as_c(body.estimate(view));
    return {};
  });
}

int mankai_hot_top(const mankai_hot* hot, size_t most, mankai_top_entry** entries, size_t* count) {
  return read_shared(hot,
                     [&](const Hot& body) { return write_entries([&] { return body.top(most); }, entries, count); });
}

int mankai_hot_above(const mankai_hot* hot, double min_raw, mankai_top_entry** entries, size_t* count) {
  return read_shared(
      hot, [&](const Hot& body) { return write_entries([&] { return body.above(min_raw); }, entries, count); });
}

int mankai_hot_begin(mankai_hot* hot) { return begin_stored(hot); }
int mankai_hot_commit(mankai_hot* hot, const void* position, size_t bytes) {
  return commit_stored(hot, position, bytes);
}
int mankai_hot_position(const mankai_hot* hot, void* position, size_t* bytes) {
  return read_shared(hot, [&](const Hot& body) { return write_position(body.store(), position, bytes); });
}
int mankai_hot_sync(mankai_hot* hot) {
  return change_alone(hot, [](Hot& body) { return body.sync(); });
}

int mankai_hot_get_facts(const mankai_hot* hot, mankai_hot_facts* facts) {
  return read_shared(hot, [&](const Hot& body) { return write_sized(facts_of(body), facts, "facts"); });
}

int mankai_hot_close(mankai_hot* hot) {
  return close_handle(hot, [](mankai_hot& handle) { return handle.body.close(); });
}
