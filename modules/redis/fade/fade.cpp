/// The FADE.* commands: a filter in which newer items overwrite older ones.

#include <array>

#include "modules/redis/engine/family.hpp"
#include "modules/redis/fade/value.hpp"
#include "modules/redis/image/move.hpp"
#include "modules/redis/image/reserve.hpp"

namespace mankai::redis {
namespace {

using FadeKey = ImageKey<FadeValue>;
using FadeLookup = Lookup<FadeKey>;

constexpr long long kMostCapacity = 1LL << 30;

Result<void> read_option(const Call& call, std::size_t index, FadeSettings& settings, HashRequest& hash) {
  if (HashRequest::is_option(call, index)) {
    return hash.read(call, index);
  }
  if (!call.is(index, "SLOTS") || index + 1 == call.size()) {
    return refuse(kUnknownArgument);
  }
  const long long slots = call.integer(index + 1).value_or(0);
  settings.k = static_cast<std::uint32_t>(slots);
  return slots >= 1 && slots <= FadeValue::kMostSlots ? Result<void>()
                                                      : refuse("ERR slots must be an integer in the range [1, 32]");
}

Result<FadeSettings> read_settings(const Call& call) {
  const auto fpr = call.real(2);
  // After `capacity` later items half of the items are still found; at a higher rate more absent items would be.
  constexpr double kMostFpr = 0.5;
  if (!fpr || !(*fpr > 0 && *fpr < kMostFpr)) {
    return refuse("ERR the error rate must be a number between 0 and 0.5, both excluded");
  }
  const auto capacity = call.integer(3);
  if (!capacity || *capacity < 1 || *capacity > kMostCapacity) {
    return refuse("ERR the capacity must be an integer in the range [1, 1073741824]");
  }
  FadeSettings settings = {.fpr = *fpr, .capacity_keys = static_cast<std::uint64_t>(*capacity), .hash = {}};
  HashRequest hash;
  constexpr std::size_t kFirstOption = 4;
  for (std::size_t i = kFirstOption; i < call.size(); i += 2) {
    MANKAI_TRY(must_be_once(call, kFirstOption, i));
    MANKAI_TRY(read_option(call, i, settings, hash));
  }
  settings.hash = hash.hash();
  return settings;
}

void replicate_creation(const Call& call, const FadeSettings& settings) {
  static constinit RepeatedCommand reserve("FADE.RESERVE");
  reserve.begin().add(settings.fpr).add(static_cast<long long>(settings.capacity_keys));
  reserve.add("SLOTS").add(static_cast<long long>(settings.k)).add(settings.hash).replicate(call);
}

Answer fade_reserve(Call& call) {
  MANKAI_ASSIGN(const auto settings, read_settings(call));
  return reserve<FadeValue>(call, settings, "fade.reserve", replicate_creation);
}

Answer fade_put(Call& call) {
  const FadeLookup lookup(call, kRead | kWrite);
  MANKAI_TRY(lookup.must_be_whole());
  const KeyBatch batch(call, 2);
  lookup.value()->put(batch.keys(), batch.answers());
  engine.replicate_verbatim(call.context());
  call.key_changed("fade.put");
  return call.truths(batch.answers());
}

Answer fade_seen(Call& call) {
  const FadeLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const KeyBatch batch(call, 2);
  lookup.value()->ask(batch.keys(), batch.answers());
  return call.truths(batch.answers());
}

Answer fade_info(Call& call) {
  const FadeLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const FadingFingerprints& filter = lookup.value()->filter();
  return reply_facts(call, {{"Capacity", filter.capacity_keys()},
                            {"Error rate", filter.fpr_target()},
                            {"Size", lookup.found()->memory_bytes()},
                            {"Slots", filter.cell_count()},
                            {"Slots per item", filter.probes_per_key()},
                            {"Bits per slot", filter.params().bits},
                            {"Half-life", filter.half_life()},
                            {"Items put", filter.keys_inserted()},
                            {"False positive rate", filter.fpr_expected(filter.keys_inserted())}});
}

constexpr std::array kReserveArguments = {
    kKeyArgument, kErrorRate, kCapacity, argument("slots", ArgumentKind::integer, kArgumentOptional, "SLOTS"),
    kHash,        kSeed,      kEnd};
constexpr const char* kBatch = "O(N), N items";

constexpr std::array kCommands = {
    command<-4, fade_reserve>(
        "fade.reserve", "write deny-oom",
        "Creates an empty filter in which half of the items are overwritten after as many new ones as its capacity",
        "O(1)", kCreates, kReserveArguments),
    // Not deny-oom: FADE.PUT allocates nothing.
    command<-3, fade_put>("fade.put", "write fast", "Adds items and returns which of them were not found", kBatch,
                          kUpdates, kKeyItems),
    command<-3, fade_seen>("fade.seen", "readonly fast", "Returns which items were added recently", kBatch, kReads,
                           kKeyItems),
    command<2, fade_info>("fade.info", "readonly fast", "Returns facts about a filter of recent items", "O(1)", kReads,
                          kKeyOnly),
    scandump<FadeValue>("fade.scandump"),
    loadchunk<FadeValue>(),
};

}  // namespace

MANKAI_DEFINE_FAMILY(fade) = {.name = "fade", .category = "fade", .type = kTypeOf<FadeKey>, .commands = kCommands};

}  // namespace mankai::redis
