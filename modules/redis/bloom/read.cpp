#include <array>
#include <cstdio>
#include <string_view>

#include "modules/redis/bloom/commands.hpp"
#include "modules/redis/image/expiring.hpp"

namespace mankai::redis {
namespace {

/// A fact of BF.INFO.
struct Field {
  std::string_view option;
  const char* name;
  bool is_listed;  ///< without an option, as the contract has it
  int (*reply)(const Call&, const BloomKey&);
};

// What RedisBloom says of its filters.
std::uint64_t size_of(const BloomKey& key) noexcept {
  constexpr std::uint64_t kFilterBytes = 32;
  constexpr std::uint64_t kLinkBytes = 64;
  const takeover::BloomChain* filter = key.value()->redisbloom();
  return filter != nullptr ? kFilterBytes + kLinkBytes * filter->slice_count() + filter->cells_bytes()
                           : key.memory_bytes();
}

constexpr std::array kFields = {
    Field{"CAPACITY", "Capacity", true,
          [](const Call& call, const BloomKey& key) { return call.number(key.value()->capacity_keys()); }},
    Field{"SIZE", "Size", true, [](const Call& call, const BloomKey& key) { return call.number(size_of(key)); }},
    Field{"FILTERS", "Number of filters", true,
          [](const Call& call, const BloomKey& key) { return call.number(key.value()->slice_count()); }},
    Field{"ITEMS", "Number of items inserted", true,
          [](const Call& call, const BloomKey& key) { return call.number(key.value()->keys_inserted()); }},
    Field{"EXPANSION", "Expansion rate", true,
          [](const Call& call, const BloomKey& key) {
            return key.value()->is_nonscaling() ? engine.reply_with_null(call.context())
                                                : call.number(key.value()->settings().expansion);
          }},
    Field{"FPR", "False positive rate", false,
          [](const Call& call, const BloomKey& key) { return call.real_number(key.value()->fpr_estimate()); }},
    Field{"DELETABLE", "Deletable", false,
          [](const Call& call, const BloomKey& key) { return call.truth(key.value()->is_deletable()); }},
    Field{"TTL", "Time to live", false,
          [](const Call& call, const BloomKey& key) {
            const Cuckoo* filter = key.value()->expiring();
            return filter == nullptr
                       ? engine.reply_with_null(call.context())
                       : call.real_number(static_cast<double>(filter->max_ttl() / std::chrono::milliseconds(1)) / 1e3);
          }},
};
constexpr long kListedFields = 5;

int reply_named(const Call& call, const Field& field, const BloomKey& key) {
  engine.reply_with_simple_string(call.context(), field.name);
  return field.reply(call, key);
}

int reply_all_fields(const Call& call, const BloomKey& key) {
  engine.reply_with_map(call.context(), kListedFields);
  for (const Field& field : kFields) {
    if (field.is_listed) {
      reply_named(call, field, key);
    }
  }
  return kOk;
}

// A map of one in RESP3; in RESP2, by the contract, an array without the name. By valkey-bloom's, the value alone.
int reply_one_field(const Call& call, const Field& field, const BloomKey& key) {
  if (key.value()->is_of_valkey_bloom()) {
    return field.reply(call, key);
  }
  if (call.is_resp3()) {
    engine.reply_with_map(call.context(), 1);
    return reply_named(call, field, key);
  }
  engine.reply_with_array(call.context(), 1);
  return field.reply(call, key);
}

void ask(const Call& call, const BloomValue& value, std::span<const std::string_view> keys, std::span<bool> answers,
         const EarlyHash& early) {
  if (value.expiring() != nullptr) {
    ask(call, *value.expiring(), keys, answers);
  } else {
    value.ask(keys, answers, early);
  }
}

template <class Slice>
void reply_slice(const Call& call, const Slice& slice) noexcept {
  constexpr std::size_t kLineBytes = 256;
  constexpr unsigned long long kByteBits = 8;
  const unsigned long long bytes = slice.cells_bytes();
  unsigned long long bits = kByteBits * bytes;
  unsigned hash_width = 64;
  if constexpr (requires { slice.bits(); }) {
    bits = slice.bits();
  }
  if constexpr (requires { slice.hash_width(); }) {
    hash_width = slice.hash_width();
  }
  std::array<char, kLineBytes> line;
  const int length = std::snprintf(
      line.data(), line.size(), "bytes:%llu bits:%llu hashes:%u hashwidth:%u capacity:%llu size:%llu ratio:%g", bytes,
      bits, slice.probes_per_key(), hash_width, static_cast<unsigned long long>(slice.capacity_keys()),
      static_cast<unsigned long long>(slice.keys_inserted()), slice.fpr_target());
  call.bytes({line.data(), static_cast<std::size_t>(length)});
}

}  // namespace

Answer bloom_exists(Call& call) {
  constexpr std::size_t kLeast = 3;
  constexpr std::size_t kWithOption = 4;
  if (call.size() != kLeast && call.size() != kWithOption) {
    return call.wrong_arity();
  }
  const bool is_strict = call.size() == kWithOption;
  if (is_strict && !call.is(3, "STRICT")) {
    return refuse(kUnknownArgument);
  }
  const std::string_view key = call.text(2);
  const EarlyHash early(call.text(1), {&key, 1});
  BloomLookup lookup(call, kRead);
  if (lookup.value() == nullptr) {
    // An absent filter is empty; a key of another type is an error.
    MANKAI_TRY(is_strict ? lookup.must_be_whole() : lookup.may_be_absent());
    return call.truth(false);
  }
  bool outcome = false;
  lookup.close();
  ask(call, *lookup.value(), {&key, 1}, {&outcome, 1}, early);
  return call.truth(outcome);
}

Answer bloom_mexists(Call& call) {
  const KeyBatch batch(call, 2);
  const EarlyHash early(call.text(1), batch.keys());
  const BloomLookup lookup(call, kRead);
  MANKAI_TRY(lookup.may_be_absent());
  if (lookup.value() != nullptr && is_too_much(call, batch.keys().size() * lookup.value()->work_shape().per_item)) {
    return refuse(kTooMuchWork);
  }
  const std::span<bool> outcomes = batch.answers();
  if (lookup.value() != nullptr) {
    ask(call, *lookup.value(), batch.keys(), outcomes, early);
  }
  return call.truths(outcomes);
}

Answer bloom_card(Call& call) {
  const BloomLookup lookup(call, kRead);
  MANKAI_TRY(lookup.may_be_absent());
  return call.number(lookup.is_absent() ? 0 : lookup.value()->keys_inserted());
}

Answer bloom_info(Call& call) {
  if (call.size() != 2 && call.size() != 3) {
    return call.wrong_arity();
  }
  const BloomLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  if (call.size() == 2) {
    return reply_all_fields(call, *lookup.found());
  }
  for (const Field& field : kFields) {
    if (call.is(2, field.option)) {
      return reply_one_field(call, field, *lookup.found());
    }
  }
  return refuse("Invalid information value");
}

Answer bloom_debug(Call& call) {
  const BloomLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const BloomValue& value = *lookup.value();
  engine.reply_with_array(call.context(), static_cast<long>(1 + value.slice_count()));
  constexpr std::size_t kLineBytes = 32;
  std::array<char, kLineBytes> line;
  const int length =
      std::snprintf(line.data(), line.size(), "size:%llu", static_cast<unsigned long long>(value.keys_inserted()));
  call.bytes({line.data(), static_cast<std::size_t>(length)});
  value.for_each_slice([&](const auto& slice) { reply_slice(call, slice); });
  return kOk;
}

}  // namespace mankai::redis
