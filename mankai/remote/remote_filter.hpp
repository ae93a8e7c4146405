#pragma once

/// A filter in a Redis or Valkey server with the module of this project: one key, or shards of it on many servers.
///
///     auto address = mankai::parse_remote_address("redis://10.0.0.5/crawled?shards=64");
///     auto filter = mankai::RemoteFilter::open(*address, {{.keys = 100'000'000, .fpr = 0.001}});
///     filter->submit(mankai::RemoteWork::observe, urls);
///     auto batch = filter->receive();  // batch->answers[i].value is 1 if urls[i] is new

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/remote/redis_address.hpp"
#include "mankai/remote/redis_client.hpp"

namespace mankai {

/// What is done with a batch of keys.
enum class RemoteWork : std::uint8_t {
  add,       ///< the answer is 1 if the key is new, 0 if it may have been present
  observe,   ///< the same, but a key that is present is not counted again
  contains,  ///< 1 or 0
  count,
  remove,  ///< 1 removed, 0 absent, -1 it cannot be removed
  rate,    ///< arrivals per hour
};

/// The answer for one key.
struct RemoteAnswer {
  enum class State : std::uint8_t {
    certain,   ///< acknowledged, also by `wait` replicas
    repeated,  ///< the request was sent twice, because a connection broke: the first one may have been run, too
    lost,     ///< the server may have done the work or not: a connection broke, replicas did not acknowledge it, or the
              ///< reply is not an answer
    refused,  ///< the key is not valid for the type: not a URL
    skipped,  ///< nothing was done: see the error
  };

  double value = 0;
  State state = State::skipped;
};

/// The answers for a batch of keys.
struct RemoteBatch {
  std::vector<RemoteAnswer> answers;  ///< one per key, in order
  std::optional<Error> error;         ///< why keys were skipped
};

/// What a filter is created with if it is missing: its type is that of the address [default: bloom], whose own settings
/// take precedence over keys and fpr.
struct RemoteCreation {
  std::uint64_t keys = 0;  ///< over all shards, and the filter grows beyond
  double fpr = 0;
  std::vector<std::string> hot = {};  ///< options of HOT.RESERVE, which is used instead if there are any
};

/// A hot key, its decayed count, and its arrivals per hour.
struct RemoteHotKey {
  std::string key;
  double count = 0;
  double rate = 0;
};

/// Facts about a filter, added up over its shards.
struct RemoteFacts {
  std::uint64_t keys = 0;
  std::optional<std::uint64_t> capacity{};
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> sub_filters{};
  std::optional<Time> newest{};  ///< the newest event of a hot filter
  // Means of the shards: an absent key is looked up in one of them.
  std::optional<double> fpr_target{};
  std::optional<double> fpr{};  ///< of the present keys, estimated
};

/// Cost:    a round trip per batch, but many batches can be outstanding; a request per shard and batch.
/// Errors:  as RedisClient; they name server and key. A missing filter is not_found, unless it is created.
/// Threads: one at a time.
class RemoteFilter {
 public:
  /// Connects, and finds out the type of the key. Creates all shards or none. `should_stop` is that of RedisClient.
  [[nodiscard]] static Result<RemoteFilter> open(const RemoteAddress& address,
                                                 const std::optional<RemoteCreation>& creation = {},
                                                 std::function<bool()> should_stop = {});

  [[nodiscard]] RemoteType type() const noexcept { return type_; }
  /// The type in the words of Redis, such as mankai-bf.
  [[nodiscard]] const std::string& type_name() const noexcept { return type_name_; }
  [[nodiscard]] const RemoteAddress& address() const noexcept { return address_; }
  /// Number of keys for one batch with which requests are large enough on every shard.
  [[nodiscard]] std::size_t best_batch() const noexcept;

  /// Sends a batch of keys; `numbers` are ids (counting) or increments (hot) [default: 0 or 1]; `at` is the time of a
  /// hot filter [default: now]. Keys are copied. Errors: invalid_argument if the type cannot do the work.
  [[nodiscard]] Result<void> submit(RemoteWork work, std::span<const std::string_view> keys,
                                    std::span<const std::uint64_t> numbers = {}, std::optional<Time> at = {});
  /// Waits for the answers of the oldest batch. After an error call abandon(). Pre: outstanding() > 0.
  [[nodiscard]] Result<RemoteBatch> receive();
  /// Whether receive() returns at once. Pre: outstanding() > 0.
  [[nodiscard]] Result<bool> is_answered();
  /// Ends waiting: receive() then returns the batches that are outstanding, without answers for what is lost.
  void abandon() { client_.abandon(); }
  [[nodiscard]] std::size_t outstanding() const noexcept { return batches_.size(); }
  /// Whether so much is outstanding that more would not make it faster. Call receive() then.
  [[nodiscard]] bool is_full() const noexcept;

  /// Pre: outstanding() == 0. Cost: with `fpr`, a pass over the cells of a bloom filter.
  [[nodiscard]] Result<RemoteFacts> facts(bool with_fpr);
  /// Number of connections that broke while something was outstanding.
  [[nodiscard]] std::uint64_t losses() const noexcept { return client_.losses(); }
  /// The hottest keys of a hot filter as of a time, at most 10,000. Pre: outstanding() == 0.
  [[nodiscard]] Result<std::vector<RemoteHotKey>> top(std::size_t most, Time at);

 private:
  /// Keys of one request: those at order[begin] to order[end - 1] of the batch.
  struct Part {
    std::uint32_t begin;
    std::uint32_t end;
  };
  struct Batch {
    RemoteWork work;
    std::optional<Time> at;
    std::vector<std::uint32_t> order;
    std::vector<Part> parts;
    RemoteBatch result;
    std::size_t received = 0;  // parts
  };

  RemoteFilter(const RemoteAddress& address, RedisClient client);

  [[nodiscard]] Result<void> find(const std::optional<RemoteCreation>& creation);
  [[nodiscard]] Result<void> create(const RemoteCreation& creation);
  /// Creates every shard, or none as far as the servers can be reached.
  [[nodiscard]] Result<void> reserve(std::string_view command, std::span<const std::string_view> options);
  void send_all(std::string_view command, std::span<const std::string_view> more, std::uint32_t replicas = 0);
  [[nodiscard]] Result<std::vector<RedisReply>> call_all(std::string_view command,
                                                         std::span<const std::string_view> more);
  [[nodiscard]] Result<std::vector<RedisReply>> types();
  [[nodiscard]] Result<void> set_type(std::string_view name);
  [[nodiscard]] Result<void> check_ttl();
  [[nodiscard]] std::unexpected<Error> refuse(ErrorCode code, const std::string& why) const;
  [[nodiscard]] std::unexpected<Error> unexpected_reply(std::string_view command) const;
  void send_part(Batch& batch, std::span<const std::string_view> keys, std::span<const std::uint64_t> numbers,
                 std::uint32_t shard, Part part);
  void send_shard(Batch& batch, std::span<const std::string_view> keys, std::span<const std::uint64_t> numbers,
                  std::uint32_t shard, Part part);
  void take(Batch& batch, Part part, const RedisAnswer& answer);
  /// Returns whether the value is an answer for a key.
  [[nodiscard]] bool take_value(Batch& batch, std::uint32_t key, const RedisReply& value, RemoteAnswer::State state);
  void take_error(Batch& batch, std::string_view text) const;

  RemoteAddress address_;
  std::vector<std::string> names_;  // of the keys, one per shard
  RedisClient client_;
  RemoteType type_ = RemoteType::bloom;
  std::string type_name_;
  bool was_created_ = false;
  std::deque<Batch> batches_;
};

}  // namespace mankai
