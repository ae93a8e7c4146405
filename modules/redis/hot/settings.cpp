#include "modules/redis/hot/settings.hpp"

#include <chrono>
#include <string_view>
#include <utility>

#include "mankai/base/duration.hpp"

namespace mankai::redis {
namespace {

// The defaults of the command `mankai hot`.
constexpr Duration kDefaultHalfLife = std::chrono::hours(1);
constexpr std::uint64_t kDefaultBytes = std::uint64_t{256} << 10;
constexpr std::int64_t kEpochsPerHalfLife = 64;
constexpr double kDefaultFpr = 0.01;

// hot_reserve prepends ERR.
std::unexpected<Error> wrong(std::string why) { return fail(ErrorCode::invalid_argument, std::move(why)); }

Result<void> without_code(Result<void> read) {
  return read ? read : wrong(read.error().detail.substr(std::string_view("ERR ").size()));
}

Result<void> read_time(const Call& call, std::size_t index, std::optional<Duration>& time) {
  MANKAI_ASSIGN(const auto duration, parse_duration(call.text(index)));
  time = duration;
  return {};
}

Result<void> read_count(const Call& call, std::size_t index, const char* why, std::optional<std::uint64_t>& count) {
  const auto value = call.integer(index);
  if (!value || *value < 1) {
    return wrong(why);
  }
  count = static_cast<std::uint64_t>(*value);
  return {};
}

Result<void> read_share(const Call& call, std::size_t index, const char* why, std::optional<double>& share) {
  const auto value = call.real(index);
  if (!value || !(*value > 0 && *value < 1)) {
    return wrong(why);
  }
  share = value;
  return {};
}

}  // namespace

Result<void> HotRequest::read_option(const Call& call, std::size_t index) {
  if (HashRequest::is_option(call, index)) {
    return without_code(hash_.read(call, index));
  }
  const std::size_t value = index + 1;
  if (call.is(index, "HALFLIFE")) {
    return read_time(call, value, half_life_);
  }
  if (call.is(index, "EPOCH")) {
    return read_time(call, value, epoch_);
  }
  if (call.is(index, "WINDOW")) {
    return read_time(call, value, window_);
  }
  if (call.is(index, "LAMBDA")) {
    return read_share(call, value, "lambda must lie between 0 and 1, both excluded", lambda_);
  }
  if (call.is(index, "MEMORY")) {
    return read_count(call, value, "bad memory: give a number of bytes", bytes_);
  }
  if (call.is(index, "CAPACITY")) {
    return read_count(call, value, "bad capacity: give a number of items", capacity_keys_);
  }
  if (call.is(index, "ERROR")) {
    return read_share(call, value, "error rate must lie between 0 and 1, both excluded", fpr_);
  }
  if (call.is(index, "ROUNDING")) {
    if (!call.is(value, "STRICT") && !call.is(value, "BALANCED")) {
      return wrong("bad rounding: STRICT and BALANCED are known");
    }
    rounding_ = call.is(value, "STRICT") ? CountRounding::strict : CountRounding::balanced;
    return {};
  }
  return wrong(
      "unknown argument: HALFLIFE, LAMBDA, EPOCH, WINDOW, MEMORY, CAPACITY, ERROR, ROUNDING, HASH and SEED are known");
}

Result<void> HotRequest::read(const Call& call, std::size_t first) {
  for (std::size_t i = first; i < call.size(); i += 2) {
    if (i + 1 == call.size()) {
      return wrong("the last argument is unknown or has no value");
    }
    MANKAI_TRY(without_code(must_be_once(call, first, i)));
    MANKAI_TRY(read_option(call, i));
  }
  return {};
}

Result<Decay> HotRequest::decay() const {
  if (lambda_) {
    if (half_life_) {
      return wrong("HALFLIFE and LAMBDA cannot be combined");
    }
    return epoch_ ? Decay::of(*lambda_, *epoch_) : wrong("LAMBDA needs EPOCH: how often counts are multiplied by it");
  }
  const Duration half_life = half_life_.value_or(kDefaultHalfLife);
  if (epoch_ && *epoch_ > half_life / kEpochsPerHalfLife) {
    return wrong("an epoch of " + to_text(*epoch_) + " is too long for a half-life of " + to_text(half_life) +
                 ": give " + to_text(half_life / kEpochsPerHalfLife) +
                 " at most, or leave it out; LAMBDA with EPOCH takes any");
  }
  return Decay::of_half_life(half_life, epoch_.value_or(Duration::zero()));
}

Result<HotSettings> HotRequest::settings() const {
  if (bytes_ && (capacity_keys_ || fpr_)) {
    return wrong("MEMORY cannot be combined with CAPACITY and ERROR");
  }
  if (fpr_ && !capacity_keys_) {
    return wrong("ERROR needs CAPACITY: of how many items");
  }
  if (window_ && (half_life_ || lambda_ || epoch_)) {
    return wrong("WINDOW cannot be combined with HALFLIFE, LAMBDA and EPOCH: counts of a window do not decay");
  }
  MANKAI_ASSIGN(const auto decay, this->decay());
  return HotSettings{.decay = decay,
                     .window = window_.value_or(Duration()),
                     .bytes = capacity_keys_ ? 0 : bytes_.value_or(kDefaultBytes),
                     .capacity_keys = capacity_keys_.value_or(0),
                     .fpr = fpr_.value_or(kDefaultFpr),
                     .rounding = rounding_,
                     .hash = hash_.hash()};
}

void replicate_creation(const Call& call, const HotSettings& settings) {
  static constinit RepeatedCommand reserve("HOT.RESERVE");
  reserve.begin();
  if (settings.window != Duration()) {
    reserve.add("WINDOW").add(to_text(settings.window));
  } else {  // exact: a multiple of 2^-32 is a double
    reserve.add("LAMBDA").add(settings.decay.lambda()).add("EPOCH").add(to_text(settings.decay.epoch));
  }
  if (settings.bytes != 0) {
    reserve.add("MEMORY").add(static_cast<long long>(settings.bytes));
  } else {
    reserve.add("CAPACITY").add(static_cast<long long>(settings.capacity_keys)).add("ERROR").add(settings.fpr);
  }
  reserve.add("ROUNDING").add(name(settings.rounding)).add(settings.hash).replicate(call);
}

}  // namespace mankai::redis
