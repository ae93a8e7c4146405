#include <array>
#include <cstdio>
#include <string_view>

#include "modules/redis/bloom/commands.hpp"
#include "modules/redis/bloom/lookup.hpp"

namespace mankai::redis {
namespace {

using ReplyField = int (*)(const Call&, const BloomKey&, const BloomValue&);

/// A fact that BF.INFO tells.
struct Field {
  std::string_view option;
  const char* name;
  ReplyField reply;
  bool is_listed;  ///< without an option, as the contract has it
};

constexpr std::array kFields = {
    Field{"CAPACITY", "Capacity",
          [](const Call& call, const BloomKey&, const BloomValue& value) { return call.number(value.capacity_keys()); },
          true},
    Field{"SIZE", "Size",
          [](const Call& call, const BloomKey& key, const BloomValue&) { return call.number(key.memory_bytes()); },
          true},
    Field{"FILTERS", "Number of filters",
          [](const Call& call, const BloomKey&, const BloomValue& value) { return call.number(value.slice_count()); },
          true},
    Field{"ITEMS", "Number of items inserted",
          [](const Call& call, const BloomKey&, const BloomValue& value) { return call.number(value.keys_inserted()); },
          true},
    Field{"EXPANSION", "Expansion rate",
          [](const Call& call, const BloomKey&, const BloomValue& value) {
            return value.is_nonscaling() ? engine.reply_with_null(call.context())
                                         : call.number(value.settings().expansion);
          },
          true},
    Field{"FPR", "False positive rate",
          [](const Call& call, const BloomKey&, const BloomValue& value) {
            return engine.reply_with_double(call.context(), value.fpr_estimate());
          },
          false},
    Field{"DELETABLE", "Deletable",
          [](const Call& call, const BloomKey&, const BloomValue& value) {
            return engine.reply_with_bool(call.context(), static_cast<int>(value.is_deletable()));
          },
          false},
};
constexpr long kListedFields = 5;

int reply_named(const Call& call, const Field& field, const BloomKey& key, const BloomValue& value) {
  engine.reply_with_simple_string(call.context(), field.name);
  return field.reply(call, key, value);
}

int reply_all_fields(const Call& call, const BloomKey& key, const BloomValue& value) {
  engine.reply_with_map(call.context(), kListedFields);
  for (const Field& field : kFields) {
    if (field.is_listed) {
      reply_named(call, field, key, value);
    }
  }
  return kOk;
}

// A map of one in RESP3; in RESP2, by the contract, an array without the name.
int reply_one_field(const Call& call, const Field& field, const BloomKey& key, const BloomValue& value) {
  if (call.is_resp3()) {
    engine.reply_with_map(call.context(), 1);
    return reply_named(call, field, key, value);
  }
  engine.reply_with_array(call.context(), 1);
  return field.reply(call, key, value);
}

void reply_line(const Call& call, std::span<const char> line, int length) noexcept {
  engine.reply_with_string_buffer(call.context(), line.data(), static_cast<std::size_t>(length));
}

template <class Slice>
void reply_slice(const Call& call, const Slice& slice) noexcept {
  constexpr std::size_t kLineBytes = 256;
  constexpr unsigned long long kByteBits = 8;
  const unsigned long long bytes = slice.cells_bytes();
  std::array<char, kLineBytes> line;
  const int length = std::snprintf(
      line.data(), line.size(), "bytes:%llu bits:%llu hashes:%u hashwidth:64 capacity:%llu size:%llu ratio:%g", bytes,
      kByteBits * bytes, slice.probes_per_key(), static_cast<unsigned long long>(slice.capacity_keys()),
      static_cast<unsigned long long>(slice.keys_inserted()), slice.fpr_target());
  reply_line(call, line, length);
}

}  // namespace

int bloom_exists(Call& call) {
  constexpr std::size_t kLeast = 3;
  constexpr std::size_t kWithOption = 4;
  if (call.size() != kLeast && call.size() != kWithOption) {
    return call.wrong_arity();
  }
  const bool is_strict = call.size() == kWithOption;
  if (is_strict && !call.is(3, "STRICT")) {
    return call.error(kUnknownArgument);
  }
  const BloomLookup lookup(call, call.arguments()[1], kRead);
  if (lookup.value() == nullptr) {
    // An absent filter has no keys; all else that is no filter is a mistake.
    return is_strict || !lookup.is_absent() ? call.error(lookup.error()) : engine.reply_with_bool(call.context(), 0);
  }
  const std::string_view key = call.text(2);
  bool outcome = false;
  lookup.value()->ask({&key, 1}, {&outcome, 1});
  return engine.reply_with_bool(call.context(), static_cast<int>(outcome));
}

int bloom_mexists(Call& call) {
  if (call.size() < 3) {
    return call.wrong_arity();
  }
  const BloomLookup lookup(call, call.arguments()[1], kRead);
  if (lookup.value() == nullptr && !lookup.is_absent()) {
    return call.error(lookup.error());
  }
  const KeyBatch batch(call, 2);
  if (lookup.value() != nullptr && is_too_much(call, batch.keys().size() * lookup.value()->slice_count())) {
    return call.error(kTooMuchWork);
  }
  const std::span<bool> outcomes = batch.answers();
  if (lookup.value() != nullptr) {
    lookup.value()->ask(batch.keys(), outcomes);
  }
  return call.truths(outcomes);
}

int bloom_card(Call& call) {
  if (call.size() != 2) {
    return call.wrong_arity();
  }
  const BloomLookup lookup(call, call.arguments()[1], kRead);
  if (lookup.is_absent()) {
    return call.number(0);
  }
  return lookup.value() != nullptr ? call.number(lookup.value()->keys_inserted()) : call.error(lookup.error());
}

int bloom_info(Call& call) {
  if (call.size() != 2 && call.size() != 3) {
    return call.wrong_arity();
  }
  const BloomLookup lookup(call, call.arguments()[1], kRead);
  if (lookup.value() == nullptr) {
    return call.error(lookup.error());
  }
  if (call.size() == 2) {
    return reply_all_fields(call, *lookup.found(), *lookup.value());
  }
  for (const Field& field : kFields) {
    if (call.is(2, field.option)) {
      return reply_one_field(call, field, *lookup.found(), *lookup.value());
    }
  }
  return call.error("Invalid information value");
}

int bloom_debug(Call& call) {
  if (call.size() != 2) {
    return call.wrong_arity();
  }
  const BloomLookup lookup(call, call.arguments()[1], kRead);
  if (lookup.value() == nullptr) {
    return call.error(lookup.error());
  }
  const BloomValue& value = *lookup.value();
  engine.reply_with_array(call.context(), static_cast<long>(1 + value.slice_count()));
  constexpr std::size_t kLineBytes = 32;
  std::array<char, kLineBytes> line;
  const int length =
      std::snprintf(line.data(), line.size(), "size:%llu", static_cast<unsigned long long>(value.keys_inserted()));
  reply_line(call, line, length);
  value.for_each_slice([&](const auto& slice) { reply_slice(call, slice); });
  return kOk;
}

}  // namespace mankai::redis
