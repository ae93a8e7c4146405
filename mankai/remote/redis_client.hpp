#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/remote/redis_address.hpp"
#include "mankai/remote/redis_connection.hpp"
#include "mankai/remote/redis_reply.hpp"
#include "mankai/remote/shards.hpp"

namespace mankai {

/// What happens to a request whose connection broke before its reply arrived: the server may have run it or not.
enum class AfterLoss : std::uint8_t {
  repeat,  ///< it is sent again, and its reply says so
  report,  ///< it is not, and its reply says so
};

/// How a request is sent.
struct RedisSendOptions {
  AfterLoss after_loss = AfterLoss::repeat;
  std::uint32_t replicas = 0;                    ///< number of replicas that must acknowledge it
  std::size_t max_reply_bytes = kMaxReplyBytes;  ///< memory of the largest reply that is valid
};

/// A reply, and how sure it is.
struct RedisAnswer {
  RedisReply reply{};
  bool is_repeated = false;  ///< an earlier attempt may have been run: the reply is that of the second one
  bool is_lost = false;      ///< there is no reply to rely on, and the request may have been run
  bool is_unsent = false;    ///< there is no reply, and the request was not run
};

/// A pipelining client of one server or of a cluster. Requests are sent at once, replies are taken in the order of the
/// requests.
///
/// It reconnects, follows -MOVED and -ASK, and repeats what was not run: -TRYAGAIN, -CLUSTERDOWN, -LOADING, -READONLY,
/// -MASTERDOWN. If a node of a cluster does not answer for a second, it asks the others whether a replica has taken
/// over. It gives up after the timeout without any reply.
///
/// A request can wait for replicas (WAIT): it is answered after so many have acknowledged it. WAIT covers what its
/// connection wrote. What a request found present, another connection wrote, and waits for itself.
/// Cost:    a copy of each request until its reply; wait for replies while bytes_outstanding() exceeds your limit. One
///          WAIT at a time per node, for all requests before it.
/// Errors:  io after the timeout; at once invalid_argument if a server refuses access, and corrupt if it sends
/// something
///          else than replies. They name the server.
/// Threads: one at a time.
class RedisClient {
 public:
  /// Connects, and asks for the slots of a cluster. Fails at once if the server cannot be reached. Once `should_stop`
  /// returns true, receive() gives up after 3 s without a reply (io, with EINTR).
  [[nodiscard]] static Result<RedisClient> connect(const RedisAddress& address, Duration timeout,
                                                   std::function<bool()> should_stop = {});

  /// Sends a request for this key. Returns at once; failures are reported by receive().
  void send(std::string request, std::string_view key, RedisSendOptions options = {});
  /// Waits for the reply to the oldest request. Pre: outstanding() > 0. After an error, abandon() or retry.
  [[nodiscard]] Result<RedisAnswer> receive();
  /// Whether receive() returns at once. Reads what has arrived.
  [[nodiscard]] Result<bool> is_answered();

  /// Ends waiting: receive() then tells of each outstanding request whether it may have been run.
  void abandon();

  /// Sends one command and waits for its reply, which may be an error. Pre: outstanding() == 0.
  [[nodiscard]] Result<RedisReply> call(std::span<const std::string_view> words, std::string_view key);

  [[nodiscard]] std::size_t outstanding() const noexcept { return requests_.size(); }
  [[nodiscard]] std::size_t bytes_outstanding() const noexcept { return bytes_; }
  /// Number of times that a connection broke while requests were outstanding on it.
  [[nodiscard]] std::uint64_t losses() const noexcept { return losses_; }
  [[nodiscard]] const RedisAddress& address() const noexcept { return address_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Request {
    std::string bytes;
    std::uint16_t slot = 0;
    RedisSendOptions options{};
    bool is_done = false;
    std::uint32_t redirections = 0;  // since it was last delayed
    RedisAnswer answer{};
  };
  struct Sent {
    Request* request;   // nullptr: the reply of ASKING or WAIT
    std::uint64_t end;  // of its bytes in the connection
    bool is_wait = false;
  };
  struct Node {
    RedisAddress address;
    std::optional<RedisConnection> connection{};
    std::deque<Sent> sent{};
    std::vector<Request*> unconfirmed{};  // have a reply, but replicas have not acknowledged them
    std::uint32_t replicas = 0;           // that the next WAIT asks for; 0: there is nothing to ask
    bool waits = false;                   // for the reply of WAIT
    Clock::time_point heard{};
  };

  RedisClient(const RedisAddress& address, Duration timeout, std::function<bool()> should_stop);

  [[nodiscard]] Node* node_at(const RedisAddress& address);
  [[nodiscard]] Result<void> connect(Node& node);
  [[nodiscard]] Result<void> read_slots(Node& node);
  [[nodiscard]] Result<void> read_range(Node& node, const RedisReply& range);
  void refresh_slots();
  [[nodiscard]] bool write(Node& node, Request& request, bool asks);
  void flush(Node& node);
  void read(Node& node);
  [[nodiscard]] bool take_replies(Node& node);
  void take_reply(Node& node, Request& request, RedisReply reply);
  void ask_replicas(Node& node);
  void confirm(Node& node, const RedisReply& reply);
  [[nodiscard]] bool redirect(Node& from, Request& request, std::string_view error);
  void delay(Request& request, std::string_view why);
  void note(Error why);
  [[nodiscard]] bool has_lasting_trouble() const noexcept;
  [[nodiscard]] bool gives_up_to_stop(Clock::time_point now);
  void lose(Node& node, const Error& why);
  void lose(Request& request, bool is_run);
  void look_for_silence();
  void finish(Request& request, RedisAnswer answer);
  void send_delayed();
  [[nodiscard]] Result<void> step(bool may_wait);
  void poll_nodes(Clock::duration patience);

  RedisAddress address_;
  Duration timeout_;
  std::function<bool()> should_stop_;
  std::optional<Clock::time_point> stopping_;           // since when
  std::map<std::string, std::unique_ptr<Node>> nodes_;  // by address
  std::vector<Node*> slots_;                            // empty: not a cluster
  std::deque<std::unique_ptr<Request>> requests_;       // oldest first
  std::vector<Request*> delayed_;
  std::size_t bytes_ = 0;
  std::uint64_t losses_ = 0;
  bool is_map_old_ = false;
  Clock::time_point map_read_{};
  Error trouble_{};  // the last reason for a delay, or the first that lasts
  Duration backoff_{};
  Clock::time_point retry_at_{};
  Clock::time_point progress_ = Clock::now();
};

}  // namespace mankai
