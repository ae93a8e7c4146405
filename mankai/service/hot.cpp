#include "mankai/service/hot.hpp"

#include <algorithm>
#include <array>

#include "mankai/base/duration.hpp"
#include "mankai/durable/filter_file.hpp"

namespace mankai {
namespace {

// As many keys as hide the latency of a hash and a look at the table; their digests are 2 KiB on the stack.
constexpr std::size_t kBatchKeys = 256;

Result<DecayedTop::Options> options_of(const HotRequest& request) {
  HashSpec hash = HashSpec::random(request.hash.value_or(HashKind::xxh3));
  hash.seed = request.seed.value_or(hash.seed);
  if (hash.kind == HashKind::xxh3 && request.seed && hash.seed[1] != 0) {
    return fail(ErrorCode::invalid_argument, "a seed of 128 bits goes with hash siphash; xxh3 takes 64");
  }
  return DecayedTop::Options{
      .bytes = request.memory_bytes.value_or(Hot::kDefaultMemoryBytes),
      .decay = request.decay ? *request.decay : Decay::of_half_life(Hot::kDefaultHalfLife).value(),
      .hash = hash};
}

Result<DecayedTop> make_filter(const HotRequest& request) {
  const auto options = options_of(request);
  return options ? DecayedTop::create(*options) : std::unexpected(options.error());
}

Result<DecayedTop> read_filter(const std::string& path) {
  auto filter = open_filter(path, Access::change);
  if (!filter) {
    return std::unexpected(filter.error());
  }
  if (auto* top = std::get_if<DecayedTop>(&*filter)) {
    if (top->canonical_version() != 0) {
      return fail(ErrorCode::invalid_argument,
                  path + ": has canonical URLs as keys, and keys are taken as they are here; name another file");
    }
    return std::move(*top);
  }
  return fail(ErrorCode::invalid_argument, path + ": is a filter of kind " +
                                               std::string(info_of(spec_of(*filter).kind).name) + ", not " +
                                               std::string(DecayedTop::kName) + "; name another file");
}

Result<void> write_filter(const std::string& path, DecayedTop& filter, Existing existing, FileLock* held = nullptr) {
  return write_file_parts(path, filter.seal_parts(), existing, held);
}

std::string words_of(const DecayedTop& filter) {
  const Decay decay = filter.decay();
  return "lambda " + std::to_string(decay.lambda()) + ", epoch " + to_text(decay.epoch) + ", " +
         std::to_string(filter.image_bytes()) + " bytes, hash " + std::string(name(filter.hash().kind));
}

// The size of an image is not what was asked for, but what fits into it: equal requests give equal sizes.
Result<bool> is_of_size(const DecayedTop& filter, const HotRequest& request) {
  if (!request.memory_bytes) {
    return true;
  }
  HotRequest alike = request;
  alike.decay = filter.decay();
  const auto options = options_of(alike);
  const auto bytes = options ? DecayedTop::image_bytes_of(*options) : std::unexpected(options.error());
  return bytes ? Result<bool>(*bytes == filter.image_bytes()) : std::unexpected(bytes.error());
}

// A state that was made for another request would answer, but not as asked.
Result<void> check_request_fits(const std::string& path, const DecayedTop& filter, const HotRequest& request) {
  const auto is_sized_so = is_of_size(filter, request);
  if (!is_sized_so) {
    return std::unexpected(is_sized_so.error());
  }
  if (*is_sized_so && request.decay.value_or(filter.decay()) == filter.decay() &&
      request.hash.value_or(filter.hash().kind) == filter.hash().kind &&
      request.seed.value_or(filter.hash().seed) == filter.hash().seed) {
    return {};
  }
  return fail(ErrorCode::invalid_argument, path + ": was made with " + words_of(filter) +
                                               ", which is not what was asked for; leave the options out to use it as "
                                               "it is, or name another file");
}

Result<void> create_missing(const std::string& path, const HotRequest& request) {
  auto filter = make_filter(request);
  if (!filter) {
    return std::unexpected(filter.error());
  }
  return write_filter(path, *filter, Existing::refuse);
}

}  // namespace

Hot::Hot(DecayedTop filter, const HotRequest& request) noexcept
    : filter_(std::move(filter)),
      late_tolerance_(request.late_tolerance),
      now_(std::max(filter_.newest(), start_of(filter_.tick(), filter_.epoch()))),
      newest_(filter_.newest()),
      latest_(request.latest) {}

Result<Hot> Hot::create(const HotRequest& request) {
  auto filter = make_filter(request);
  if (!filter) {
    return std::unexpected(filter.error());
  }
  return Hot(std::move(*filter), request);
}

Result<Hot> Hot::open(const std::string& path, const HotRequest& request) {
  auto lock = FileLock::acquire(path);
  if (!lock && lock.error().code == ErrorCode::not_found) {
    const auto created = create_missing(path, request);
    lock = FileLock::acquire(path);
    // Somebody else may have created it meanwhile; if nobody has, what kept us from it is the answer.
    if (!created && !lock && lock.error().code == ErrorCode::not_found) {
      return std::unexpected(created.error());
    }
  }
  if (!lock) {
    return std::unexpected(lock.error());
  }
  auto filter = read_filter(path);
  if (!filter) {
    return std::unexpected(filter.error());
  }
  if (auto fits = check_request_fits(path, *filter, request); !fits) {
    return std::unexpected(fits.error());
  }
  Hot hot(std::move(*filter), request);
  hot.path_ = path;
  hot.lock_ = std::move(*lock);
  return hot;
}

void Hot::observe(std::string_view key, Time at) noexcept { observe(std::span(&key, 1), std::span(&at, 1)); }

void Hot::observe(std::span<const std::string_view> keys, std::span<const Time> times) noexcept {
  for (std::size_t begin = 0; begin < times.size();) {
    const auto rest = times.subspan(begin);
    const auto until = static_cast<std::size_t>(
        std::ranges::find_if(rest, [this](Time time) { return time > latest_; }) - rest.begin());
    count(keys.subspan(begin, until), rest.first(until));
    in_future_ += static_cast<std::uint64_t>(until != rest.size());
    begin += until + 1;
  }
}

void Hot::count(std::span<const std::string_view> keys, std::span<const Time> times) noexcept {
  note_times(times);
  const Hasher hasher = filter_.hasher();
  std::array<Digest, kBatchKeys> digests;
  for (std::size_t begin = 0; begin < keys.size(); begin += kBatchKeys) {
    const std::size_t count = std::min(kBatchKeys, keys.size() - begin);
    const auto hashed = std::span(digests).first(count);
    hasher(keys.subspan(begin, count), hashed);
    filter_.insert(hashed, keys.subspan(begin, count), times.subspan(begin, count));
  }
}

void Hot::note_times(std::span<const Time> times) noexcept {
  for (const Time time : times) {
    if (time >= newest_) {
      newest_ = time;
    } else if (newest_ - time > late_tolerance_) {
      ++beyond_tolerance_;
    }
  }
  now_ = std::max(now_, newest_);
}

void Hot::advance_to(Time now) noexcept {
  if (now > now_) {
    now_ = now;
    filter_.advance(tick_of(now, filter_.epoch()));
  }
}

DecayedCount Hot::estimate(std::string_view key) const noexcept { return filter_.estimate(filter_.hasher()(key)); }

Result<void> Hot::save() {
  return path_.empty() ? Result<void>{} : write_filter(path_, filter_, Existing::replace, &*lock_);
}

}  // namespace mankai
