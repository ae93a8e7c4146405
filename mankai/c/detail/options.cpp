#include "mankai/c/detail/options.hpp"

#include <string>
#include <utility>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/filter/spec.hpp"

namespace mankai::c {
namespace {

Result<Durability> durability_of(std::uint32_t asked) {
  switch (asked) {
    case MANKAI_DURABILITY_ALWAYS: return Durability::always;
    case MANKAI_DURABILITY_DEFAULT:
    case MANKAI_DURABILITY_INTERVAL: return Durability::interval;
    case MANKAI_DURABILITY_NEVER: return Durability::never;
    default: return fail(ErrorCode::invalid_argument, "there is no durability " + std::to_string(asked));
  }
}

}  // namespace

Result<Duration> duration_of(std::uint64_t microseconds, const char* what) {
  if (microseconds > static_cast<std::uint64_t>(kLongestDuration.count())) {
    return fail(ErrorCode::invalid_argument, std::string(what) + " is more than 1000 years");
  }
  return Duration(static_cast<std::int64_t>(microseconds));
}

Result<std::optional<Duration>> duration_if_set(std::uint64_t microseconds, const char* what) {
  MANKAI_ASSIGN(const Duration duration, duration_of(microseconds, what));
  return if_set(duration);
}

Result<FileRequest> request_of(const mankai_file_options* given) {
  MANKAI_ASSIGN(const auto known, read_sized(given));
  constexpr std::uint32_t kPermissionBits = 0777;
  if (known.mode > kPermissionBits) {
    return fail(ErrorCode::invalid_argument, "the options' mode has more than permissions: give one up to 0777");
  }
  if (known.sharing != MANKAI_SHARING_ONE_WRITER) {
    return fail(ErrorCode::invalid_argument, "processes can share only what mankai_seen_open opens; use that function");
  }
  MANKAI_ASSIGN(const auto durability, durability_of(known.durability));
  MANKAI_ASSIGN(const auto interval, duration_of(known.interval_us, "the interval"));
  MANKAI_ASSIGN(const auto checkpoint_interval,
                duration_of(known.checkpoint_interval_us, "the interval of checkpoints"));
  FileRequest request;
  request.existing = known.replace != 0 ? Existing::replace : Existing::refuse;
  request.options.durability = durability;
  if (interval != Duration::zero()) {
    request.options.interval = interval;
  }
  request.options.checkpoint_bytes = known.checkpoint_bytes;
  request.options.checkpoint_interval = checkpoint_interval;
  request.options.mode = known.mode != 0 ? FileMode(known.mode) : std::nullopt;
  request.options.trust = known.trust_cells != 0 ? Trust::fast : Trust::checked;
  return request;
}

Result<StoreOptions> options_to_open(const mankai_file_options* given) {
  MANKAI_ASSIGN(const auto request, request_of(given));
  if (request.existing == Existing::replace) {
    return fail(ErrorCode::invalid_argument, "this function never replaces a file: set the options' replace to 0");
  }
  return request.options;
}

Result<Sharing> take_sharing(mankai_file_options& options) {
  switch (std::exchange(options.sharing, MANKAI_SHARING_ONE_WRITER)) {
    case MANKAI_SHARING_ONE_WRITER: return Sharing::none;
    case MANKAI_SHARING_PROCESSES: return Sharing::processes;
    default: return fail(ErrorCode::invalid_argument, "the options' sharing is not a mankai_sharing");
  }
}

Result<std::optional<HashKind>> hash_of_name(const char* name) {
  if (name == nullptr) {
    return std::nullopt;
  }
  MANKAI_ASSIGN(const auto hash, parse_hash(name));
  return hash;
}

Result<std::optional<std::array<std::uint64_t, 2>>> seed_of_text(const char* text) {
  if (text == nullptr) {
    return std::nullopt;
  }
  MANKAI_ASSIGN(const auto seed, parse_seed(text));
  return seed;
}

Result<std::optional<bool>> choice_of(std::uint32_t choice, const char* field) {
  if (choice > MANKAI_NO) {
    return fail(ErrorCode::invalid_argument, std::string(field) + " is neither MANKAI_YES nor MANKAI_NO nor 0");
  }
  return choice == MANKAI_ANY ? std::nullopt : std::optional(choice == MANKAI_YES);
}

}  // namespace mankai::c
