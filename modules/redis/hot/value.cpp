#include "modules/redis/hot/value.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

namespace mankai::redis {
namespace {

/// Items whose counts have decayed below it are not listed.
constexpr double kNothing = 1.0 / 64;
/// Times are whole milliseconds, so at least this much of an epoch has passed.
constexpr Duration kLeastElapsed = std::chrono::milliseconds(1);

/// Rounds off what rounding up of weights and counts adds, so that three items are 3.
double rounded(double count) noexcept { return std::round(count * 0x1p16) * 0x1p-16; }

double seconds_of(Duration duration) noexcept { return std::chrono::duration<double>(duration).count(); }

DecayedTop::Options options_of(const HotSettings& settings) noexcept {
  return {.keys = settings.capacity_keys,
          .fpr = settings.fpr,
          .bytes = settings.bytes,
          .rounding = settings.rounding,
          .decay = settings.decay,
          .window = settings.window,
          .hash = settings.hash,
          .memory = engine_memory()};
}

Result<void> check_decay(const HotSettings& settings) {
  const Decay& decay = settings.decay;
  if (settings.window != Duration()) {
    return settings.window >= std::chrono::milliseconds(DecayedTop::kPanesOfWindow)
               ? Result<void>()
               : fail(ErrorCode::invalid_argument, "a window of less than 8 milliseconds: take a longer one");
  }
  if (decay.lambda_q32 == 0 || decay.lambda_q32 >= kLambdaOne) {
    return fail(ErrorCode::invalid_argument, "lambda must lie between 0 and 1, both excluded");
  }
  // Times are in milliseconds.
  if (decay.epoch < std::chrono::milliseconds(1)) {
    return fail(ErrorCode::invalid_argument, "an epoch of less than a millisecond: take longer ones");
  }
  return {};
}

std::unexpected<Error> fail_too_large(std::uint64_t bytes) {
  return fail(ErrorCode::invalid_argument,
              "a filter of " + std::to_string(bytes) + " bytes: at most " + std::to_string(HotValue::kMostBytes));
}

}  // namespace

Result<HotValue> HotValue::create(const HotSettings& settings) {
  MANKAI_TRY(check_decay(settings));
  if (settings.bytes > kMostBytes) {
    return fail_too_large(settings.bytes);
  }
  const DecayedTop::Options options = options_of(settings);
  MANKAI_ASSIGN(const auto bytes, DecayedTop::image_bytes_of(options));
  if (bytes > kMostBytes) {
    return fail_too_large(bytes);
  }
  MANKAI_ASSIGN(auto filter, DecayedTop::create(options));
  return HotValue(std::move(filter));
}

double HotValue::add(std::string_view key, std::uint32_t increment, Time at) noexcept {
  const Digest digest = filter().hasher()(key);
  filter().insert(digest, key, at, increment);
  return rounded(filter().estimate(digest).raw);
}

// At the start of an epoch, (λ + λ² + …) epochs of events remain; later events count in full. Of a window, its panes
// remain, and of a balanced count less of the oldest pane as the newest grows.
double HotValue::count_of_steady_stream(Time at) const noexcept {
  const Tick tick = std::max(tick_of(at, filter().epoch()), filter().tick());
  const Duration elapsed = std::max(Duration(at - start_of(tick, filter().epoch())), kLeastElapsed);
  const double lambda = filter().decay().lambda();
  if (filter().window() != Duration()) {
    const bool is_strict = filter().rounding() == CountRounding::strict;
    return seconds_of(filter().window()) + (is_strict ? seconds_of(elapsed) : 0);
  }
  return seconds_of(filter().epoch()) * lambda / (1 - lambda) + seconds_of(elapsed);
}

double HotValue::count(std::string_view key, Time at) const noexcept {
  return rounded(filter().estimate(filter().hasher()(key), at).raw);
}

double HotValue::rate(std::string_view key, Time at) const noexcept {
  constexpr double kSecondsPerHour = 3600;
  return kSecondsPerHour * count(key, at) / count_of_steady_stream(std::max(at, filter().newest()));
}

std::vector<HotValue::Item> HotValue::top(std::size_t most, std::size_t skip, Time at) const {
  std::vector<Item> items;
  for (const DecayedTop::Entry& entry : filter().top(most, skip, at)) {
    if (const double count = rounded(entry.count.raw); count > kNothing) {
      items.push_back({.key = entry.key, .count = count});
    }
  }
  return items;
}

// The header has the tick: newer cells under an older header would decay twice.
ImageParts HotValue::parts() const {
  ImageParts parts = parts_of(filter());
  bind_to_moment(parts);
  return parts;
}

}  // namespace mankai::redis
