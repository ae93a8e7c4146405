/// The TOPK.* commands: RedisBloom's contract of the items with the highest counts.

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "mankai/base/duration.hpp"
#include "mankai/base/number.hpp"
#include "modules/redis/engine/family.hpp"
#include "modules/redis/engine/layout.hpp"
#include "modules/redis/engine/moment.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/image/move.hpp"
#include "modules/redis/image/work.hpp"
#include "modules/redis/topk/any.hpp"

namespace mankai::redis {
namespace {

using TopKey = ImageKey<AnyTopList>;
using TopLookup = Lookup<TopKey>;

constexpr std::size_t kFirstItem = 2;
constexpr std::size_t kWindow = 64;  // items that are hashed at a time
// With a line break of their source.
constexpr const char* kBadIncrement =
    "TopK: increment must be an integer greater or equal to 0                            "
    "and smaller or equal to 100,000";

Result<void> must_exist(const TopLookup& lookup) {
  return lookup.is_absent() ? refuse("TopK: key does not exist") : lookup.must_be_whole();
}

// Nothing for a wrong one.
std::optional<std::uint32_t> increment_at(const Call& call, std::size_t index) noexcept {
  const long long value = call.integer(index).value_or(-1);
  return value >= 0 && value <= TopList::kMostIncrement ? std::optional(static_cast<std::uint32_t>(value))
                                                        : std::nullopt;
}

// An item takes a pass over the list at worst. In a list of RedisBloom it is hashed and counted in each row, where each
// unit of its increment may be drawn. Items are at every `step` arguments from `first` on, and between them increments.
Result<void> must_be_short(const Call& call, const AnyTopList& list, std::size_t first, std::size_t step) {
  constexpr std::uint64_t kDrawsPerUnit = 2;
  std::uint64_t work = (call.size() - first) / step * (1 + std::uint64_t{list.most()});
  if (list.theirs() != nullptr) {
    std::uint64_t drawn = 0;
    for (std::size_t i = first + 1; step == 2 && i < call.size(); i += step) {
      drawn += increment_at(call, i).value_or(0);
    }
    work = add_saturating(work, multiply_saturating(weighed_items(call, first, step) + drawn / kDrawsPerUnit,
                                                    std::uint64_t{list.settings().depth}));
  }
  return is_too_much(call, work)
             ? refuse("ERR too many items in one command for a list of this length; send fewer items per command")
             : Result<void>();
}

Result<std::uint32_t> read_dimension(const Call& call, std::size_t index, const char* wrong) {
  const long long value = call.integer(index).value_or(0);
  if (value < 1 || value > std::numeric_limits<std::uint32_t>::max()) {
    return refuse(wrong);
  }
  return static_cast<std::uint32_t>(value);
}

bool is_option(const Call& call, std::size_t index) noexcept {
  return call.is(index, "HALFLIFE") || HashRequest::is_option(call, index);
}

// The index of the first option. 0: not key k [width depth decay] [option value …].
std::size_t options_of(const Call& call) noexcept {
  constexpr std::size_t kAfterItems = 3;
  constexpr std::size_t kAfterShape = 6;
  const std::size_t first = call.size() == kAfterItems || is_option(call, kAfterItems) ? kAfterItems : kAfterShape;
  bool is_valid = call.size() >= first && (call.size() - first) % 2 == 0;
  for (std::size_t i = first; is_valid && i < call.size(); i += 2) {
    is_valid = is_option(call, i);
  }
  return is_valid ? first : 0;
}

Result<Duration> read_half_life(const Call& call, std::size_t index) {
  const auto half_life = parse_duration(call.text(index));
  if (!half_life || *half_life < TopList::kLeastHalfLife) {
    return refuse("ERR bad half-life: give a duration such as 3600, 90s or 7d, of 64ms to 1000 years");
  }
  return *half_life;
}

/// What a list is created with.
struct TopkSettings : TopSettings {
  Layout layout{};
};

Result<TopkSettings> read_settings(const Call& call, std::size_t options) {
  TopkSettings settings;
  MANKAI_ASSIGN(settings.most, read_dimension(call, 2, "TopK: invalid k"));
  if (std::size_t i = 3; i < options) {
    MANKAI_ASSIGN(settings.width, read_dimension(call, i++, "TopK: invalid width"));
    MANKAI_ASSIGN(settings.depth, read_dimension(call, i++, "TopK: invalid depth"));
    settings.decay = call.real(i).value_or(0);
    if (!(settings.decay > 0 && settings.decay <= 1)) {
      return refuse("TopK: invalid decay value. must be '<= 1' & '> 0'");
    }
  }
  HashRequest hash;
  for (std::size_t i = options; i < call.size(); i += 2) {
    MANKAI_TRY(must_be_once(call, options, i));
    if (HashRequest::is_option(call, i)) {
      MANKAI_TRY(hash.read(call, i));
    } else {
      MANKAI_ASSIGN(settings.half_life, read_half_life(call, i + 1));
    }
  }
  const bool has_own_options = hash.is_given() || settings.half_life != Duration::zero();
  settings.layout = has_own_options ? Layout::mankai : layout_of_new_value(call);
  const bool is_ours = settings.layout == Layout::mankai;
  if (settings.most > TopList::kMostListed && (is_ours || call.is_from_client())) {
    return refuse("ERR k must be in the range [1, 16777215]");
  }
  if (is_ours) {
    settings.hash = hash.hash();
  }
  return settings;
}

// Without a hash, replicas make RedisBloom's layout.
void replicate_creation(const Call& call, const TopkSettings& settings) {
  if (settings.layout != Layout::mankai) {
    engine.replicate_verbatim(call.context());
    return;
  }
  static constinit RepeatedCommand reserve("TOPK.RESERVE");
  reserve.begin();
  for (const std::uint32_t number : {settings.most, settings.width, settings.depth}) {
    reserve.add(static_cast<long long>(number));
  }
  reserve.add(settings.decay).add(settings.hash);
  if (settings.half_life != Duration::zero()) {
    reserve.add("HALFLIFE").add(to_text(settings.half_life));
  }
  reserve.replicate(call);
}

Result<AnyTopList> create_list(const TopkSettings& settings) {
  using takeover::HeavyKeeper;
  return settings.layout == Layout::mankai
             ? value_of<AnyTopList>(TopList::create(settings))
             : value_of<AnyTopList>(HeavyKeeper::create(
                   {.most = settings.most, .width = settings.width, .depth = settings.depth, .decay = settings.decay},
                   engine_memory()));
}

Answer topk_reserve(Call& call) {
  const std::size_t options = options_of(call);
  if (options == 0) {
    return call.wrong_arity();
  }
  MemoryLimit limit(call.context());
  TopLookup lookup(call, kRead | kWrite);
  if (!lookup.is_absent()) {
    return refuse("TopK: key already exists");
  }
  MANKAI_ASSIGN(const auto settings, read_settings(call, options));
  lookup.limit(limit);
  auto made = create_list(settings);
  if (!made) {
    const bool is_memory = made.error().code == ErrorCode::out_of_space;
    return refuse(is_memory ? memory_error("ERR Insufficient memory to create topk data structure")
                            : "ERR " + made.error().message());
  }
  lookup.set(std::make_unique<TopKey>(std::move(*made)));
  replicate_creation(call, settings);
  call.key_changed("topk.reserve");
  return call.ok();
}

// Replicates what was counted: as it was sent, or for a list whose counts decay as INCRBYAT. `pairs` has room.
void replicate(const Call& call, std::span<String*> counted, std::size_t step, std::optional<Moment> at,
               std::vector<String*>& pairs) {
  if (!at && counted.size() + kFirstItem == call.size()) {
    engine.replicate_verbatim(call.context());
    return;
  }
  if (!at) {
    engine.replicate(call.context(), step == 1 ? "TOPK.ADD" : "TOPK.INCRBY", "sv", call.key(), counted.data(),
                     counted.size());
    return;
  }
  String* const one = engine.create_string(nullptr, "1", 1);
  for (std::size_t i = 0; i < counted.size(); i += step) {
    pairs.push_back(counted[i]);
    pairs.push_back(step == 1 ? one : counted[i + 1]);
  }
  engine.replicate(call.context(), "TOPK.INCRBYAT", "slv", call.key(),
                   static_cast<long long>(at->time_since_epoch().count()), pairs.data(), pairs.size());
  engine.free_string(nullptr, one);
}

/// Counts items one after the other, up to the first that is refused.
class Counting {
 public:
  /// The default time is now, or the newest event's if that is later: a clock that was set back must not make events
  /// late. Without a half-life there is none.
  Counting(AnyTopList& list, std::optional<Moment> at) : list_(list) {
    if (list.decays()) {
      at_ = at ? *at : std::max(clock_now(), moment_after(list.newest()));
    }
  }
  [[nodiscard]] std::optional<Moment> at() const noexcept { return at_; }
  [[nodiscard]] std::size_t done() const noexcept { return done_; }
  [[nodiscard]] bool is_changed() const noexcept { return is_changed_; }

  /// Replies with the expelled item, or with the error of the first item that was refused.
  int count(const Call& call, Digest digest, std::string_view item, std::optional<std::uint32_t> increment) {
    if (refused_ == nullptr && !increment) {
      refused_ = kBadIncrement;
    }
    if (refused_ != nullptr) {
      return reply_refused(call);
    }
    const auto reply = [&call](std::optional<std::string_view> expelled) {
      expelled ? call.bytes(*expelled) : engine.reply_with_null(call.context());
    };
    const auto added = list_.add(digest, item, *increment, at_.value_or(Moment{}), reply);
    if (!added) {
      refused_ = memory_error(kNoMemory);
      return reply_refused(call);
    }
    is_changed_ |= *added;
    ++done_;
    return kOk;
  }

 private:
  // Primaries of RedisBloom send invalid increments, too, which must not be errors.
  [[nodiscard]] int reply_refused(const Call& call) const noexcept {
    const bool is_error = call.is_from_client() || refused_ != kBadIncrement;
    return is_error ? call.error(refused_) : engine.reply_with_null(call.context());
  }

  AnyTopList& list_;
  std::optional<Moment> at_;
  const char* refused_ = nullptr;
  std::size_t done_ = 0;
  bool is_changed_ = false;
};

// Whether the limit has room for all items, which a list of RedisBloom has in memory that is not of `engine_memory()`.
bool has_room(const Call& call, const TopLookup& lookup, MemoryLimit& limit) noexcept {
  if (lookup.value()->theirs() == nullptr) {
    return true;
  }
  std::uint64_t bytes = lookup.found()->memory_bytes();
  for (std::size_t i = kFirstItem; i < call.size(); ++i) {
    bytes += call.text(i).size();
  }
  return limit.has_room(bytes);
}

// Counts the items from argument `first` on; every `step` arguments there is one, followed by its increment if that is
// 2.
Answer count_items(const Call& call, std::size_t first, std::size_t step, std::optional<Moment> at = std::nullopt) {
  MemoryLimit limit(call.context());
  const TopLookup lookup(call, kRead | kWrite);
  MANKAI_TRY(must_exist(lookup));
  AnyTopList& list = *lookup.value();
  const std::size_t all = (call.size() - first) / step;
  MANKAI_TRY(must_be_short(call, list, first, step));
  lookup.limit(limit);
  if (!has_room(call, lookup, limit)) {
    return refuse(memory_error(kNoMemory));
  }
  Counting counting(list, at);
  std::vector<String*> pairs;
  pairs.reserve(counting.at() ? 2 * all : 0);
  call.array(all);
  std::array<std::string_view, kWindow> texts;
  std::array<Digest, kWindow> digests;
  for (std::size_t start = 0; start < all; start += kWindow) {
    const auto items = std::span(texts).first(std::min(kWindow, all - start));
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i] = call.text(first + (start + i) * step);
    }
    list.prefetch(items, digests);
    for (std::size_t i = 0; i < items.size(); ++i) {
      counting.count(call, digests[i], items[i], step == 1 ? 1 : increment_at(call, first + (start + i) * step + 1));
    }
  }
  if (counting.is_changed()) {
    replicate(call, call.arguments().subspan(first, counting.done() * step), step, counting.at(), pairs);
    call.key_changed("topk.incrby");
  }
  return kOk;
}

Answer topk_add(Call& call) { return count_items(call, kFirstItem, 1); }

Answer topk_incrby(Call& call) { return call.size() % 2 == 0 ? count_items(call, kFirstItem, 2) : call.wrong_arity(); }

Answer topk_incrbyat(Call& call) {
  if (call.size() % 2 == 0) {
    return call.wrong_arity();
  }
  const auto at = read_moment(call, 2);
  if (!at) {
    return refuse(kBadTime);
  }
  return is_far_future(call, *at) ? refuse(kFarFuture) : count_items(call, kFirstItem + 1, 2, at);
}

// To the nearest integer. Without a half-life, counts are integers.
std::uint64_t rounded(double count) noexcept {
  constexpr double kMost = 9e18;
  return static_cast<std::uint64_t>(std::round(std::min(count, kMost)));
}

template <bool takes_passes, class Reply>
Answer reply_each(const Call& call, const Reply& reply) {
  const TopLookup lookup(call, kRead);
  MANKAI_TRY(must_exist(lookup));
  if (takes_passes || lookup.value()->theirs() != nullptr) {
    MANKAI_TRY(must_be_short(call, *lookup.value(), kFirstItem, 1));
  }
  call.array(call.size() - kFirstItem);
  for (std::size_t i = kFirstItem; i < call.size(); ++i) {
    reply(*lookup.value(), call.text(i));
  }
  return kOk;
}

Answer topk_query(Call& call) {
  return reply_each<true>(call,
                          [&](const AnyTopList& list, std::string_view item) { call.truth(list.is_listed(item)); });
}

Answer topk_count(Call& call) {
  const Moment now = clock_now();
  return reply_each<false>(
      call, [&](const AnyTopList& list, std::string_view item) { call.number(rounded(list.count(item, now))); });
}

Answer topk_list(Call& call) {
  constexpr std::size_t kMostArguments = 3;
  if (call.size() > kMostArguments) {
    return call.wrong_arity();
  }
  const bool has_counts = call.size() == kMostArguments;
  if (has_counts && !call.is(2, "WITHCOUNT")) {
    return refuse("WITHCOUNT keyword expected");
  }
  const TopLookup lookup(call, kRead);
  MANKAI_TRY(must_exist(lookup));
  auto items = lookup.value()->items(clock_now());
  std::erase_if(items, [](const TopList::Item& item) { return rounded(item.count) == 0; });
  call.array(has_counts ? 2 * items.size() : items.size());
  for (const TopList::Item& item : items) {
    call.bytes(item.text);
    if (has_counts) {
      call.number(rounded(item.count));
    }
  }
  return kOk;
}

Answer topk_info(Call& call) {
  const TopLookup lookup(call, kRead);
  MANKAI_TRY(must_exist(lookup));
  const TopSettings settings = lookup.value()->settings();
  const Fact k = {"k", settings.most};
  const Fact width = {"width", settings.width};
  const Fact depth = {"depth", settings.depth};
  const Fact decay = {"decay", settings.decay};
  return lookup.value()->decays()
             ? reply_facts(
                   call,
                   {k, width, depth, decay, {"half-life", std::chrono::duration<double>(settings.half_life).count()}})
             : reply_facts(call, {k, width, depth, decay});
}

constexpr std::array kShape = {argument("width", ArgumentKind::integer), argument("depth", ArgumentKind::integer),
                               argument("decay", ArgumentKind::real), kEnd};
constexpr std::array kReserveArguments = {kKeyArgument,
                                          argument("topk", ArgumentKind::integer),
                                          group("shape", ArgumentKind::block, kArgumentOptional, kShape.data()),
                                          argument("half_life", ArgumentKind::string, kArgumentOptional, "HALFLIFE"),
                                          kHash,
                                          kSeed,
                                          kEnd};
constexpr std::array kIncrbyatArguments = {kKeyArgument, argument("unix_time_ms", ArgumentKind::unix_time), kPairs,
                                           kEnd};
constexpr std::array kListArguments = {kKeyArgument, option("withcount", "WITHCOUNT"), kEnd};
constexpr const char* kBatch = "O(N), N items; O(N * K) for items that are not yet in a list of K";
constexpr const char* kItemsCost = "O(N * K), N items, K that are listed";

constexpr std::array kCommands = {
    command<-3, topk_reserve>("topk.reserve", "write deny-oom", "Creates an empty list of the most frequent items",
                              "O(1)", kCreates, kReserveArguments),
    command<-3, topk_add>("topk.add", "write deny-oom", "Counts items and returns those that they expel from the list",
                          kBatch, kUpdates, kKeyItems),
    command<-4, topk_incrby>("topk.incrby", "write deny-oom",
                             "Adds to the counts of items and returns those that they expel from the list", kBatch,
                             kUpdates, kIncrbyArguments),
    command<-5, topk_incrbyat>("topk.incrbyat", "write deny-oom", "As TOPK.INCRBY, at a time", kBatch, kUpdates,
                               kIncrbyatArguments),
    command<-3, topk_query>("topk.query", "readonly fast", "Returns whether items are in the list", kItemsCost, kReads,
                            kKeyItems),
    command<-3, topk_count>("topk.count", "readonly fast", "Returns the counts of items", "O(N), N items", kReads,
                            kKeyItems),
    command<-2, topk_list>("topk.list", "readonly", "Returns the list in descending order of counts",
                           "O(K log K), K items that are listed", kReads, kListArguments),
    command<2, topk_info>("topk.info", "readonly fast", "Returns what a list was created with", "O(1)", kReads,
                          kKeyOnly),
    scandump<AnyTopList>("topk.scandump"),
    loadchunk<AnyTopList>(),
};

}  // namespace

MANKAI_DEFINE_FAMILY(topk) = {.name = "topk", .category = "topk", .type = kTypeOf<TopKey>, .commands = kCommands};

}  // namespace mankai::redis
