#pragma once

/// Parts of command descriptions for COMMAND DOCS, COMMAND GETKEYS and cluster routing. The engine copies them.

#include <array>
#include <cstdint>

#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

inline constexpr CommandInfoVersion kInfoVersion = {.version = 1,
                                                    .history_bytes = sizeof(CommandHistory),
                                                    .key_spec_bytes = sizeof(KeySpec),
                                                    .argument_bytes = sizeof(CommandArgument)};
inline constexpr const char* kSince = "0.1.0";

/// The keys from argument `first` to `last`, which is relative to `first`; -1: to the end.
constexpr KeySpec keys_at(int first, int last, std::uint64_t flags) {
  return {.notes = nullptr,
          .flags = flags,
          .begin_kind = kBeginAtIndex,
          .begin = {.index = {.position = first}},
          .find_kind = kFindRange,
          .find = {.range = {.last_key = last, .key_step = 1, .limit = 0}}};
}

/// The keys behind argument `position`, which is their number.
constexpr KeySpec counted_keys_at(int position, std::uint64_t flags) {
  return {.notes = nullptr,
          .flags = flags,
          .begin_kind = kBeginAtIndex,
          .begin = {.index = {.position = position}},
          .find_kind = kFindKeyCount,
          .find = {.key_count = {.count_index = 0, .first_key = 1, .key_step = 1}}};
}

// How a command uses its key. An empty spec ends each list.
inline constexpr std::array kReads = {keys_at(1, 0, kKeyReadOnly | kKeyAccess), KeySpec{}};
inline constexpr std::array kInserts = {keys_at(1, 0, kKeyReadWrite | kKeyAccess | kKeyInsert), KeySpec{}};
inline constexpr std::array kUpdates = {keys_at(1, 0, kKeyReadWrite | kKeyAccess | kKeyUpdate), KeySpec{}};
inline constexpr std::array kCreates = {keys_at(1, 0, kKeyReadWrite | kKeyInsert), KeySpec{}};
/// For commands that reply with a filter's bytes, which contain its secret seed: clients with read access only must not
/// run them. Their category is `dangerous` instead of `read`.
inline constexpr auto kReadsSeed = kUpdates;
inline constexpr std::array kDeletes = {keys_at(1, 0, kKeyReadWrite | kKeyAccess | kKeyDelete), KeySpec{}};
// Of destination source [source …].
inline constexpr std::array kAddsSources = {keys_at(1, 0, kKeyReadWrite | kKeyInsert),
                                            keys_at(2, -1, kKeyReadOnly | kKeyAccess), KeySpec{}};

constexpr CommandArgument argument(const char* name, ArgumentKind kind, int flags = 0, const char* token = nullptr) {
  return {.name = name, .kind = kind, .key_spec_index = -1, .token = token, .flags = flags};
}
constexpr CommandArgument key_argument(const char* name, int spec = 0, int flags = 0) {
  return {.name = name, .kind = ArgumentKind::key, .key_spec_index = spec, .flags = flags};
}
/// An optional keyword without a value.
constexpr CommandArgument option(const char* name, const char* token) {
  return argument(name, ArgumentKind::pure_token, kArgumentOptional, token);
}

inline constexpr CommandArgument kKeyArgument = key_argument("key");
inline constexpr CommandArgument kEnd = {};

/// Arguments that belong together, or alternatives.
constexpr CommandArgument group(const char* name, ArgumentKind kind, int flags, const CommandArgument* parts) {
  return {.name = name, .kind = kind, .key_spec_index = -1, .flags = flags, .parts = parts};
}

inline constexpr CommandArgument kItems = argument("item", ArgumentKind::string, kArgumentMultiple);
inline constexpr std::array kKeyOnly = {kKeyArgument, kEnd};
inline constexpr std::array kKeyItems = {kKeyArgument, kItems, kEnd};
inline constexpr std::array kDestinationSources = {key_argument("destination"),
                                                   key_argument("source", 1, kArgumentMultiple), kEnd};
// Of INCRBY.
inline constexpr std::array kPair = {argument("item", ArgumentKind::string),
                                     argument("increment", ArgumentKind::integer), kEnd};
inline constexpr CommandArgument kPairs = group("pair", ArgumentKind::block, kArgumentMultiple, kPair.data());
inline constexpr std::array kIncrbyArguments = {kKeyArgument, kPairs, kEnd};
// Of SCANDUMP and LOADCHUNK (image/move.hpp).
inline constexpr std::array kDumpArguments = {kKeyArgument, argument("iterator", ArgumentKind::integer), kEnd};
inline constexpr std::array kLoadArguments = {kKeyArgument, argument("iterator", ArgumentKind::integer),
                                              argument("data", ArgumentKind::string), kEnd};

inline constexpr CommandArgument kErrorRate = argument("error_rate", ArgumentKind::real);
inline constexpr CommandArgument kCapacity = argument("capacity", ArgumentKind::integer);
inline constexpr CommandArgument kExpansion =
    argument("expansion", ArgumentKind::integer, kArgumentOptional, "EXPANSION");
inline constexpr CommandArgument kHash = argument("hash", ArgumentKind::string, kArgumentOptional, "HASH");
inline constexpr CommandArgument kSeed = argument("seed", ArgumentKind::string, kArgumentOptional, "SEED");

}  // namespace mankai::redis
