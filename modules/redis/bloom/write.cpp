#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/base/ascii.hpp"
#include "modules/redis/bloom/commands.hpp"
#include "modules/redis/bloom/settings.hpp"
#include "modules/redis/image/expiring.hpp"
#include "modules/redis/image/reserve.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kFull = "ERR non scaling filter is full";
constexpr const char* kAddFailed = "ERR problem inserting into filter";
constexpr const char* kReserveEvent = "bf.reserve";

constexpr std::size_t kFirstOption = 4;  // of BF.RESERVE

Error not_created(const Error& error) {
  const bool is_memory = error.code == ErrorCode::out_of_space;
  return refuse(is_memory ? memory_error("ERR Insufficient memory to create filter") : "ERR could not create filter")
      .error();
}

const char* stop_error(const BloomValue& value, AddStop stop) noexcept {
  if (stop == AddStop::full) {
    return value.is_nonscaling() ? kFull : kAddFailed;
  }
  return memory_error(kAddFailed);
}

void advance_if_expiring(const Call& call, BloomValue& value) {
  if (value.expiring() != nullptr) {
    advance_to_clock(call, *value.expiring(), "BF.ADVANCE");
  }
}

/// Keys to be added.
struct AddRequest {
  const BloomRequest& filter;  ///< what to make when there is none
  bool may_create;
  bool has_single_reply;
  std::size_t first;  ///< argument
};

// Replicas get what was done: the whole command, or as many of its keys as found room. A replica of RedisBloom's, which
// a filter in its layout may have, takes fewer words.
void replicate_add(const Call& call, const AddRequest& request, const AddReport& report, bool is_foreign) noexcept {
  if (report.stop == AddStop::none && !is_foreign) {
    engine.replicate_verbatim(call.context());
    return;
  }
  const auto keys = call.arguments().subspan(request.first, report.done);
  engine.replicate(call.context(), "BF.MADD", "sv", call.key(), keys.data(), keys.size());
}

// A primary's command must not fail: RedisBloom replicates the additions that a full filter refused, too.
int reply_add(const Call& call, const AddRequest& request, const AddReport& report, std::span<const bool> fresh,
              const char* error) noexcept {
  const bool is_cut = report.stop != AddStop::none;
  if (request.has_single_reply && !is_cut) {
    return call.truth(fresh[0]);
  }
  if (!call.is_from_client()) {
    return call.ok();
  }
  if (request.has_single_reply) {
    return call.error(error);
  }
  engine.reply_with_array(call.context(), static_cast<long>(report.done + (is_cut ? 1 : 0)));
  for (const bool is_new : fresh.first(report.done)) {
    engine.reply_with_bool(call.context(), static_cast<int>(is_new));
  }
  return is_cut ? call.error(error) : kOk;
}

bool is_too_much_to_add(const Call& call, const BloomValue& value, std::size_t items) {
  return items > 1 && is_too_much(call, work_of_adding(value.work_shape(), items));  // one item is never too much
}

// Apart from `add_keys`, which would clear room for the settings in every call.
[[gnu::noinline]] Result<std::unique_ptr<BloomKey>> create_for(const Call& call, const AddRequest& request,
                                                               std::size_t items) {
  MANKAI_ASSIGN(const auto settings, request.filter.settings(call));
  auto created = BloomKey::create_new(settings);
  if (!created) {
    return std::unexpected(not_created(created.error()));
  }
  if (is_too_much_to_add(call, *(*created)->value(), items)) {
    return refuse(kTooMuchWork);
  }
  replicate_creation(call, settings, *(*created)->value());
  return created;
}

Answer add_keys(const Call& call, const AddRequest& request) {
  const KeyBatch batch(call, request.first);
  const EarlyHash early(call.text(1), batch.keys());
  MemoryLimit limit(call.context());
  BloomLookup lookup(call, kRead | kWrite);
  lookup.limit(limit);
  MANKAI_TRY(request.may_create ? lookup.may_be_absent() : lookup.must_be_whole());
  const std::span<bool> fresh = batch.answers();

  std::unique_ptr<BloomKey> created;
  if (lookup.is_absent()) {
    MANKAI_ASSIGN(created, create_for(call, request, batch.keys().size()));
  } else if (is_too_much_to_add(call, *lookup.value(), batch.keys().size())) {
    return refuse(kTooMuchWork);
  }
  BloomValue& value = created != nullptr ? *created->value() : *lookup.value();
  if (created == nullptr && value.foreign_format()) {
    limit.set_growing(lookup.found()->memory_bytes());
  }
  advance_if_expiring(call, value);
  if (!call.is_from_client() && value.expiring() != nullptr) {
    value.expiring()->expect_room();
  }
  const AddReport report = value.add(batch.keys(), fresh, early);

  const bool has_changed =
      value.counts_repeats() ? report.done > 0 : std::ranges::count(fresh.first(report.done), true) > 0;
  const bool is_foreign = value.foreign_format().has_value();
  const char* error = stop_error(value, report.stop);
  const bool is_created = created != nullptr;
  if (is_created) {
    lookup.set(std::move(created));
  }
  fit_key(lookup);  // `value` may be elsewhere now
  if (is_created) {
    call.key_changed(kReserveEvent);
  }
  if (has_changed) {
    replicate_add(call, request, report, is_foreign);
    call.key_changed("bf.add");
  }
  return reply_add(call, request, report, fresh, error);
}

/// Reads the options of BF.RESERVE after its capacity.
class ReserveOptions {
 public:
  /// Errors: to be replied.
  Result<void> read(const Call& call, BloomRequest& request) {
    for (std::size_t i = kFirstOption; i < call.size();) {
      MANKAI_TRY(must_be_once(call, kFirstOption, i));
      MANKAI_TRY(read_one(call, i, request));
    }
    return has_growth_ && is_nonscaling_ ? refuse("Nonscaling filters cannot expand") : Result<void>();
  }

 private:
  Result<void> read_one(const Call& call, std::size_t& i, BloomRequest& request) {
    if (call.is(i, "NONSCALING")) {
      request.set_nonscaling();
      is_nonscaling_ = true;
      ++i;
      return {};
    }
    if (call.is(i, "DELETABLE")) {
      request.set_deletable();
      ++i;
      return {};
    }
    const std::size_t option = std::exchange(i, i + 2);
    if (HashRequest::is_option(call, option)) {
      return request.read_hash(call, option);
    }
    if (BloomRequest::is_ttl_option(call, option)) {
      return request.read_ttl(call, option);
    }
    if (call.is(option, "BOUND")) {
      return request.read_bound(call, option);
    }
    return call.is(option, "EXPANSION") ? read_expansion(call, option + 1, request) : refuse(kUnknownArgument);
  }
  Result<void> read_expansion(const Call& call, std::size_t index, BloomRequest& request) {
    if (index == call.size()) {
      return refuse("ERR no expansion");
    }
    if (request.read_expansion(call, index)) {
      has_growth_ = call.integer(index) != 0;
      return {};
    }
    return refuse(call.integer(index) ? "ERR expansion must be in the range [0, 32768]" : "ERR bad expansion");
  }

  bool has_growth_ = false;
  bool is_nonscaling_ = false;
};

// The contract allows at most seven words; our own options do not count.
bool has_reserve_arity(const Call& call) noexcept {
  constexpr std::size_t kLeast = 4;
  constexpr std::size_t kMost = 7;
  std::size_t words = call.size();
  for (std::size_t i = kLeast; i < call.size() && words > kMost; ++i) {
    if (call.is(i, "DELETABLE")) {
      words -= 1;
    } else if (HashRequest::is_option(call, i) || BloomRequest::is_ttl_option(call, i) || call.is(i, "BOUND")) {
      words -= 2;
    }
  }
  return words >= kLeast && words <= kMost;
}

// Errors: to be replied.
Result<BloomSettings> read_reserve(const Call& call) {
  BloomRequest request;
  if (!request.read_fpr(call, 2)) {
    return refuse(call.real(2) ? "ERR error rate must be in the range (0.000000, 1.000000)" : "ERR bad error rate");
  }
  if (!request.read_capacity(call, 3)) {
    return refuse(call.integer(3) ? "ERR capacity must be in the range [1, 1073741824]" : "ERR bad capacity");
  }
  MANKAI_TRY(ReserveOptions().read(call, request));
  return request.settings(call);
}

// Reads BF.RESERVE as RedisBloom does: options are found anywhere, even in place of the key, and other words ignored.
Result<BloomSettings> read_replayed_reserve(const Call& call) {
  BloomRequest request;
  bool is_valid = request.read_fpr(call, 2) && request.read_capacity(call, 3);
  for (std::size_t i = 1; i < call.size(); ++i) {
    if (call.is(i, "NONSCALING")) {
      request.set_nonscaling();
    } else if (call.is(i, "EXPANSION") && i + 1 < call.size()) {
      is_valid = request.read_expansion(call, i + 1) && is_valid;
    }
  }
  return is_valid ? request.settings(call) : refuse(kUnknownArgument);
}

/// Reads BF.INSERT's options up to ITEMS.
class InsertOptions {
 public:
  /// Errors: to be replied. `first_key()` is 0 when there are no keys.
  Result<void> read(const Call& call, BloomRequest& request) {
    for (std::size_t i = 2; i < call.size(); ++i) {
      if (call.is(i, "ITEMS")) {
        first_key_ = i + 1 < call.size() ? i + 1 : 0;
        return {};
      }
      if (call.is(i, "NOCREATE")) {
        may_create_ = false;
      } else if (call.is(i, "NONSCALING")) {
        request.set_nonscaling();
      } else if (call.is(i, "DELETABLE")) {
        request.set_deletable();
      } else {
        MANKAI_TRY(read_value(call, i++, request));
      }
    }
    return {};
  }

  /// Reads what RedisBloom and valkey-bloom replicate. RedisBloom tells words by their first letters, and does not use
  /// the values for a filter that exists: invalid ones only prevent a creation.
  Result<void> read_replayed(const Call& call, BloomRequest& request) {
    bool is_rate_valid = true;
    bool is_capacity_valid = true;
    bool is_expansion_valid = true;
    bool is_other_valid = true;
    const auto finish = [&] {
      may_create_ = may_create_ && is_rate_valid && is_capacity_valid && is_expansion_valid && is_other_valid;
      return Result<void>();
    };
    for (std::size_t i = 2; i < call.size(); ++i) {
      const std::string_view word = call.text(i);
      const std::size_t value = std::min(i + 1, call.size() - 1);
      switch (letter(word, 0)) {
        case 'i': first_key_ = i + 1 < call.size() ? i + 1 : 0; return finish();
        case 'n': letter(word, 2) == 'c' ? static_cast<void>(may_create_ = false) : request.set_nonscaling(); continue;
        case 'e':
          if (letter(word, 1) == 'r') {
            is_rate_valid = request.read_fpr(call, value);
          } else {
            is_expansion_valid = request.read_expansion(call, value);
          }
          break;
        case 'c': is_capacity_valid = request.read_capacity(call, value); break;
        case 't': is_other_valid = request.read_tightening(call, value) && is_other_valid; break;
        case 's': is_other_valid = request.read_valkey_seed(call, value) && is_other_valid; break;
        case 'v': break;  // VALIDATESCALETO: the primary has checked it
        default: return refuse(kUnknownArgument);
      }
      ++i;
    }
    return finish();
  }

  [[nodiscard]] bool may_create() const noexcept { return may_create_; }
  [[nodiscard]] std::size_t first_key() const noexcept { return first_key_; }

 private:
  static char letter(std::string_view word, std::size_t index) noexcept {
    return index < word.size() ? lower(word[index]) : '\0';
  }
  static Result<void> read_value(const Call& call, std::size_t i, BloomRequest& request) {
    const bool has_value = i + 1 < call.size();
    if (call.is(i, "ERROR")) {
      return !has_value || request.read_fpr(call, i + 1) ? Result<void>() : refuse("Bad error rate");
    }
    if (call.is(i, "CAPACITY")) {
      return !has_value || request.read_capacity(call, i + 1) ? Result<void>() : refuse("Bad capacity");
    }
    if (BloomRequest::is_ttl_option(call, i)) {
      MANKAI_TRY(must_be_once(call, 2, i));
      return request.read_ttl(call, i);
    }
    if (call.is(i, "EXPANSION")) {
      return !has_value || request.read_expansion(call, i + 1) ? Result<void>() : refuse("Bad expansion");
    }
    return refuse(kUnknownArgument);
  }

  bool may_create_ = true;
  std::size_t first_key_ = 0;
};

}  // namespace

Answer bloom_reserve(Call& call) {
  const bool is_foreign = is_reserve_of_redisbloom(call, kFirstOption);
  if (!is_foreign && !has_reserve_arity(call)) {
    return call.wrong_arity();
  }
  MANKAI_ASSIGN(const auto settings, is_foreign ? read_replayed_reserve(call) : read_reserve(call));
  return reserve<BloomValue>(call, settings, kReserveEvent, replicate_creation, not_created);
}

Answer bloom_add(Call& call) {
  return add_keys(call, {.filter = BloomRequest(), .may_create = true, .has_single_reply = true, .first = 2});
}

Answer bloom_madd(Call& call) {
  return add_keys(call, {.filter = BloomRequest(), .may_create = true, .has_single_reply = false, .first = 2});
}

Answer bloom_insert(Call& call) {
  BloomRequest request;
  InsertOptions options;
  if (const auto read = options.read(call, request); !read) {
    if (call.is_from_client()) {
      return std::unexpected(read.error());
    }
    request = {};
    options = {};
    MANKAI_TRY(options.read_replayed(call, request));
  }
  // valkey-bloom's primaries create filters without items.
  if (options.first_key() == 0 && call.is_from_client()) {
    return call.wrong_arity();
  }
  return add_keys(call, {.filter = request,
                         .may_create = options.may_create(),
                         .has_single_reply = false,
                         .first = options.first_key() != 0 ? options.first_key() : call.size()});
}

Answer bloom_rem(Call& call) {
  const BloomLookup lookup(call, kRead | kWrite);
  const KeyBatch batch(call, 2);
  if (lookup.is_absent()) {
    return call.truths(batch.answers());  // an absent filter is empty
  }
  MANKAI_TRY(lookup.must_be_whole());
  if (!lookup.value()->is_deletable()) {
    return refuse("ERR nothing can be removed from this filter: reserve one with DELETABLE");
  }
  if (is_too_much(call, batch.keys().size() * lookup.value()->work_shape().per_item)) {
    return refuse(kTooMuchWork);
  }
  std::vector<String*> gone;
  gone.reserve(batch.keys().size());  // allocations come before changes
  advance_if_expiring(call, *lookup.value());
  const std::span<bool> removed = batch.answers();
  lookup.value()->remove(batch.keys(), removed);
  for (std::size_t i = 0; i < removed.size(); ++i) {
    if (removed[i]) {
      gone.push_back(call.arguments()[2 + i]);
    }
  }
  if (!gone.empty()) {
    engine.replicate(call.context(), "BF.REM", "sv", call.key(), gone.data(), gone.size());
    call.key_changed("bf.rem");
  }
  return call.truths(removed);
}

Answer bloom_advance(Call& call) {
  BloomLookup lookup(call, kRead | kWrite);
  MANKAI_TRY(lookup.must_be_whole());
  return lookup.value()->expiring() != nullptr ? advance(call, *lookup.value()->expiring()) : refuse(kDoesNotExpire);
}

}  // namespace mankai::redis
