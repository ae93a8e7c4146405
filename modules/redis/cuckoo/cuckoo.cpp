/// The CF.* commands: RedisBloom's contract of cuckoo filters, and a time to live for each item.
///
/// Times: see expiring.hpp. Replicas get the moment at which an item expires.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "modules/redis/cuckoo/value.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/family.hpp"
#include "modules/redis/engine/moment.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/image/expiring.hpp"
#include "modules/redis/image/move.hpp"
#include "modules/redis/image/reserve.hpp"
#include "modules/redis/image/work.hpp"

namespace mankai::redis {
namespace {

constexpr std::size_t kFirstItem = 2;
constexpr long long kMostBucketSize = 255;
constexpr long long kMostIterations = 65535;
constexpr const char* kReserveEvent = "cf.reserve";
constexpr const char* kAdvance = "CF.ADVANCE";
constexpr const char* kFull = "Filter is full";
constexpr const char* kNoKey = "Not found";
constexpr const char* kOneTime = "ERR syntax error: give one of EX, PX, EXAT and PXAT";
constexpr const char* kBadTtl = "ERR the time to live must be a whole number above 0, and its end in the future";

/// What the configs cf-* set. Threads: the engine's main thread.
struct Defaults {
  IntegerSetting bucket_size{.initial = 2, .least = 1, .most = kMostBucketSize};
  IntegerSetting capacity = capacity_setting(1024, 2);
  IntegerSetting max_iterations{.initial = 20, .least = 1, .most = kMostIterations};
  IntegerSetting expansion{.initial = 1, .least = 0, .most = kMaxExpansion};
  IntegerSetting max_expansions{.initial = 32, .least = 1, .most = 65536};
};
constinit Defaults defaults{};

int register_configs(Context* context) noexcept {
  const bool is_done = register_short_setting(context, "cf-bucket-size", defaults.bucket_size) == kOk &&
                       register_short_setting(context, "cf-initial-size", defaults.capacity) == kOk &&
                       register_short_setting(context, "cf-max-iterations", defaults.max_iterations) == kOk &&
                       register_short_setting(context, "cf-expansion-factor", defaults.expansion) == kOk &&
                       register_short_setting(context, "cf-max-expansions", defaults.max_expansions) == kOk;
  return is_done ? kOk : kError;
}

/// A power of 2 as the library grows by; 0: it does not grow.
std::uint32_t growth_of(std::uint32_t expansion) noexcept { return expansion == 0 ? 0 : std::bit_ceil(expansion); }

// Without a hash: drawing a seed is a system call, and most commands find their filter.
CuckooSettings default_settings() {
  return {.capacity_keys = static_cast<std::uint64_t>(defaults.capacity.value),
          .expansion = growth_of(static_cast<std::uint32_t>(defaults.expansion.value)),
          .bucket_size = static_cast<std::uint32_t>(defaults.bucket_size.value),
          .max_iterations = static_cast<std::uint32_t>(defaults.max_iterations.value),
          .hash = {}};
}

Result<void> read_capacity(const Call& call, std::size_t index, CuckooSettings& settings) {
  const auto capacity = call.integer(index);
  if (!capacity) {
    return refuse("Bad capacity");
  }
  settings.capacity_keys = static_cast<std::uint64_t>(*capacity);
  return *capacity >= 0 ? Result<void>() : refuse("Bad capacity");
}

// RedisBloom's limits, whatever our buckets hold.
Result<void> check_capacity(const CuckooSettings& settings, const char* least) {
  const bool is_possible = settings.capacity_keys >= 2 * std::uint64_t{settings.bucket_size} &&
                           settings.capacity_keys <= static_cast<std::uint64_t>(kMaxCapacity);
  return is_possible ? Result<void>()
                     : refuse("Capacity must be in the range [" + std::string(least) + ", 1073741824]");
}

/// Reads an option of RESERVE that is a whole number.
Result<std::uint32_t> read_whole(const Call& call, std::size_t index, const char* name, long long least,
                                 long long most) {
  const auto value = call.integer(index);
  if (!value) {
    return refuse("Couldn't parse " + std::string(name));
  }
  if (*value < least || *value > most) {
    return refuse(std::string(name) + ": value must be in the range [" + std::to_string(least) + ", " +
                  std::to_string(most) + "]");
  }
  return static_cast<std::uint32_t>(*value);
}

Result<void> read_option(const Call& call, std::size_t index, CuckooSettings& settings, HashRequest& hash) {
  if (HashRequest::is_option(call, index)) {
    return hash.read(call, index);
  }
  const std::size_t value = index + 1;
  if (value == call.size()) {
    return refuse(kUnknownArgument);
  }
  if (call.is(index, "BUCKETSIZE")) {
    MANKAI_ASSIGN(settings.bucket_size, read_whole(call, value, "BUCKETSIZE", 1, kMostBucketSize));
  } else if (call.is(index, "MAXITERATIONS")) {
    MANKAI_ASSIGN(settings.max_iterations, read_whole(call, value, "MAXITERATIONS", 1, kMostIterations));
  } else if (call.is(index, "EXPANSION")) {
    MANKAI_ASSIGN(const std::uint32_t expansion, read_whole(call, value, "EXPANSION", 0, kMaxExpansion));
    settings.expansion = growth_of(expansion);
  } else if (call.is(index, "ERROR")) {
    const auto fpr = call.real(value);
    if (!fpr || !(*fpr > 0 && *fpr < 1)) {
      return refuse("ERR error rate must be in the range (0.000000, 1.000000)");
    }
    settings.fpr = *fpr;
  } else if (call.is(index, "TTL")) {
    MANKAI_ASSIGN(settings.max_ttl, read_seconds(call, value, "TTL"));
  } else if (call.is(index, "RESOLUTION")) {
    MANKAI_ASSIGN(settings.ttl_resolution, read_seconds(call, value, "RESOLUTION"));
  } else {
    return refuse(kUnknownArgument);
  }
  return {};
}

void replicate_creation(const Call& call, const CuckooSettings& settings) {
  constexpr std::size_t kTextBytes = 32;
  std::array<char, kTextBytes> fpr;
  std::snprintf(fpr.data(), fpr.size(), "%.17g", settings.fpr);
  const HashText hash = hash_text(settings.hash);
  const SecondsText ttl = seconds_text(settings.max_ttl);
  const SecondsText resolution = seconds_text(Cuckoo::generation_for(settings.max_ttl, settings.ttl_resolution));
  // The last four arguments are of filters whose items expire: the format leaves them out for others.
  const char* format = settings.max_ttl == Duration::zero() ? "slclclclcccccc" : "slclclclcccccccccc";
  engine.replicate(call.context(), "CF.RESERVE", format, call.key(), static_cast<long long>(settings.capacity_keys),
                   "BUCKETSIZE", static_cast<long long>(settings.bucket_size), "MAXITERATIONS",
                   static_cast<long long>(settings.max_iterations), "EXPANSION",
                   static_cast<long long>(settings.expansion), "ERROR", fpr.data(), "HASH", hash.name.data(), "SEED",
                   hash.seed.data(), "TTL", ttl.data(), "RESOLUTION", resolution.data());
}

Answer cuckoo_reserve(Call& call) {
  CuckooSettings settings = default_settings();
  MANKAI_TRY(read_capacity(call, 2, settings));
  HashRequest hash;
  constexpr std::size_t kFirstOption = 3;
  for (std::size_t i = kFirstOption; i < call.size(); i += 2) {
    MANKAI_TRY(read_option(call, i, settings, hash));
  }
  settings.hash = hash.hash();
  MANKAI_TRY(check_capacity(settings, "2 * BUCKETSIZE"));
  return reserve<CuckooValue>(call, settings, kReserveEvent, replicate_creation);
}

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
  [[nodiscard]] Result<std::uint64_t> until(const Cuckoo& filter) {
    if (!at_) {
      return filter.latest_until();
    }
    if (const Moment stands = moment_after(start_of(filter.tick(), filter.epoch()));
        filter.has_time() && !is_absolute_ && stands > clock_now()) {
      at_ = *at_ + (stands - clock_now());
      is_absolute_ = true;
    }
    if (!filter.has_time()) {
      return refuse(kDoesNotExpire);
    }
    const auto until = filter.until_of(*at_);
    return until ? *until : Result<std::uint64_t>(refuse("ERR " + until.error().detail));
  }
  /// As PXAT tells it; 0: not told.
  [[nodiscard]] long long milliseconds() const noexcept {
    return at_ ? static_cast<long long>(at_->time_since_epoch().count()) : 0;
  }

 private:
  std::optional<Moment> at_;
  bool is_absolute_ = false;
};

/// What became of an item that was to be added.
enum class Outcome : std::uint8_t { out_of_memory, added, known, full };

struct Adding {
  std::span<String*> items;
  Expiry expiry;
  bool only_new = false;
  bool no_create = false;
};

std::string_view text_of(String* item) noexcept {
  std::size_t bytes = 0;
  const char* text = engine.string_ptr_len(item, &bytes);
  return {text, bytes};
}

Digest digest_of(const Cuckoo& filter, String* item) noexcept { return filter.hasher()(text_of(item)); }

Outcome add_one(Cuckoo& filter, Digest digest, std::uint64_t until, bool only_new) {
  if (only_new && filter.may_contain(digest)) {
    return Outcome::known;
  }
  return filter.try_insert_until(digest, until) ? Outcome::added : Outcome::full;
}

// In order. Where there is no memory for a sub-filter, that item and all behind it keep their first outcome.
void add_items(Cuckoo& filter, const Adding& adding, std::uint64_t until, std::span<Outcome> outcomes) noexcept {
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

// The sub-filters that each item is asked of, those included that the items may open.
std::uint64_t work_per_item(const Cuckoo& filter, const Adding& adding) noexcept {
  const std::uint64_t items = adding.items.size();
  const std::uint64_t newest = filter.slice(filter.slice_count() - 1).capacity_keys();
  const std::uint64_t opened = adding.only_new && filter.growth_factor() == 1 ? items / newest : 0;
  return filter.slice_count() + opened / 2;
}

// Whether so much has expired that an addition will hardly make the filter grow.
bool has_room_of_expired(const Cuckoo& filter) noexcept {
  constexpr double kRoomy = 0.9;
  return filter.has_time() && filter.fill_ratio() < kRoomy;
}

/// Adds items to the key's filter, which is made where there is none. Shape: outcomes[c], at first out_of_memory.
/// Errors: to be replied.
Result<void> add(const Call& call, Adding& adding, CuckooSettings settings, const char* event,
                 std::span<Outcome> outcomes) {
  std::vector<String*> some;
  some.reserve(outcomes.size() == 1 ? 0 : outcomes.size());
  MemoryLimit limit(call.context());
  CuckooLookup lookup(call, kRead | kWrite);
  lookup.limit(limit);
  const bool is_new = lookup.is_absent();
  if (is_new && adding.no_create) {
    return refuse(kNotFound);
  }
  if (is_too_much(call,
                  adding.items.size() *
                      (is_new || lookup.value() == nullptr ? 1 : work_per_item(lookup.value()->filter(), adding)))) {
    return refuse(kTooMuchWork);
  }
  if (is_new) {
    settings.hash = HashSpec::random();
    auto made = CuckooValue::create(settings);
    if (!made) {
      return std::unexpected(not_made(made.error()));
    }
    MANKAI_TRY(adding.expiry.until(made->filter()));
    lookup.set(std::make_unique<CuckooKey>(std::move(*made)));
    replicate_creation(call, settings);
  }
  MANKAI_TRY(lookup.must_be_whole());
  Cuckoo& filter = lookup.value()->filter();
  advance_to_clock(call, filter, kAdvance);
  if (!is_new && filter.expansions() + 1 >= static_cast<std::uint64_t>(defaults.max_expansions.value) &&
      !has_room_of_expired(filter) && call.is_from_client()) {
    return refuse("Maximum expansions reached");
  }
  MANKAI_ASSIGN(const std::uint64_t until, adding.expiry.until(filter));
  add_items(filter, adding, until, outcomes);
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
  return {};
}

Answer add_single(Call& call, bool only_new, const char* event) {
  constexpr std::size_t kOption = 3;
  constexpr std::size_t kSecondOption = 5;
  Adding adding{.items = call.arguments().subspan(kFirstItem, 1), .expiry = {}, .only_new = only_new};
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
  MANKAI_TRY(add(call, adding, default_settings(), event, std::span(&outcome, 1)));
  switch (outcome) {
    case Outcome::added: return call.truth(true);
    case Outcome::known: return call.truth(false);
    case Outcome::full: return refuse(kFull);
    case Outcome::out_of_memory: break;
  }
  return refuse(memory_error(kNoMemory));
}

Answer cuckoo_add(Call& call) { return add_single(call, false, "cf.add"); }
Answer cuckoo_addnx(Call& call) { return add_single(call, true, "cf.addnx"); }

/// The arguments of INSERT and INSERTNX.
struct Insertion {
  CuckooSettings settings;
  Adding adding;
};

Result<Insertion> read_insertion(const Call& call, bool only_new) {
  Insertion read{.settings = default_settings(), .adding = {.items = {}, .expiry = {}, .only_new = only_new}};
  for (std::size_t i = kFirstItem; i < call.size(); ++i) {
    if (call.is(i, "ITEMS")) {
      read.adding.items = call.arguments().subspan(i + 1);
      break;
    }
    if (call.is(i, "NOCREATE")) {
      read.adding.no_create = true;
    } else if (call.is(i, "CAPACITY") && i + 1 < call.size()) {
      MANKAI_TRY(read_capacity(call, ++i, read.settings));
      MANKAI_TRY(check_capacity(read.settings, "cf-bucket-size * 2"));
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
  MANKAI_TRY(add(call, read.adding, read.settings, event, outcomes));
  const bool has_numbers = only_new || !call.is_resp3();
  call.array(outcomes.size());
  for (const Outcome outcome : outcomes) {
    constexpr long long kFullNumber = -1;
    if (outcome == Outcome::out_of_memory) {
      call.error(memory_error(kNoMemory));
    } else if (has_numbers) {
      engine.reply_with_long_long(
          call.context(), outcome == Outcome::full ? kFullNumber : static_cast<long long>(outcome == Outcome::added));
    } else {
      call.truth(outcome == Outcome::added);
    }
  }
  return kOk;
}

Answer cuckoo_insert(Call& call) { return insert_many(call, false, "cf.insert"); }
Answer cuckoo_insertnx(Call& call) { return insert_many(call, true, "cf.insertnx"); }

/// Deletes items; each outcome says whether a unit was taken. Errors: to be replied.
Result<void> delete_items(const Call& call, std::span<bool> outcomes) {
  CuckooLookup lookup(call, kRead | kWrite);
  if (lookup.value() == nullptr) {
    return refuse(lookup.found() == nullptr ? kNoKey : kIncomplete);
  }
  Cuckoo& filter = lookup.value()->filter();
  if (auto can_erase = filter.check_erase(); !can_erase) {
    return refuse("ERR " + can_erase.error().detail);
  }
  if (is_too_much(call, outcomes.size() * filter.slice_count())) {
    return refuse(kTooMuchWork);
  }
  advance_to_clock(call, filter, kAdvance);
  bool is_changed = false;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const EraseResult result = filter.erase(digest_of(filter, call.arguments()[kFirstItem + i]));
    // One that has been added too often to know how often stays, and is answered as RedisBloom would.
    outcomes[i] = result != EraseResult::absent;
    lookup.value()->state().deleted += result == EraseResult::erased ? 1 : 0;
    is_changed = is_changed || result == EraseResult::erased;
  }
  // As RedisBloom, also where nothing was deleted.
  engine.replicate_verbatim(call.context());
  if (is_changed) {
    call.key_changed("cf.del");
  }
  return {};
}

Answer cuckoo_del(Call& call) {
  bool is_deleted = false;
  MANKAI_TRY(delete_items(call, std::span(&is_deleted, 1)));
  return call.truth(is_deleted);
}

Answer cuckoo_mdel(Call& call) {
  const KeyBatch batch(call, kFirstItem);
  MANKAI_TRY(delete_items(call, batch.answers()));
  return call.truths(batch.answers());
}

/// What a command asks of a key: its items, and which of them may be in. One that is absent, or of another type, has
/// none.
class Question {
 public:
  explicit Question(const Call& call) : batch_(call, kFirstItem), lookup_(call, kRead) {}

  /// Errors: to be replied.
  [[nodiscard]] Result<void> answer(const Call& call) {
    if (lookup_.value() == nullptr) {
      return lookup_.found() == nullptr ? Result<void>() : refuse(kIncomplete);
    }
    if (is_too_much(call, batch_.keys().size() * filter().slice_count())) {
      return refuse(kTooMuchWork);
    }
    ask(call, filter(), batch_.keys(), batch_.answers());
    return {};
  }

  [[nodiscard]] std::span<const bool> answers() const noexcept { return batch_.answers(); }
  /// The first item. Pre: it may be in.
  [[nodiscard]] Digest digest() const noexcept { return filter().hasher()(batch_.keys().front()); }
  /// Pre: an item may be in.
  [[nodiscard]] const Cuckoo& filter() const noexcept { return lookup_.value()->filter(); }

 private:
  KeyBatch batch_;
  CuckooLookup lookup_;
};

Answer cuckoo_exists(Call& call) {
  Question question(call);
  MANKAI_TRY(question.answer(call));
  return call.truth(question.answers().front());
}

Answer cuckoo_mexists(Call& call) {
  Question question(call);
  MANKAI_TRY(question.answer(call));
  return call.truths(question.answers());
}

Answer cuckoo_count(Call& call) {
  Question question(call);
  MANKAI_TRY(question.answer(call));
  return call.number(question.answers().front() ? question.filter().estimate(question.digest()).value : 0);
}

Answer cuckoo_ttl(Call& call) {
  constexpr long long kAbsent = -2;
  constexpr long long kForever = -1;
  Question question(call);
  MANKAI_TRY(question.answer(call));
  const bool is_in = question.answers().front();
  if (!is_in || !question.filter().has_time()) {
    return engine.reply_with_long_long(call.context(), is_in ? kForever : kAbsent);
  }
  const Duration left = *question.filter().expiry(question.digest()) - clock_now();
  return call.number(
      static_cast<std::uint64_t>(std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(left).count(), 0)));
}

Answer cuckoo_advance(Call& call) {
  CuckooLookup lookup(call, kRead | kWrite);
  MANKAI_TRY(lookup.must_be_whole());
  return advance(call, lookup.value()->filter());
}

Answer cuckoo_compact(Call& call) {
  CuckooLookup lookup(call, kRead | kWrite);
  if (lookup.value() == nullptr) {
    return refuse(lookup.found() == nullptr ? "Cuckoo filter was not found" : kIncomplete);
  }
  advance_to_clock(call, lookup.value()->filter(), kAdvance);
  lookup.value()->filter().compact();
  lookup.value()->state().deleted = 0;
  engine.replicate_verbatim(call.context());
  call.key_changed("cf.compact");
  return call.ok();
}

std::uint64_t buckets_of(const Cuckoo& filter) noexcept { return filter.cell_count() / cuckoo::kSlotsPerBucket; }

Answer cuckoo_info(Call& call) {
  const CuckooLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const Cuckoo& filter = lookup.value()->filter();
  const CuckooValue::State& state = lookup.value()->state();
  return reply_facts(call, {{"Size", lookup.found()->memory_bytes()},
                            {"Number of buckets", buckets_of(filter)},
                            {"Number of filters", filter.slice_count()},
                            {"Number of items inserted", filter.keys_inserted()},
                            {"Number of items deleted", state.deleted},
                            {"Bucket size", state.bucket_size},
                            {"Expansion rate", filter.growth_factor()},
                            {"Max iterations", state.max_iterations}});
}

Answer cuckoo_debug(Call& call) {
  const CuckooLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const Cuckoo& filter = lookup.value()->filter();
  const CuckooValue::State& state = lookup.value()->state();
  std::string text = "bktsize:" + std::to_string(state.bucket_size) + " buckets:" + std::to_string(buckets_of(filter)) +
                     " items:" + std::to_string(filter.keys_inserted()) + " deletes:" + std::to_string(state.deleted) +
                     " filters:" + std::to_string(filter.slice_count()) +
                     " max_iterations:" + std::to_string(state.max_iterations) +
                     " expansion:" + std::to_string(filter.growth_factor());
  return call.bytes(text);
}

constexpr CommandArgument whole(const char* name, const char* token) {
  return argument(name, ArgumentKind::integer, kArgumentOptional, token);
}
constexpr CommandArgument number(const char* name, const char* token) {
  return argument(name, ArgumentKind::real, kArgumentOptional, token);
}
constexpr std::array kExpiries = {argument("seconds", ArgumentKind::integer, 0, "EX"),
                                  argument("milliseconds", ArgumentKind::integer, 0, "PX"),
                                  argument("unix-time-seconds", ArgumentKind::unix_time, 0, "EXAT"),
                                  argument("unix-time-milliseconds", ArgumentKind::unix_time, 0, "PXAT"), kEnd};
constexpr CommandArgument kExpiry = group("expiration", ArgumentKind::one_of, kArgumentOptional, kExpiries.data());
constexpr CommandArgument kOneItem = argument("item", ArgumentKind::string);
constexpr std::array kKeyItem = {kKeyArgument, kOneItem, kEnd};
constexpr std::array kAddArguments = {kKeyArgument, kOneItem, kExpiry, kEnd};
constexpr std::array kInsertArguments = {kKeyArgument,
                                         whole("capacity", "CAPACITY"),
                                         option("nocreate", "NOCREATE"),
                                         kExpiry,
                                         argument("item", ArgumentKind::string, kArgumentMultiple, "ITEMS"),
                                         kEnd};
constexpr std::array kReserveArguments = {kKeyArgument,
                                          kCapacity,
                                          whole("bucketsize", "BUCKETSIZE"),
                                          whole("maxiterations", "MAXITERATIONS"),
                                          kExpansion,
                                          number("error_rate", "ERROR"),
                                          number("ttl", "TTL"),
                                          number("resolution", "RESOLUTION"),
                                          kHash,
                                          kSeed,
                                          kEnd};
constexpr std::array kAdvanceArguments = {kKeyArgument, argument("milliseconds", ArgumentKind::unix_time), kEnd};
constexpr const char* kBatch = "O(N * F), N items in F sub-filters";
constexpr const char* kSingle = "O(F), F sub-filters";

constexpr std::array kCommands = {
    command<-3, cuckoo_reserve>("cf.reserve", "write deny-oom fast",
                                "Creates an empty cuckoo filter for a number of items", "O(1)", kCreates,
                                kReserveArguments),
    command<-3, cuckoo_add>("cf.add", "write deny-oom fast",
                            "Adds an item to a cuckoo filter, and creates it if it is absent", kSingle, kInserts,
                            kAddArguments),
    command<-3, cuckoo_addnx>("cf.addnx", "write deny-oom fast", "Adds an item to a cuckoo filter unless it is found",
                              kSingle, kInserts, kAddArguments),
    command<-4, cuckoo_insert>("cf.insert", "write deny-oom fast",
                               "Adds items to a cuckoo filter, and creates it if it is absent", kBatch, kInserts,
                               kInsertArguments),
    command<-4, cuckoo_insertnx>("cf.insertnx", "write deny-oom fast",
                                 "Adds those items to a cuckoo filter that are not found", kBatch, kInserts,
                                 kInsertArguments),
    command<3, cuckoo_exists>("cf.exists", "readonly fast", "Returns whether an item may be in a cuckoo filter",
                              kSingle, kReads, kKeyItem),
    command<-3, cuckoo_mexists>("cf.mexists", "readonly fast", "Returns which items may be in a cuckoo filter", kBatch,
                                kReads, kKeyItems),
    command<3, cuckoo_del>("cf.del", "write fast", "Deletes an item from a cuckoo filter, once", kSingle, kDeletes,
                           kKeyItem),
    command<-3, cuckoo_mdel>("cf.mdel", "write fast", "Deletes items from a cuckoo filter, each once", kBatch, kDeletes,
                             kKeyItems),
    command<3, cuckoo_count>("cf.count", "readonly fast", "Returns how often an item may be in a cuckoo filter",
                             kSingle, kReads, kKeyItem),
    command<3, cuckoo_ttl>("cf.ttl", "readonly fast", "Returns for how many seconds an item is found at most", kSingle,
                           kReads, kKeyItem),
    command<3, cuckoo_advance>("cf.advance", "write", "Lets time pass in a cuckoo filter whose items expire",
                               "O(N), N slots", kUpdates, kAdvanceArguments),
    command<2, cuckoo_compact>("cf.compact", "write", "Moves items to older sub-filters and drops empty ones",
                               "O(N), N slots", kUpdates, kKeyOnly),
    command<2, cuckoo_info>("cf.info", "readonly fast", "Returns facts about a cuckoo filter", kSingle, kReads,
                            kKeyOnly),
    command<2, cuckoo_debug>("cf.debug", "readonly fast", "Returns facts about a cuckoo filter as a line of text",
                             kSingle, kReads, kKeyOnly),
    scandump<CuckooValue>("cf.scandump"),
    loadchunk<CuckooValue>(),
};

}  // namespace

MANKAI_DEFINE_FAMILY(cuckoo) = {.name = "cf",
                                .category = "cuckoo",
                                .type = kTypeOf<CuckooKey>,
                                .commands = kCommands,
                                .register_settings = register_configs};

}  // namespace mankai::redis
