#include "apps/mankai/store_options.hpp"

#include <fmt/format.h>

#include "apps/mankai/output.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/base/number.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/spec.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai::command {
namespace {

constexpr std::string_view kIntervalIs = "interval=";
/// No disk syncs faster.
constexpr Duration kShortestInterval = std::chrono::milliseconds(1);

Result<StoreRequest::Policy> parse_interval(std::string_view text) {
  MANKAI_ASSIGN(const auto interval, parse_duration(text));
  if (interval < kShortestInterval) {
    return fail(ErrorCode::invalid_argument, "an interval of " + std::string(text) + " is too short; give " +
                                                 to_text(kShortestInterval) + " at least, or always");
  }
  return StoreRequest::Policy{.durability = Durability::interval, .interval = interval};
}

Result<StoreRequest::Policy> parse_policy(std::string_view text) {
  if (text.starts_with(kIntervalIs)) {
    return parse_interval(text.substr(kIntervalIs.size()));
  }
  if (text == "always") {
    return StoreRequest::Policy{.durability = Durability::always};
  }
  if (text == "interval") {
    return StoreRequest::Policy{.durability = Durability::interval};
  }
  if (text == "never") {
    return StoreRequest::Policy{.durability = Durability::never};
  }
  return fail(ErrorCode::invalid_argument,
              "'" + std::string(text) +
                  "' is not a policy; give always, interval, interval=TIME such as interval=100ms, or never");
}

Result<FileMode> parse_mode(std::string_view text) {
  constexpr unsigned kMostBits = 0777;
  constexpr unsigned kOwnersBits = 0600;
  constexpr int kOctal = 8;
  const unsigned mode = to_number<unsigned>(text, kOctal).value_or(0);
  if (mode > kMostBits || (mode & kOwnersBits) != kOwnersBits) {
    return fail(ErrorCode::invalid_argument,
                "'" + std::string(text) +
                    "' is not valid; give octal permissions that let the owner read and write, such as 0640");
  }
  return FileMode(mode);
}

Result<std::string> parse_position(std::string_view text) {
  if (text.empty()) {
    return fail(ErrorCode::invalid_argument, "is empty; give the position of the source");
  }
  const auto position = SourcePosition::of(text);
  return position ? Result<std::string>(std::string(text)) : std::unexpected(position.error());
}

}  // namespace

Options filter_options(FilterOptions& options, const std::string& keys_default, const std::string& fpr_default,
                       bool (*fits)(const KindDescription&)) {
  Option kind =
      parsed_option("--kind", "KIND", "Kind of filter. `mankai plan` compares them.", parse_kind, options.kind);
  kind.kind = ValueKind::choice;
  for (const KindDescription* each : kinds()) {
    if (fits(*each)) {
      kind.help += fmt::format("\n- {}: {}", each->name, each->summary);
      kind.choices.emplace_back(each->name);
    }
  }
  return {std::move(kind),
          parsed_option("--keys", "N",
                        "Number of distinct keys to size the filter for, such as 1000000, 1e6 or 10M" + keys_default,
                        at_least_one(parse_count), options.keys),
          parsed_option("--fpr", "RATE", "False-positive rate at that number of keys, such as 0.01 or 1%" + fpr_default,
                        parse_rate, options.fpr),
          hash_options(options)};
}

Options hash_options(FilterOptions& options) {
  Option hash = parsed_option("--hash", "HASH",
                              "Hash function: nh-siphash, keyed, so that keys that collide cannot be chosen without "
                              "the file; xxh3, a little faster, for trusted keys only; aes4-prf, keyed, for processors "
                              "with AES instructions; siphash, keyed and slower; or murmur3, for filters of other "
                              "programs [default: nh-siphash].",
                              parse_hash, options.hash);
  hash.kind = ValueKind::choice;
  for (const HashKind known : kHashKinds) {
    hash.choices.emplace_back(name(known));
  }
  return {std::move(hash), parsed_option("--seed", "SEED",
                                         "Seed of the hash: a 64-bit number, 32 bits for murmur3, or 32 hexadecimal "
                                         "digits for keyed hashes [default: drawn at random].",
                                         parse_seed, options.seed)};
}

Result<Time> parse_moment(std::string_view text) {
  return text == "now" ? Result<Time>(clock_now()) : parse_time(text);
}

Time clock_now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

Option at_option(std::string help, std::optional<Time>& target) {
  return parsed_option("--at", "TIME",
                       std::move(help) + " Format: 2026-03-28T12:00:00Z, 2026-03-28, seconds since 1970, or now.",
                       parse_moment, target);
}

Result<void> check_not_in_past(const AnyFilter& filter, Time time) {
  const auto reached = filter.time();
  if (!reached || time >= *reached) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("--at {0} is before {1}, the time of the filter, and time cannot go back; give {1} or later",
                          format_time(time), format_time(*reached)));
}

Result<void> advance_to_now(Store& store, std::optional<Time> time) {
  if (time) {
    MANKAI_TRY(check_not_in_past(store.filter(), *time));
    return store.advance(*time);
  }
  const auto reached = store.filter().time();
  if (!reached) {
    return {};
  }
  if (clock_now() < *reached) {
    say("warning: the filter's time is " + format_time(*reached) + ", in the future; the keys are added at that time");
    return {};
  }
  return store.advance(clock_now());
}

StoreOptions StoreRequest::options() const {
  const Policy asked = policy.value_or(Policy{});
  return {.durability = asked.durability, .interval = asked.interval, .mode = mode};
}

Option durability_option(StoreRequest& request, const std::string& what) {
  Option option = parsed_option(
      "--durability", "POLICY",
      "When " + what +
          " survive a power loss: always, at once; interval, within a second, or interval=TIME; never, at the end or "
          "when the system writes it. A process crash loses nothing under any policy [default: interval].",
      parse_policy, request.policy);
  option.kind = ValueKind::choice;
  option.choices = {"always", "interval", "never"};
  return option;
}

Option mode_option(FileMode& mode) {
  return parsed_option(
      "--mode", "OCTAL",
      "Permissions of the new file, such as 0640 [default: 0600 less the umask, or those of the replaced file]. The "
      "file contains the key of the hash: give access only to those who may know it.",
      parse_mode, mode);
}

Option position_option(StoreRequest& request, const std::string& what) {
  return parsed_option("--position", "TEXT",
                       "Make " + what +
                           " one batch, all or nothing, and store TEXT with it, at most 64 bytes: the position of the "
                           "source after the batch. mankai info prints it.",
                       parse_position, request.position);
}

Result<void> check_store_request(const StoreRequest& request) {
  if (request.policy && !request.position.empty()) {
    return fail(ErrorCode::invalid_argument,
                "--position and --durability cannot be combined: the batch is on disk at the end");
  }
  return {};
}

}  // namespace mankai::command
