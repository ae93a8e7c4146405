#include "modules/redis/fade/commands.hpp"

#include <array>
#include <cstdio>
#include <memory>

#include "modules/redis/engine/memory.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/fade/value.hpp"
#include "modules/redis/image/facts.hpp"
#include "modules/redis/image/lookup.hpp"

namespace mankai::redis {
namespace {

using FadeLookup = ImageLookup<FadeValue>;

constexpr long long kMostCapacity = 1LL << 30;

const char* read_option(const Call& call, std::size_t index, FadeSettings& settings, HashRequest& hash) noexcept {
  if (HashRequest::is_option(call, index)) {
    return hash.read(call, index);
  }
  if (!call.is(index, "SLOTS") || index + 1 == call.size()) {
    return kUnknownArgument;
  }
  const long long slots = call.integer(index + 1).value_or(0);
  settings.k = static_cast<std::uint32_t>(slots);
  return slots >= 1 && slots <= FadeValue::kMostSlots ? nullptr : "ERR slots must be an integer in the range [1, 32]";
}

// Reads RESERVE's arguments behind the key; draws a seed when there is none. Returns the error to reply, or null.
const char* read_settings(const Call& call, FadeSettings& settings) {
  const auto fpr = call.real(2);
  // Of old items no more than half are known, so a higher rate would make absent keys better known than them.
  constexpr double kMostFpr = 0.5;
  if (!fpr || !(*fpr > 0 && *fpr < kMostFpr)) {
    return "ERR the error rate must be a number between 0 and 0.5, both excluded";
  }
  const auto capacity = call.integer(3);
  if (!capacity || *capacity < 1 || *capacity > kMostCapacity) {
    return "ERR the capacity must be an integer in the range [1, 1073741824]";
  }
  settings = {.fpr = *fpr, .capacity_keys = static_cast<std::uint64_t>(*capacity), .hash = {}};
  HashRequest hash;
  constexpr std::size_t kFirstOption = 4;
  for (std::size_t i = kFirstOption; i < call.size(); i += 2) {
    if (const char* error = read_option(call, i, settings, hash); error != nullptr) {
      return error;
    }
  }
  settings.hash = hash.hash();
  return nullptr;
}

void replicate_creation(const Call& call, String* key, const FadeSettings& settings) noexcept {
  constexpr std::size_t kTextBytes = 32;
  std::array<char, kTextBytes> fpr;
  std::snprintf(fpr.data(), fpr.size(), "%.17g", settings.fpr);
  const auto capacity = static_cast<long long>(settings.capacity_keys);
  const HashText hash = hash_text(settings.hash);
  engine.replicate(call.context(), "FADE.RESERVE", "sclclcccc", key, fpr.data(), capacity, "SLOTS",
                   static_cast<long long>(settings.k), "HASH", hash.name.data(), "SEED", hash.seed.data());
}

constexpr std::array kFacts = {
    Fact<FadeValue>{"Capacity", [](const Call& call, const ImageKey<FadeValue>&,
                                   const FadingFingerprints& filter) { return call.number(filter.capacity_keys()); }},
    Fact<FadeValue>{"Error rate",
                    [](const Call& call, const ImageKey<FadeValue>&, const FadingFingerprints& filter) {
                      return call.real_number(filter.fpr_target());
                    }},
    Fact<FadeValue>{"Size", [](const Call& call, const ImageKey<FadeValue>& key,
                               const FadingFingerprints&) { return call.number(key.memory_bytes()); }},
    Fact<FadeValue>{"Slots", [](const Call& call, const ImageKey<FadeValue>&,
                                const FadingFingerprints& filter) { return call.number(filter.cell_count()); }},
    Fact<FadeValue>{"Slots per item",
                    [](const Call& call, const ImageKey<FadeValue>&, const FadingFingerprints& filter) {
                      return call.number(filter.probes_per_key());
                    }},
    Fact<FadeValue>{"Bits per slot",
                    [](const Call& call, const ImageKey<FadeValue>&, const FadingFingerprints& filter) {
                      return call.number(filter.params().bits);
                    }},
    Fact<FadeValue>{"Half-life", [](const Call& call, const ImageKey<FadeValue>&,
                                    const FadingFingerprints& filter) { return call.real_number(filter.half_life()); }},
    Fact<FadeValue>{"Items put", [](const Call& call, const ImageKey<FadeValue>&,
                                    const FadingFingerprints& filter) { return call.number(filter.keys_inserted()); }},
    Fact<FadeValue>{"False positive rate",
                    [](const Call& call, const ImageKey<FadeValue>&, const FadingFingerprints& filter) {
                      return call.real_number(filter.fpr_expected(filter.keys_inserted()));
                    }},
};

}  // namespace

int fade_reserve(Call& call) {
  constexpr std::size_t kLeast = 4;
  if (call.size() < kLeast) {
    return call.wrong_arity();
  }
  MemoryLimit limit(call.context());
  FadeSettings settings;
  if (const char* error = read_settings(call, settings); error != nullptr) {
    return call.error(error);
  }
  String* name = call.arguments()[1];
  FadeLookup lookup(call, name, kRead | kWrite);
  if (!lookup.is_absent()) {
    return call.error(lookup.found() != nullptr ? kItemExists : kWrongType);
  }
  lookup.limit(limit);
  auto made = FadeValue::create(settings);
  if (!made) {
    return reply_not_made(call, made.error());
  }
  auto key = std::make_unique<ImageKey<FadeValue>>(std::move(*made));
  replicate_creation(call, name, settings);
  lookup.set(std::move(key));
  call.key_changed(name, "fade.reserve");
  return call.ok();
}

int fade_put(Call& call) {
  if (call.size() < 3) {
    return call.wrong_arity();
  }
  String* name = call.arguments()[1];
  const FadeLookup lookup(call, name, kRead | kWrite);
  if (lookup.value() == nullptr) {
    return call.error(lookup.error());
  }
  const KeyBatch batch(call, 2);
  lookup.value()->put(batch.keys(), batch.answers());
  engine.replicate_verbatim(call.context());
  call.key_changed(name, "fade.put");
  return call.truths(batch.answers());
}

int fade_seen(Call& call) {
  if (call.size() < 3) {
    return call.wrong_arity();
  }
  const FadeLookup lookup(call, call.arguments()[1], kRead);
  if (lookup.value() == nullptr) {
    return call.error(lookup.error());
  }
  const KeyBatch batch(call, 2);
  lookup.value()->ask(batch.keys(), batch.answers());
  return call.truths(batch.answers());
}

int fade_info(Call& call) { return reply_facts<FadeValue>(call, kFacts); }

}  // namespace mankai::redis
