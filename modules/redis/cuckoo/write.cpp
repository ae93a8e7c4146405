#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mankai/base/ascii.hpp"
#include "modules/redis/cuckoo/commands.hpp"
#include "modules/redis/cuckoo/settings.hpp"
#include "modules/redis/engine/moment.hpp"
#include "modules/redis/image/expiring.hpp"
#include "modules/redis/image/reserve.hpp"
#include "modules/redis/image/work.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kReserveEvent = "cf.reserve";
constexpr const char* kAdvance = "CF.ADVANCE";
constexpr const char* kFull = "Filter is full";
constexpr const char* kNoKey = "Not found";
constexpr const char* kMostExpansions = "Maximum expansions reached";
constexpr const char* kOneTime = "ERR syntax error: give one of EX, PX, EXAT and PXAT";
constexpr std::uint64_t kNoLimitOfWork = std::numeric_limits<std::uint64_t>::max();
constexpr const char* kBadTtl = "ERR the time to live must be a whole number above 0, and its end in the future";

/// When the items of a command expire: EX s | PX ms | EXAT s | PXAT ms; nothing: as late as the filter has it.
class Expiry {
 public:
  [[nodiscard]] static bool is_option(const Call& call, std::size_t index) noexcept {
    return call.is(index, "EX") || call.is(index, "PX") || call.is(index, "EXAT") || call.is(index, "PXAT");
  }
  /// Errors: to be replied.
  Result<void> read(const Call& call, std::size_t index) {
    if (at_) {
      return refuse(kOneTime);
    }
    const long long value = index + 1 < call.size() ? call.integer(index + 1).value_or(0) : 0;
    constexpr long long kMost = kLongestDuration.count() / 1000;
    const bool is_seconds = call.is(index, "EX") || call.is(index, "EXAT");
    if (value <= 0 || value > (is_seconds ? kMost / 1000 : kMost)) {
      return refuse(kBadTtl);
    }
    const std::chrono::milliseconds span(is_seconds ? value * 1000 : value);
    is_absolute_ = call.is(index, "EXAT") || call.is(index, "PXAT");
    at_ = is_absolute_ ? Moment(span) : clock_now() + span;
    return call.is_from_client() && *at_ <= clock_now() ? refuse(kBadTtl) : Result<void>();
  }
  /// The generation until which items live; a time from now on counts from the filter's time if that is later. Errors:
  /// to be replied.
  [[nodiscard]] Result<std::uint64_t> until(const CuckooValue& value) {
    if (!at_) {
      return value.own() != nullptr ? value.own()->latest_until() : 0;
    }
    const Cuckoo* filter = value.expiring();
    if (filter == nullptr) {
      return refuse(kDoesNotExpire);
    }
    if (const Moment stands = moment_after(start_of(filter->tick(), filter->epoch()));
        !is_absolute_ && stands > clock_now()) {
      at_ = *at_ + (stands - clock_now());
      is_absolute_ = true;
    }
    const auto until = filter->until_of(*at_);
    return until ? *until : Result<std::uint64_t>(refuse("ERR " + until.error().detail));
  }
  /// The value of PXAT; 0: no expiry was given.
  [[nodiscard]] long long milliseconds() const noexcept {
    return at_ ? static_cast<long long>(at_->time_since_epoch().count()) : 0;
  }

 private:
  std::optional<Moment> at_;
  bool is_absolute_ = false;
};

/// What became of an item that was to be added.
enum class Outcome : std::uint8_t { out_of_memory, added, known, full, too_much };

struct Adding {
  std::span<String*> items;
  Expiry expiry;
  bool only_new = false;
  bool no_create = false;
};

Digest digest_of(const Cuckoo& filter, String* item) noexcept { return filter.hasher()(text_of(item)); }

Outcome add_one(Cuckoo& filter, Digest digest, std::uint64_t until, bool only_new) {
  if (only_new && filter.may_contain(digest)) {
    return Outcome::known;
  }
  return filter.try_insert_until(digest, until) ? Outcome::added : Outcome::full;
}

// In order. Where there is no memory for a sub-filter, that item and all behind it keep their first outcome.
void add_items(const Call& call, Cuckoo& filter, const Adding& adding, std::uint64_t until,
               std::span<Outcome> outcomes) noexcept {
  if (!call.is_from_client()) {
    filter.expect_room();
  }
  try {
    if (outcomes.size() == 1) {
      outcomes[0] = add_one(filter, digest_of(filter, adding.items[0]), until, adding.only_new);
      return;
    }
    constexpr std::size_t kWindow = 256;
    constexpr std::size_t kAhead = 16;  // a line is fetched so many items before it is used
    std::array<std::string_view, kWindow> texts;
    std::array<Digest, kWindow> digests;
    const Hasher hasher = filter.hasher();
    for (std::size_t start = 0; start < outcomes.size(); start += kWindow) {
      const std::size_t count = std::min(kWindow, outcomes.size() - start);
      std::ranges::transform(adding.items.subspan(start, count), texts.begin(), text_of);
      hasher(std::span<const std::string_view>(texts).first(count), std::span(digests).first(count));
      for (std::size_t i = 0; i < count + kAhead; ++i) {
        if (i < count) {
          filter.prefetch(digests[i]);
        }
        if (i >= kAhead) {
          outcomes[start + i - kAhead] = add_one(filter, digests[i - kAhead], until, adding.only_new);
        }
      }
    }
  } catch (const std::bad_alloc&) {
    return;
  }
}

// Not prefetched: what an item moves decides where the next one goes. The hash is public: of items chosen to collide
// every few open a sub-filter, so the work is also counted as it is done.
void add_items(CuckooValue& value, const Adding& adding, std::uint64_t most_work,
               std::span<Outcome> outcomes) noexcept {
  takeover::CuckooChain& filter = *value.redisbloom();
  std::uint64_t work = 0;
  try {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      work += value.work_per_item();
      if (work > most_work) {
        std::ranges::fill(outcomes.subspan(i), Outcome::too_much);
        return;
      }
      const std::string_view item = text_of(adding.items[i]);
      const auto added = adding.only_new ? filter.add_nx(item) : filter.add(item);
      if (!added) {
        return;
      }
      switch (*added) {
        case takeover::CuckooAdded::added: outcomes[i] = Outcome::added; break;
        case takeover::CuckooAdded::found: outcomes[i] = Outcome::known; break;
        case takeover::CuckooAdded::full: outcomes[i] = Outcome::full; break;
      }
    }
  } catch (const std::bad_alloc&) {
    return;
  }
}

// Replicas get the items that were added.
void replicate_added(const Call& call, const Adding& adding, std::span<String*> added) {
  // CF.ADD key item and CF.INSERT key ITEMS item …: the same command again costs no copy of it.
  constexpr std::size_t kMostWords = 3;
  const bool has_options = call.size() > adding.items.size() + kMostWords;
  if (added.size() == adding.items.size() && !has_options && !adding.only_new) {
    engine.replicate_verbatim(call.context());
  } else if (const long long at = adding.expiry.milliseconds(); at == 0) {
    engine.replicate(call.context(), "CF.INSERT", "scv", call.key(), "ITEMS", added.data(), added.size());
  } else {
    engine.replicate(call.context(), "CF.INSERT", "sclcv", call.key(), "PXAT", at, "ITEMS", added.data(), added.size());
  }
}

// Whether so much has expired that an addition will hardly make the filter grow.
bool has_room_of_expired(const Cuckoo& filter) noexcept {
  constexpr double kRoomy = 0.95;  // of the capacity: a small filter grows before most of its slots are taken
  return filter.has_time() &&
         static_cast<double>(filter.taken_slots()) < kRoomy * static_cast<double>(filter.capacity_keys());
}

// Includes the sub-filters that the items may open.
std::uint64_t work_of(const CuckooValue& value, const Adding& adding, bool is_new) noexcept {
  const std::uint64_t items = adding.items.size();
  if (value.redisbloom() != nullptr) {
    const takeover::CuckooShape& shape = value.redisbloom()->shape();
    return value.work_of_adding(items, shape.expansion == 1 ? items / shape.cells_of(shape.filters - 1) : 0);
  }
  const Cuckoo& filter = *value.own();
  const std::uint64_t newest = filter.slice(filter.slice_count() - 1).capacity_keys();
  const bool may_open = !is_new && adding.only_new && filter.growth_factor() == 1;
  return value.work_of_adding(items, may_open ? items / newest : 0);
}

// Whether the filter takes no items any more: checked once per command. RedisBloom also checks filters that the command
// creates, and then its primaries replicate the creation.
bool has_reached_limit(const Call& call, const CuckooValue& value, bool is_new) noexcept {
  const std::uint64_t most = most_cuckoo_filters();
  if (const auto* chain = value.redisbloom(); chain != nullptr) {
    return chain->has_reached(most) && (is_new || call.is_from_client());
  }
  const Cuckoo& filter = *value.own();
  return !is_new && filter.expansions() + 1 >= most && !has_room_of_expired(filter) && call.is_from_client();
}

void advance_if_expiring(const Call& call, CuckooValue& value) {
  if (value.expiring() != nullptr) {
    advance_to_clock(call, *value.expiring(), kAdvance);
  }
}

// Makes all cells present of a filter that is loaded in chunks, before they are moved: all or none, so that a repeated
// command gets no further. Errors: to be replied.
Result<void> make_whole(const CuckooLookup& lookup, MemoryLimit& limit) {
  takeover::CuckooChain* chain = lookup.value()->redisbloom();
  if (chain == nullptr) {
    return {};
  }
  limit.set_growing(lookup.found()->memory_bytes());
  const std::uint64_t absent = chain->absent_bytes();
  return absent == 0 || (limit.would_grant(absent) && chain->make_whole()) ? Result<void>()
                                                                           : refuse(memory_error(kNoMemory));
}

// The limit ends before a compaction, which without memory for its bookkeeping takes a time in the square of the
// sub-filters.
Result<void> make_whole(const Call& call, const CuckooLookup& lookup) {
  MemoryLimit limit(call.context());
  return make_whole(lookup, limit);
}

// Errors: to be replied.
Result<std::unique_ptr<CuckooKey>> create_filter(const Call& call, Adding& adding, CuckooSettings& settings) {
  settings.layout = layout_of_new_value(call);
  if (settings.layout == Layout::mankai) {
    settings.hash = random_hash();
  }
  auto made = CuckooValue::create(settings);
  if (!made) {
    return std::unexpected(not_made(made.error()));
  }
  if (is_too_much(call, work_of(*made, adding, true))) {
    return refuse(kTooMuchWork);
  }
  MANKAI_TRY(adding.expiry.until(*made));
  return std::make_unique<CuckooKey>(std::move(*made));
}

/// Adds items to the key's filter, which is made where there is none. Shape: outcomes[c], at first out_of_memory.
/// Errors: to be replied.
Result<void> add(const Call& call, MemoryLimit& limit, Adding& adding, CuckooSettings settings, const char* event,
                 std::span<Outcome> outcomes) {
  std::vector<String*> some;
  some.reserve(outcomes.size() == 1 ? 0 : outcomes.size());
  CuckooLookup lookup(call, kRead | kWrite);
  lookup.limit(limit);
  const bool is_new = lookup.is_absent();
  if (is_new) {
    if (adding.no_create) {
      return refuse(kNotFound);
    }
    MANKAI_ASSIGN(auto created, create_filter(call, adding, settings));
    replicate_creation(call, settings, *created->value());
    lookup.set(std::move(created));
  }
  MANKAI_TRY(lookup.must_be_whole());
  CuckooValue& value = *lookup.value();
  if (!is_new && is_too_much(call, work_of(value, adding, false))) {
    return refuse(kTooMuchWork);
  }
  MANKAI_TRY(is_new ? Result<void>() : make_whole(lookup, limit));
  advance_if_expiring(call, value);
  const bool has_no_room = has_reached_limit(call, value, is_new);
  if (has_no_room && !is_new) {
    return refuse(kMostExpansions);
  }
  MANKAI_ASSIGN(const std::uint64_t until, adding.expiry.until(value));
  if (has_no_room) {
    std::ranges::fill(outcomes, Outcome::full);
  } else if (value.redisbloom() != nullptr) {
    // Twice what has been estimated, for sub-filters that are opened before they are full.
    add_items(value, adding, call.is_from_client() ? 2 * kMostWork : kNoLimitOfWork, outcomes);
  } else {
    add_items(call, *value.own(), adding, until, outcomes);
  }
  std::span<String*> added = adding.items;
  if (std::ranges::count(outcomes, Outcome::added) != std::ssize(outcomes)) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i] == Outcome::added) {
        some.push_back(adding.items[i]);
      }
    }
    added = some;
  }
  if (!added.empty()) {
    replicate_added(call, adding, added);
  }
  if (is_new) {
    call.key_changed(kReserveEvent);
  }
  if (!added.empty()) {
    call.key_changed(event);
  }
  return has_no_room && call.is_from_client() ? refuse(kMostExpansions) : Result<void>();
}

Answer add_single(Call& call, bool only_new, const char* event) {
  constexpr std::size_t kOption = 3;
  constexpr std::size_t kSecondOption = 5;
  Adding adding{.items = call.arguments().subspan(kFirstCuckooItem, 1), .expiry = {}, .only_new = only_new};
  for (std::size_t i = kOption; i < call.size(); i += 2) {
    if (i + 1 == call.size() || (i == kSecondOption && !Expiry::is_option(call, i))) {
      return call.wrong_arity();
    }
    if (!Expiry::is_option(call, i)) {
      return refuse(kUnknownArgument);
    }
    MANKAI_TRY(adding.expiry.read(call, i));
  }
  Outcome outcome = Outcome::out_of_memory;
  MemoryLimit limit(call.context());
  MANKAI_TRY(add(call, limit, adding, default_cuckoo_settings(), event, std::span(&outcome, 1)));
  switch (outcome) {
    case Outcome::added: return call.truth(true);
    case Outcome::known: return call.truth(false);
    case Outcome::full:
      // A primary's command must not fail.
      return call.is_from_client() ? refuse(kFull) : Answer(call.truth(false));
    case Outcome::too_much: return refuse(kTooMuchWork);
    case Outcome::out_of_memory: break;
  }
  return refuse(memory_error(kNoMemory));
}

/// The arguments of INSERT and INSERTNX.
struct Insertion {
  CuckooSettings settings;
  Adding adding;
};

// RedisBloom compares first letters only, and a primary repeats its clients' spelling.
bool is_word(const Call& call, std::size_t index, std::string_view word) noexcept {
  const std::string_view text = call.text(index);
  return equal_words(text, word) || (!text.empty() && lower(text[0]) == lower(word[0]) && !call.is_from_client());
}

Result<Insertion> read_insertion(const Call& call, bool only_new) {
  Insertion read{.settings = default_cuckoo_settings(), .adding = {.items = {}, .expiry = {}, .only_new = only_new}};
  for (std::size_t i = kFirstCuckooItem; i < call.size(); ++i) {
    if (is_word(call, i, "ITEMS")) {
      read.adding.items = call.arguments().subspan(i + 1);
      break;
    }
    if (is_word(call, i, "NOCREATE")) {
      read.adding.no_create = true;
    } else if (is_word(call, i, "CAPACITY") && i + 1 < call.size()) {
      MANKAI_TRY(read_cuckoo_capacity(call, ++i, read.settings));
    } else if (Expiry::is_option(call, i)) {
      MANKAI_TRY(read.adding.expiry.read(call, i++));
    } else {
      return refuse(kUnknownArgument);
    }
  }
  return read;
}

Answer insert_many(Call& call, bool only_new, const char* event) {
  MANKAI_ASSIGN(Insertion read, read_insertion(call, only_new));
  if (read.adding.items.empty()) {
    return call.wrong_arity();
  }
  std::vector<Outcome> outcomes(read.adding.items.size(), Outcome::out_of_memory);
  MemoryLimit limit(call.context());
  MANKAI_TRY(add(call, limit, read.adding, read.settings, event, outcomes));
  const bool has_numbers = only_new || !call.is_resp3();
  call.array(outcomes.size());
  for (const Outcome outcome : outcomes) {
    constexpr long long kFullNumber = -1;
    if (outcome == Outcome::out_of_memory) {
      call.error(memory_error(kNoMemory));
    } else if (outcome == Outcome::too_much) {
      call.error(kTooMuchWork);
    } else if (has_numbers) {
      engine.reply_with_long_long(
          call.context(), outcome == Outcome::full ? kFullNumber : static_cast<long long>(outcome == Outcome::added));
    } else {
      call.truth(outcome == Outcome::added);
    }
  }
  return kOk;
}

// As RedisBloom, also where nothing was deleted; it has no CF.MDEL.
void replicate_deleted(const Call& call, const CuckooValue& value, std::span<const bool> outcomes) noexcept {
  if (value.own() != nullptr || outcomes.size() == 1) {
    engine.replicate_verbatim(call.context());
    return;
  }
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i]) {
      engine.replicate(call.context(), "CF.DEL", "ss", call.key(), call.arguments()[kFirstCuckooItem + i]);
    }
  }
}

/// Deletes items; each outcome says whether a unit was taken. Errors: to be replied.
Result<void> delete_items(const Call& call, std::span<bool> outcomes) {
  CuckooLookup lookup(call, kRead | kWrite);
  if (lookup.value() == nullptr) {
    return refuse(lookup.found() == nullptr ? kNoKey : kIncomplete);
  }
  CuckooValue& value = *lookup.value();
  if (value.own() != nullptr) {
    if (auto can_erase = value.own()->check_erase(); !can_erase) {
      return refuse("ERR " + can_erase.error().detail);
    }
  }
  if (is_too_much(call, value.work_of_deleting(outcomes.size()))) {
    return refuse(kTooMuchWork);
  }
  MANKAI_TRY(make_whole(call, lookup));
  advance_if_expiring(call, value);
  bool is_changed = false;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const EraseResult result = value.erase(call.text(kFirstCuckooItem + i));
    // One that has been added too often to know how often stays, and is answered as RedisBloom would.
    outcomes[i] = result != EraseResult::absent;
    is_changed = is_changed || result == EraseResult::erased;
  }
  replicate_deleted(call, value, outcomes);
  if (is_changed) {
    call.key_changed("cf.del");
  }
  return {};
}

}  // namespace

Answer cuckoo_reserve(Call& call) {
  MANKAI_ASSIGN(const auto settings, read_cuckoo_settings(call));
  return reserve<CuckooValue>(call, settings, kReserveEvent, replicate_creation);
}

Answer cuckoo_add(Call& call) { return add_single(call, false, "cf.add"); }
Answer cuckoo_addnx(Call& call) { return add_single(call, true, "cf.addnx"); }

Answer cuckoo_insert(Call& call) { return insert_many(call, false, "cf.insert"); }
Answer cuckoo_insertnx(Call& call) { return insert_many(call, true, "cf.insertnx"); }

Answer cuckoo_del(Call& call) {
  bool is_deleted = false;
  MANKAI_TRY(delete_items(call, std::span(&is_deleted, 1)));
  return call.truth(is_deleted);
}

Answer cuckoo_mdel(Call& call) {
  const KeyBatch batch(call, kFirstCuckooItem);
  MANKAI_TRY(delete_items(call, batch.answers()));
  return call.truths(batch.answers());
}

Answer cuckoo_advance(Call& call) {
  CuckooLookup lookup(call, kRead | kWrite);
  MANKAI_TRY(lookup.must_be_whole());
  return lookup.value()->expiring() != nullptr ? advance(call, *lookup.value()->expiring()) : refuse(kDoesNotExpire);
}

Answer cuckoo_compact(Call& call) {
  CuckooLookup lookup(call, kRead | kWrite);
  if (lookup.value() == nullptr) {
    return refuse(lookup.found() == nullptr ? "Cuckoo filter was not found" : kIncomplete);
  }
  MANKAI_TRY(make_whole(call, lookup));
  advance_if_expiring(call, *lookup.value());
  lookup.value()->compact();
  engine.replicate_verbatim(call.context());
  call.key_changed("cf.compact");
  return call.ok();
}

}  // namespace mankai::redis
