#include "mankai/hot/hot.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "mankai/base/assert.hpp"
#include "mankai/base/duration.hpp"

namespace mankai {
namespace {

// Enough keys to hide the latency of hashes and table look-ups; their digests take 2 KiB of stack.
constexpr std::size_t kBatchKeys = 256;

Result<DecayedTop::Options> options_of(const HotRequest& request) {
  HashSpec hash = HashSpec::random(request.hash.value_or(kDefaultHash));
  hash.seed = request.seed.value_or(hash.seed);
  MANKAI_TRY(check_seed(hash));
  return DecayedTop::Options{
      .bytes = request.memory_bytes.value_or(Hot::kDefaultMemoryBytes),
      .rounding = request.rounding.value_or(CountRounding::strict),
      .decay = request.decay ? *request.decay : Decay::of_half_life(Hot::kDefaultHalfLife).value(),
      .window = request.window.value_or(Duration()),
      .keys_tag = request.keys_tag,
      .hash = hash};
}

Result<void> check_request(const HotRequest& request) {
  return request.decay && request.window.value_or(Duration()) != Duration()
             ? fail(ErrorCode::invalid_argument, "a window and a half-life cannot be combined")
             : Result<void>();
}

Result<AnyFilter> make_filter(const HotRequest& request) {
  MANKAI_ASSIGN(const auto options, options_of(request));
  MANKAI_ASSIGN(auto filter, DecayedTop::create(options));
  return AnyFilter(std::move(filter));
}

Result<void> check_kind(const std::string& path, const AnyFilter& filter) {
  const auto* const top = filter.as<DecayedTop>();
  if (top == nullptr) {
    return fail(ErrorCode::invalid_argument, path + ": is a filter of kind " + std::string(filter.kind().name) +
                                                 ", not " + std::string(DecayedTop::kName) + "; use another file");
  }
  if (top->canonical_version() != 0) {
    return fail(ErrorCode::invalid_argument,
                path + ": its keys are canonical URLs, which are not supported here; use another file");
  }
  return {};
}

std::string words_of(const Decay& decay, Duration window) {
  if (window != Duration()) {
    return "a window of " + to_text(window);
  }
  if (decay.lambda_q32 == kLambdaOne) {
    return "counts that do not decay";
  }
  const Duration half_life(std::llround(decay.half_life_seconds() * 1e3) * 1000);  // λ is rounded
  return "a half-life of " + to_text(half_life) + " in epochs of " + to_text(decay.epoch);
}

// Compares rounded sizes: an image has the largest size that fits the requested memory.
Result<bool> is_of_size(const DecayedTop& filter, const HotRequest& request) {
  if (!request.memory_bytes) {
    return true;
  }
  HotRequest alike = request;
  alike.decay = filter.decay();
  alike.window = filter.window();
  alike.rounding = filter.rounding();
  MANKAI_ASSIGN(const auto options, options_of(alike));
  MANKAI_ASSIGN(const auto bytes, DecayedTop::image_bytes_of(options));
  return bytes == filter.image_bytes();
}

// A state with other settings would work, but not as requested.
Result<void> check_request_fits(const std::string& path, const DecayedTop& filter, const HotRequest& request) {
  const Decay decay = filter.decay();
  const Duration window = filter.window();
  if (differs(request.window, window) || (request.decay && (*request.decay != decay || window != Duration()))) {
    return created_otherwise(path, "with " + words_of(decay, window) + ", requested " +
                                       words_of(request.decay.value_or(decay), request.window.value_or(Duration())));
  }
  if (differs(request.rounding, filter.rounding())) {
    return created_otherwise(path, "with " + std::string(name(filter.rounding())) + " counts, requested " +
                                       std::string(name(*request.rounding)));
  }
  MANKAI_ASSIGN(const auto is_sized_so, is_of_size(filter, request));
  if (!is_sized_so) {
    return created_otherwise(path, "with a memory of " + std::to_string(filter.image_bytes()) + " bytes, requested " +
                                       std::to_string(*request.memory_bytes));
  }
  const HashSpec hash = filter.hash();
  if (differs(request.hash, hash.kind) || differs(request.seed, hash.seed)) {
    return created_otherwise(path, "with hash " + std::string(name(hash.kind)) + " and a seed, requested another one");
  }
  return {};
}

void insert(DecayedTop& filter, std::span<const std::string_view> keys, std::span<const Time> times) noexcept {
  const Hasher hasher = filter.hasher();
  std::array<Digest, kBatchKeys> digests;
  for (std::size_t begin = 0; begin < keys.size(); begin += kBatchKeys) {
    const std::size_t count = std::min(kBatchKeys, keys.size() - begin);
    const auto hashed = std::span(digests).first(count);
    hasher(keys.subspan(begin, count), hashed);
    filter.insert(hashed, keys.subspan(begin, count), times.subspan(begin, count));
  }
}

}  // namespace

Hot::Hot(KeptFilter kept, const HotRequest& request) noexcept
    : kept_(std::move(kept)),
      late_tolerance_(request.late_tolerance),
      now_(std::max(filter().newest(), start_of(filter().tick(), filter().epoch()))),
      newest_(filter().newest()),
      latest_(request.latest) {}

Result<Hot> Hot::create(const HotRequest& request) {
  MANKAI_TRY(check_request(request));
  MANKAI_ASSIGN(auto filter, make_filter(request));
  return Hot(KeptFilter(std::move(filter)), request);
}

Result<Hot> Hot::open(const std::string& path, const HotRequest& request, const StoreOptions& options) {
  MANKAI_TRY(check_request(request));
  MANKAI_ASSIGN(auto kept, KeptFilter::open(path, [&request] { return make_filter(request); }, options));
  MANKAI_TRY(check_kind(path, kept.filter()));
  MANKAI_TRY(check_request_fits(path, *kept.filter().as<DecayedTop>(), request));
  return Hot(std::move(kept), request);
}

Result<void> Hot::observe(std::span<const std::string_view> keys, std::span<const Time> times) {
  MANKAI_ASSERT(keys.size() == times.size());
  const auto is_in_future = [this](Time time) { return time > latest_; };
  const auto in_future = static_cast<std::size_t>(std::ranges::count_if(times, is_in_future));
  if (in_future == 0) {
    return count(keys, times);
  }
  std::vector<std::string_view> accepted;
  std::vector<Time> accepted_times;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!is_in_future(times[i])) {
      accepted.push_back(keys[i]);
      accepted_times.push_back(times[i]);
    }
  }
  in_future_ += in_future;
  return count(accepted, accepted_times);
}

Result<void> Hot::count(std::span<const std::string_view> keys, std::span<const Time> times) {
  if (Store* const store = kept_.store()) {
    MANKAI_TRY(store->insert(keys, times));
  } else {
    insert(*kept_.memory()->as<DecayedTop>(), keys, times);
  }
  note_times(times);
  return {};
}

void Hot::note_times(std::span<const Time> times) noexcept {
  const Duration epoch = filter().epoch();
  for (const Time given : times) {
    const Time time = std::max(given, Time());  // as the filter does; differences of earlier times could overflow
    if (time >= newest_) {
      newest_ = time;
    } else if (newest_ - time > late_tolerance_ && tick_of(time, epoch) < tick_of(newest_, epoch)) {
      ++beyond_tolerance_;
    }
  }
  now_ = std::max(now_, newest_);
}

Result<void> Hot::advance_to(Time now) {
  if (now <= now_) {
    return {};
  }
  if (Store* const store = kept_.store()) {
    MANKAI_TRY(store->advance(now));
  } else {
    kept_.memory()->as<DecayedTop>()->advance(tick_of(now, filter().epoch()));
  }
  now_ = now;
  return {};
}

DecayedCount Hot::estimate(std::string_view key) const noexcept {
  return filter().estimate(filter().hasher()(key), now_);
}

}  // namespace mankai
