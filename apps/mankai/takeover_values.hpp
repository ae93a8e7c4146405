#pragma once

/// Comparison of one key in two servers.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
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

struct ComparedKey {
  std::string name{};
  ValueComparison found{};
};

/// Compares keys of two servers of RedisBloom, valkey-bloom or Mankai's module, many at once.
///
/// Values of one type: their bytes (SCANDUMP of BF and CF, DUMP of others), except top-k lists, whose bytes have
/// pointers: their lists. Engine's types other than strings are alike if their sizes agree. Values of two types of one
/// family, after MANKAI.CONVERT: counts; and no item that the old server has may be absent, or counted less.
/// Cost:    a key takes two to six round trips, plus one per 16 MiB of a filter and one per 1000 probes. Those of about
///          a thousand keys overlap. Memory: values and probes of 16 MiB per server, or two values that are larger, or
///          two chunks of filters.
/// Errors:  as RedisClient; invalid_argument if a server refuses access to a command other than MEMORY USAGE, without
///          which the values are compared one after the other.
/// Threads: one at a time.
class ValueComparer {
 public:
  enum class Scope : std::uint8_t {
    values,
    only_new,  ///< keys that the old server has are `absent`: they were compared before
  };

  ValueComparer(RedisClient& old_server, RedisClient& new_server, const ValueCompareSettings& settings, Scope scope);

  /// Begins the comparison of a key.
  void add(std::string name);
  /// Whether more keys can be added without more memory.
  [[nodiscard]] bool has_room() const noexcept;
  /// Waits for the result of the key that was added first. A difference is looked at twice, since a live value may
  /// change between two replies. Pre: there are more calls of add than of next.
  [[nodiscard]] Result<ComparedKey> next();

 private:
  struct Replies {
    RedisReply older;
    RedisReply newer;
  };
  struct Key {
    explicit Key(std::string key_name) : name(std::move(key_name)) {}

    std::string name;
    bool is_second_look = false;
    bool is_done = false;
    ValueComparison found{};
    std::string type{};
    std::string_view family{};
    std::string_view chunks{};  // as in kFilters
    bool is_same_type = false;
    bool is_identical = false;
    std::size_t bytes = 0;    // of kMostValueBytes
    std::string chunk = "0";  // that is asked for
    std::size_t probe = 0;    // the first one that is asked
  };
  using Words = std::vector<std::string_view>;
  using Step = void (ValueComparer::*)(Key& key, const Replies& replies);
  struct Asked {
    Key* key;
    Step step;
  };

  /// Calls the step when the replies are there.
  void ask(Key& key, const Words& words, Step step);
  [[nodiscard]] Result<RedisReply> receive(RedisClient& client, Step step);
  void begin(Key& key);
  void begin_waiting();
  void begin_value(Key& key);
  void finish(Key& key, ValueComparison found);

  void take_types(Key& key, const Replies& types);
  void take_ttl(Key& key, const Replies& ttl);
  void take_memory(Key& key, const Replies& memory);
  void take_dumps(Key& key, const Replies& dumps);
  void take_chunks(Key& key, const Replies& chunks);
  void take_sizes(Key& key, const Replies& sizes);
  void take_lists(Key& key, const Replies& lists);
  void take_facts(Key& key, const Replies& facts);
  void take_answers(Key& key, const Replies& answers);
  void ask_facts(Key& key);
  void ask_answers(Key& key);

  RedisClient& old_;
  RedisClient& new_;
  const ValueCompareSettings& settings_;
  Scope scope_;
  std::size_t probe_bytes_ = 0;  // of a request
  std::deque<Key> keys_;         // oldest first
  std::deque<Asked> asked_;      // oldest first
  std::deque<Key*> waiting_;     // for room in kMostValueBytes
  std::size_t bytes_ = 0;
};

}  // namespace mankai::command
