#include "mankai/remote/redis_client.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "mankai/base/number.hpp"

namespace mankai {
namespace {

constexpr Duration kShortestBackoff = std::chrono::milliseconds(20);
constexpr Duration kLongestBackoff = std::chrono::milliseconds(250);
/// A new connection to one node must not keep the others waiting.
constexpr Duration kConnecting = std::chrono::seconds(3);
/// A connection without any reply for so long is broken: its machine is gone. A healthy server may be busy for seconds,
/// with a fork or a slow disk, and a reconnect makes replies uncertain.
constexpr Duration kSilence = std::chrono::seconds(10);
/// A node of a cluster without any reply for so long may have been replaced: the others know.
constexpr Duration kSuspicion = std::chrono::seconds(1);
/// After a request to stop: a healthy server may be busy, and what it has not acknowledged is uncertain.
constexpr Duration kStopping = std::chrono::seconds(3);
/// Shorter than kSuspicion, since WAIT delays all replies of its connection.
constexpr std::string_view kWaitMilliseconds = "500";

std::string request_of_words(std::initializer_list<std::string_view> words) {
  return request_of(std::span(words.begin(), words.size()));
}

// Reads HOST:PORT; an empty host is that of the node that says so.
std::optional<RedisAddress> address_in(std::string_view text, const RedisAddress& from) {
  const std::size_t colon = text.rfind(':');
  const auto port = colon == std::string_view::npos ? std::nullopt : to_number<std::uint16_t>(text.substr(colon + 1));
  if (!port || *port == 0) {
    return std::nullopt;
  }
  RedisAddress address = from;
  address.port = *port;
  if (colon > 0) {
    address.host = text.substr(0, colon);
    address.socket.clear();
  } else if (!from.socket.empty()) {
    return std::nullopt;
  }
  return address;
}

}  // namespace

RedisClient::RedisClient(const RedisAddress& address, Duration timeout, std::function<bool()> should_stop)
    : address_(address), timeout_(timeout), should_stop_(std::move(should_stop)) {}

Result<RedisClient> RedisClient::connect(const RedisAddress& address, Duration timeout,
                                         std::function<bool()> should_stop) {
  RedisClient client(address, timeout, std::move(should_stop));
  Node* const node = client.node_at(address);
  MANKAI_TRY(within(to_text(address), client.connect(*node)));
  MANKAI_TRY(within(to_text(address), client.read_slots(*node)));
  return client;
}

RedisClient::Node* RedisClient::node_at(const RedisAddress& address) {
  auto& node = nodes_[to_text(address)];
  if (node == nullptr) {
    node = std::make_unique<Node>(Node{.address = address});
  }
  return node.get();
}

Result<void> RedisClient::connect(Node& node) {
  if (node.connection) {
    return {};
  }
  MANKAI_ASSIGN(auto connection, RedisConnection::open(node.address, std::min(kConnecting, timeout_)));
  node.connection.emplace(std::move(connection));
  node.heard = Clock::now();
  return {};
}

// A server that is not in a cluster, or whose user may not ask, has one node.
Result<void> RedisClient::read_slots(Node& node) {
  MANKAI_ASSIGN(const auto reply, node.connection->call(std::array<std::string_view, 2>{"CLUSTER", "SLOTS"}));
  if (reply.type == RedisReply::Type::error) {
    return {};
  }
  if (reply.type != RedisReply::Type::array || reply.members.size() > kRedisSlots) {
    return fail(ErrorCode::corrupt, "invalid reply to CLUSTER SLOTS; is this a Redis server?");
  }
  for (const RedisReply& range : reply.members) {
    MANKAI_TRY(read_range(node, range));
  }
  return {};
}

// A range is its first and last slot, its primary, and its replicas, which answer CLUSTER SLOTS when primaries are
// gone.
Result<void> RedisClient::read_range(Node& node, const RedisReply& range) {
  constexpr std::size_t kPrimary = 2;
  const auto address_of = [&](const RedisReply& named) {
    return named.members.size() < 2
               ? std::nullopt
               : address_in(named.members[0].text + ":" + std::to_string(named.members[1].integer), node.address);
  };
  const auto slot_at = [&](std::size_t i) {
    const auto slot = range.members[i].type == RedisReply::Type::integer ? range.members[i].integer : -1;
    return slot >= 0 && slot < kRedisSlots ? std::optional(static_cast<std::size_t>(slot)) : std::nullopt;
  };
  const bool has_fields = range.members.size() > kPrimary;
  const auto first = has_fields ? slot_at(0) : std::nullopt;
  const auto last = has_fields ? slot_at(1) : std::nullopt;
  if (!first || !last || *first > *last || range.members[kPrimary].members.size() < 2) {
    return fail(ErrorCode::corrupt, "invalid reply to CLUSTER SLOTS; is this a Redis server?");
  }
  const auto owner = address_of(range.members[kPrimary]);
  if (!owner) {
    return fail(ErrorCode::invalid_argument, "a node of the cluster has no address; connect to its host and port");
  }
  slots_.resize(kRedisSlots, &node);
  std::fill_n(slots_.begin() + static_cast<std::ptrdiff_t>(*first), *last - *first + 1, node_at(*owner));
  for (const RedisReply& replica : std::span(range.members).subspan(kPrimary + 1)) {
    if (const auto address = address_of(replica)) {
      static_cast<void>(node_at(*address));
    }
  }
  return {};
}

// Asks any node that is idle, so that the reply cannot be confused with those of requests.
void RedisClient::refresh_slots() {
  std::vector<Node*> idle;
  for (const auto& [name, node] : nodes_) {
    if (node->sent.empty() && !(node->connection && node->connection->wants_write())) {
      idle.push_back(node.get());
    }
  }
  std::ranges::partition(idle, [](const Node* node) { return node->connection.has_value(); });
  for (Node* const node : idle) {
    if (Clock::now() - progress_ > timeout_) {
      return;
    }
    if (connect(*node)) {
      if (read_slots(*node)) {
        is_map_old_ = false;
        map_read_ = Clock::now();
        return;
      }
      node->connection.reset();
    }
  }
}

// Loses connections that are silent: in a cluster as soon as another node has the slots.
void RedisClient::look_for_silence() {
  const auto now = Clock::now();
  for (const auto& [name, node] : nodes_) {
    if (!node->connection || node->sent.empty()) {
      continue;
    }
    const auto silence = now - node->heard;
    if (silence > std::min(kSilence, timeout_)) {
      lose(*node, {.code = ErrorCode::io, .detail = "no answer in time"});
    } else if (silence > kSuspicion && !slots_.empty()) {
      if (map_read_ > node->heard + kSuspicion && std::ranges::find(slots_, node.get()) == slots_.end()) {
        lose(*node, {.code = ErrorCode::io, .detail = "no answer, and another node has taken over"});
      }
      is_map_old_ = is_map_old_ || now - map_read_ > kLongestBackoff;
    }
  }
}

void RedisClient::send(std::string request, std::string_view key, RedisSendOptions options) {
  if (requests_.empty()) {
    progress_ = Clock::now();
  }
  bytes_ += request.size();
  requests_.push_back(
      std::make_unique<Request>(Request{.bytes = std::move(request), .slot = slot_of(key), .options = options}));
  Request& sent = *requests_.back();
  Node& node = slots_.empty() ? *node_at(address_) : *slots_[sent.slot];
  // What was delayed goes first.
  if (!delayed_.empty() || !write(node, sent, false)) {
    delayed_.push_back(&sent);
  }
}

// Returns false if there is no connection.
bool RedisClient::write(Node& node, Request& request, bool asks) {
  // The server may have closed an idle connection.
  if (node.connection && node.sent.empty()) {
    read(node);
  }
  if (const auto connected = connect(node); !connected) {
    note(connected.error().within(to_text(node.address)));
    return false;
  }
  if (node.sent.empty()) {
    node.heard = Clock::now();
  }
  if (asks) {
    node.sent.push_back({.request = nullptr, .end = node.connection->append(request_of_words({"ASKING"}))});
  }
  node.sent.push_back({.request = &request, .end = node.connection->append(request.bytes)});
  node.replicas = std::max(node.replicas, request.options.replicas);
  flush(node);
  return true;
}

// WAIT keeps later requests of the connection waiting, so one at a time covers all that was sent before it.
void RedisClient::ask_replicas(Node& node) {
  if (node.replicas == 0 || node.waits) {
    return;
  }
  const std::string replicas = std::to_string(std::exchange(node.replicas, 0));
  const std::uint64_t end = node.connection->append(request_of_words({"WAIT", replicas, kWaitMilliseconds}));
  node.sent.push_back({.request = nullptr, .end = end, .is_wait = true});
  node.waits = true;
  flush(node);
}

// Takes the reply of WAIT.
void RedisClient::confirm(Node& node, const RedisReply& reply) {
  node.waits = false;
  if (reply.type != RedisReply::Type::integer) {
    // Also if the node is a replica now: what it has not replicated is lost.
    lose(node, reply.type == RedisReply::Type::error
                   ? refused_by_redis(reply.text).error()
                   : Error{.code = ErrorCode::corrupt, .detail = "the reply to WAIT is not a number"});
    return;
  }
  for (Request* const request : std::exchange(node.unconfirmed, {})) {
    if (request->options.replicas <= reply.integer) {
      finish(*request, std::move(request->answer));
      continue;
    }
    node.unconfirmed.push_back(request);
    node.replicas = std::max(node.replicas, request->options.replicas);
    note({.code = ErrorCode::io,
          .detail = to_text(node.address) + ": " + std::to_string(reply.integer) + " of " +
                    std::to_string(request->options.replicas) +
                    " replicas acknowledged; see INFO replication there, or give a smaller wait=N"});
  }
}

void RedisClient::flush(Node& node) {
  if (const auto written = node.connection->write_some(); !written) {
    lose(node, written.error());
  }
}

void RedisClient::read(Node& node) {
  const auto received = node.connection->read_some();
  // Replies that arrived before the end of the connection count.
  if (take_replies(node) && !received) {
    lose(node, received.error());
  }
}

// Returns whether the connection is still there.
bool RedisClient::take_replies(Node& node) {
  while (node.connection) {
    const Request* const asked = node.sent.empty() ? nullptr : node.sent.front().request;
    auto reply = node.connection->next(asked == nullptr ? kMaxReplyBytes : asked->options.max_reply_bytes);
    if (!reply || (*reply && node.sent.empty())) {
      // A server says so before it closes a connection that it does not want.
      lose(node, reply ? Error{.code = ErrorCode::io, .detail = "a reply without a request"} : reply.error());
      return false;
    }
    if (!*reply) {
      return true;
    }
    const Sent sent = node.sent.front();
    node.sent.pop_front();
    node.heard = Clock::now();
    if (sent.is_wait) {
      confirm(node, **reply);
    } else if (sent.request != nullptr) {
      take_reply(node, *sent.request, **std::move(reply));
    }
  }
  return false;
}

void RedisClient::take_reply(Node& node, Request& request, RedisReply reply) {
  if (reply.type == RedisReply::Type::error) {
    const std::string_view error = reply.text;
    if (redirect(node, request, error)) {
      return;
    }
    for (const std::string_view word : {"TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN"}) {
      if (error.starts_with(word)) {
        is_map_old_ = is_map_old_ || !slots_.empty();
        delay(request, error);
        return;
      }
    }
  }
  const bool is_finished = request.options.replicas == 0 || reply.type == RedisReply::Type::error;
  request.answer.reply = std::move(reply);
  if (is_finished) {
    finish(request, std::move(request.answer));
  } else {
    node.unconfirmed.push_back(&request);
  }
}

// Follows "MOVED SLOT HOST:PORT" and "ASK SLOT HOST:PORT".
bool RedisClient::redirect(Node& from, Request& request, std::string_view error) {
  const bool asks = error.starts_with("ASK ");
  if (!asks && !error.starts_with("MOVED ")) {
    return false;
  }
  const auto address = address_in(error.substr(error.rfind(' ') + 1), from.address);
  Node* const node = address ? node_at(*address) : nullptr;
  if (node != nullptr && !asks) {
    slots_.resize(kRedisSlots, node_at(address_));
    slots_[request.slot] = node;
    is_map_old_ = true;
  }
  // A node that sends requests back to itself waits for the end of a failover; so may two that send them to each other.
  constexpr std::uint32_t kMostRedirections = 5;
  const bool is_loop = ++request.redirections > kMostRedirections;
  if (node == nullptr || node == &from || is_loop || !write(*node, request, asks)) {
    request.redirections = 0;
    delay(request, error);
  }
  return true;
}

void RedisClient::delay(Request& request, std::string_view why) {
  note(refused_by_redis(why).error().within(to_text(address_)));
  delayed_.push_back(&request);
}

bool RedisClient::has_lasting_trouble() const noexcept {
  return trouble_.code == ErrorCode::invalid_argument || trouble_.code == ErrorCode::corrupt;
}

bool RedisClient::gives_up_to_stop(Clock::time_point now) {
  if (!should_stop_ || !should_stop_()) {
    return false;
  }
  stopping_ = stopping_.value_or(now);
  return now - std::max(progress_, *stopping_) > std::min(kStopping, timeout_);
}

void RedisClient::note(Error why) {
  if (!has_lasting_trouble()) {
    trouble_ = std::move(why);
  }
}

// The outcome of what was sent is unknown; the rest was not run. What replicas have not acknowledged was run, but the
// next primary may not have it.
void RedisClient::lose(Node& node, const Error& why) {
  note(why.within(to_text(node.address)));
  const std::uint64_t written = node.connection->written();
  node.connection.reset();
  const auto sent = std::exchange(node.sent, {});
  const auto unconfirmed = std::exchange(node.unconfirmed, {});
  node.waits = false;
  node.replicas = 0;
  losses_ += sent.empty() && unconfirmed.empty() ? 0U : 1U;
  is_map_old_ = is_map_old_ || !slots_.empty();
  for (Request* const request : unconfirmed) {
    lose(*request, true);
  }
  for (const Sent& each : sent) {
    if (each.request != nullptr) {
      lose(*each.request, each.end <= written);
    }
  }
}

void RedisClient::lose(Request& request, bool is_run) {
  if (is_run && request.options.after_loss == AfterLoss::report) {
    finish(request, {.is_lost = true});
  } else {
    request.answer.is_repeated = request.answer.is_repeated || is_run;
    delayed_.push_back(&request);
  }
}

void RedisClient::finish(Request& request, RedisAnswer answer) {
  request.answer = std::move(answer);
  request.is_done = true;
  if (!has_lasting_trouble()) {
    trouble_ = {};
  }
  progress_ = Clock::now();
  backoff_ = {};
}

void RedisClient::send_delayed() {
  if (delayed_.empty() && !is_map_old_) {
    return;
  }
  const auto now = Clock::now();
  if (now < retry_at_) {
    return;
  }
  backoff_ = std::clamp(backoff_ * 2, kShortestBackoff, kLongestBackoff);
  retry_at_ = now + backoff_;
  if (is_map_old_) {
    refresh_slots();
  }
  std::vector<Node*> unreachable;
  for (Request* const request : std::exchange(delayed_, {})) {
    Node& node = slots_.empty() ? *node_at(address_) : *slots_[request->slot];
    if (std::ranges::find(unreachable, &node) != unreachable.end()) {
      delayed_.push_back(request);
    } else if (!write(node, *request, false)) {
      unreachable.push_back(&node);
      delayed_.push_back(request);
      is_map_old_ = !slots_.empty();
    }
  }
}

// Sends, reads, and waits a little for either if nothing can be done at once.
Result<void> RedisClient::step(bool may_wait) {
  send_delayed();
  if (has_lasting_trouble()) {
    return std::unexpected(trouble_);
  }
  for (const auto& [name, node] : nodes_) {
    if (node->connection) {
      ask_replicas(*node);
    }
  }
  const auto now = Clock::now();
  if (now - progress_ > timeout_) {
    return std::unexpected(
        trouble_.detail.empty() ? fail(ErrorCode::io, to_text(address_) + ": no answer in time").error() : trouble_);
  }
  if (gives_up_to_stop(now)) {
    return fail(ErrorCode::io, to_text(address_) + ": stopped before the server answered", EINTR);
  }
  constexpr auto kPatience = std::chrono::milliseconds(100);
  const auto left = delayed_.empty() ? kPatience : std::clamp<Clock::duration>(retry_at_ - now, {}, kPatience);
  poll_nodes(may_wait ? left : Clock::duration::zero());
  look_for_silence();
  return {};
}

void RedisClient::poll_nodes(Clock::duration patience) {
  std::vector<pollfd> descriptors;
  std::vector<Node*> nodes;
  for (const auto& [name, node] : nodes_) {
    if (node->connection) {
      const auto events = static_cast<short>(POLLIN | (node->connection->wants_write() ? POLLOUT : 0));
      descriptors.push_back({.fd = node->connection->descriptor(), .events = events, .revents = 0});
      nodes.push_back(node.get());
    }
  }
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  if (::poll(descriptors.data(), descriptors.size(), static_cast<int>(milliseconds)) <= 0) {
    return;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto events = static_cast<unsigned>(descriptors[i].revents);
    if (nodes[i]->connection && (events & static_cast<unsigned>(POLLOUT)) != 0) {
      flush(*nodes[i]);
    }
    if (nodes[i]->connection && (events & static_cast<unsigned>(POLLIN | POLLHUP | POLLERR)) != 0) {
      read(*nodes[i]);
    }
  }
}

Result<bool> RedisClient::is_answered() {
  if (!requests_.empty() && !requests_.front()->is_done) {
    MANKAI_TRY(step(false));
  }
  return !requests_.empty() && requests_.front()->is_done;
}

Result<RedisAnswer> RedisClient::receive() {
  while (!requests_.front()->is_done) {
    MANKAI_TRY(step(true));
  }
  // A request that is not repeated is done, and would hide it.
  if (has_lasting_trouble()) {
    return std::unexpected(trouble_);
  }
  RedisAnswer answer = std::move(requests_.front()->answer);
  bytes_ -= requests_.front()->bytes.size();
  requests_.pop_front();
  return answer;
}

void RedisClient::abandon() {
  for (const auto& [name, node] : nodes_) {
    if (node->connection) {
      lose(*node, trouble_);
    }
  }
  for (Request* const request : std::exchange(delayed_, {})) {
    const bool may_be_run = request->answer.is_repeated;
    finish(*request, {.is_lost = may_be_run, .is_unsent = !may_be_run});
  }
  trouble_ = {};
}

Result<RedisReply> RedisClient::call(std::span<const std::string_view> words, std::string_view key) {
  send(request_of(words), key);
  MANKAI_ASSIGN(auto answer, receive());
  return std::move(answer.reply);
}

}  // namespace mankai
