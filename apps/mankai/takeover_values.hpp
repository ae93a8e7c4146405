#pragma once

/// Comparison of one key in two servers.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"
#include "mankai/remote/redis_client.hpp"

namespace mankai::command {

struct ValueComparison {
  enum class Outcome : std::uint8_t {
    identical,  ///< the same bytes
    alike,      ///< the same counts and answers; the bytes cannot be compared
    different,
    absent,  ///< in both: expired or deleted meanwhile
  };

  Outcome outcome = Outcome::identical;
  std::string difference = {};  ///< of `different`
};

struct ValueCompareSettings {
  std::vector<std::string> probes = {};  ///< asked of every filter: random texts, and known items
  Duration ttl_tolerance = std::chrono::seconds(5);
};

/// Compares keys of two servers of RedisBloom, valkey-bloom or Mankai's module.
///
/// Values of one type: their bytes (SCANDUMP of BF and CF, DUMP of others), except top-k lists, whose bytes have
/// pointers: their lists. Engine's types other than strings are alike if their sizes agree. Values of two types of one
/// family, after MANKAI.CONVERT: counts; and no item that the old server has may be absent, or counted less.
/// Cost:    a round trip for all keys, one per value or 16 MiB of a filter, and one per 1000 probes; memory: two
/// values,
///          or two chunks of filters.
/// Errors:  as RedisClient; invalid_argument if a server refuses access to a command.
/// Threads: one at a time.
class ValueComparer {
 public:
  ValueComparer(RedisClient& old_server, RedisClient& new_server, const ValueCompareSettings& settings) noexcept
      : old_(old_server), new_(new_server), settings_(settings) {}

  /// A difference is looked at twice, since a live value may change between two replies. Shape: keys[c], result[c].
  [[nodiscard]] Result<std::vector<ValueComparison>> compare(std::span<const std::string_view> keys);

 private:
  struct Replies {
    RedisReply older;
    RedisReply newer;
  };
  using Words = std::vector<std::string_view>;

  [[nodiscard]] Result<std::vector<Replies>> ask_all(std::span<const Words> requests);
  [[nodiscard]] Result<Replies> ask(const Words& words);
  /// Types and times to live: two Replies per key.
  [[nodiscard]] Result<std::vector<Replies>> ask_heads(std::span<const std::string_view> keys);
  [[nodiscard]] Result<ValueComparison> compare_once(std::string_view key, const Replies& types, const Replies& ttl);
  /// Empty if the times to live agree.
  [[nodiscard]] std::string ttl_difference(const Replies& ttl) const;
  [[nodiscard]] Result<ValueComparison> compare_values(std::string_view key, std::string_view type);
  [[nodiscard]] Result<ValueComparison> compare_engine_values(std::string_view key, std::string_view type);
  [[nodiscard]] Result<bool> has_same_dump(std::string_view key);
  [[nodiscard]] Result<bool> has_same_chunks(std::string_view key, std::string_view command);
  /// Empty if they agree.
  [[nodiscard]] Result<std::string> list_difference(std::string_view key);
  [[nodiscard]] Result<std::string> facts_difference(std::string_view key, std::string_view family, bool is_same_type);
  [[nodiscard]] Result<std::string> answers_difference(std::string_view key, std::string_view family,
                                                       bool is_same_type);

  RedisClient& old_;
  RedisClient& new_;
  const ValueCompareSettings& settings_;
};

}  // namespace mankai::command
