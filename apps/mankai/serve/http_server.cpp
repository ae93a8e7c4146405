#include "apps/mankai/serve/http_server.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <exception>
#include <iterator>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "apps/mankai/report.hpp"

namespace mankai::command::serve {
namespace {

std::string_view reason_of(int status) noexcept {
  using Reason = std::pair<int, std::string_view>;
  constexpr std::array kReasons = {Reason{200, "OK"},
                                   Reason{302, "Found"},
                                   Reason{400, "Bad Request"},
                                   Reason{403, "Forbidden"},
                                   Reason{404, "Not Found"},
                                   Reason{405, "Method Not Allowed"},
                                   Reason{408, "Request Timeout"},
                                   Reason{411, "Length Required"},
                                   Reason{413, "Payload Too Large"},
                                   Reason{414, "URI Too Long"},
                                   Reason{415, "Unsupported Media Type"},
                                   Reason{431, "Request Header Fields Too Large"},
                                   Reason{500, "Internal Server Error"},
                                   Reason{501, "Not Implemented"},
                                   Reason{505, "HTTP Version Not Supported"}};
  const auto found = std::ranges::find(kReasons, status, &Reason::first);
  return found == kReasons.end() ? "Unknown" : found->second;
}

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Pipelined requests in a row per connection, before others are served.
constexpr unsigned kRequestsInARow = 64;
/// Time in which open connections may send another request while the server stops.
constexpr milliseconds kLastRequests(500);
/// Pause after the server ran out of room or descriptors.
constexpr milliseconds kFullPause(10);

std::string name_of(const sockaddr_storage& address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  const int failure = getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(), host.size(),
                                  nullptr, 0, NI_NUMERICHOST);
  return failure == 0 ? host.data() : "";
}

// The clock as in a Date header (RFC 9110, 5.6.7), formatted once per second. Valid until the thread's next call.
std::string_view date_now() {
  thread_local std::time_t second = -1;
  thread_local std::string text;
  if (const std::time_t now = std::time(nullptr); now != second) {
    text = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(now));
    second = now;
  }
  return text;
}

constexpr std::size_t kLeavingOrders = 3;

// Returns the priority with which a connection is closed to make room; nothing: it stays. First connections that were
// idle for a second, then those with a request in progress for a second, then those that just got a response.
std::optional<std::size_t> leaving_order(const PhaseState& state, SteadyTime now) {
  constexpr std::chrono::seconds kMoment(1);
  const bool is_old = now - state.since > kMoment;
  switch (state.phase) {
    case Phase::fresh: return is_old ? std::optional<std::size_t>(0) : std::nullopt;
    case Phase::idle: return is_old ? 0 : 2;
    case Phase::receiving:
    case Phase::sending: return is_old ? std::optional<std::size_t>(1) : std::nullopt;
    case Phase::lingering: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

HttpResponse error_response(int status, const std::string& why) {
  Report report;
  report.add("error", why);
  return {.status = status, .content_type = kJson, .body = report.json(), .headers = {}};
}

std::string to_bytes(const HttpResponse& response, bool has_body, bool closes) {
  std::string bytes = fmt::format(
      "HTTP/1.1 {} {}\r\nDate: {}\r\nCache-Control: no-store\r\nContent-Length: {}\r\nReferrer-Policy: "
      "no-referrer\r\nX-Content-Type-Options: nosniff\r\n",
      response.status, reason_of(response.status), date_now(), response.body.size());
  if (!response.content_type.empty()) {
    fmt::format_to(std::back_inserter(bytes), "Content-Type: {}\r\n", response.content_type);
  }
  for (const auto& [name, value] : response.headers) {
    fmt::format_to(std::back_inserter(bytes), "{}: {}\r\n", name, value);
  }
  bytes += closes ? "Connection: close\r\n\r\n" : "\r\n";
  return has_body ? bytes + response.body : bytes;
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(Descriptor listener, Settings settings) {
  Descriptor events(epoll_create1(EPOLL_CLOEXEC));
  Descriptor end(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event at_end{.events = EPOLLIN, .data = {.ptr = nullptr}};
  if (events.get() < 0 || end.get() < 0 || epoll_ctl(events.get(), EPOLL_CTL_ADD, end.get(), &at_end) != 0) {
    return fail(ErrorCode::io, "cannot wait for connections", errno);
  }
  std::unique_ptr<HttpServer> server(
      new HttpServer(std::move(listener), std::move(settings), std::move(events), std::move(end)));
  try {
    for (unsigned i = 0; i < server->settings_.threads; ++i) {
      server->threads_.emplace_back([server = server.get()] { server->work(); });
    }
  } catch (const std::system_error& error) {
    return fail(ErrorCode::io, "cannot start so many threads (--threads)", error.code().value());
  }
  return server;
}

HttpServer::HttpServer(Descriptor listener, Settings settings, Descriptor events, Descriptor end)
    : listener_(std::move(listener)),
      settings_(std::move(settings)),
      events_(std::move(events)),
      end_(std::move(end)) {}

HttpServer::~HttpServer() { finish_stop(); }

void HttpServer::work() {
  for (;;) {
    epoll_event event{};
    const int count = epoll_wait(events_.get(), &event, 1, -1);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count != 1 || event.data.ptr == nullptr) {
      return;
    }
    Connection& connection = *static_cast<Connection*>(event.data.ptr);
    try {
      serve(connection);
    } catch (const std::bad_alloc&) {
      end(connection);  // nothing throws after wait_for, so the connection is still owned
    }
  }
}

void HttpServer::serve(Connection& connection) {
  for (unsigned i = 0; i < kRequestsInARow; ++i) {
    switch (connection.advance()) {
      case Step::answer: answer(connection); break;
      case Step::refuse: refuse(connection); break;
      case Step::wait_input: return wait_for(connection, EPOLLIN, EPOLL_CTL_MOD);
      case Step::wait_output: return wait_for(connection, EPOLLOUT, EPOLL_CTL_MOD);
      case Step::close: return end(connection);
    }
  }
  wait_for(connection, EPOLLOUT, EPOLL_CTL_MOD);  // ready at once, but queued after other ready connections
}

HttpResponse HttpServer::response_to(const Connection& connection) const {
  constexpr int kInternalError = 500;
  try {
    return settings_.handle(connection.head(), connection.body());
  } catch (const std::exception&) {  // out of memory; the handler's allocations are freed
    return error_response(kInternalError, "out of memory");
  }
}

void HttpServer::answer(Connection& connection) {
  const SteadyTime begun = Clock::now();
  const bool closes = connection.head().closes || is_stopping_.load(std::memory_order_relaxed);
  respond(connection, response_to(connection), connection.head().request_line, begun, closes);
}

void HttpServer::refuse(Connection& connection) {
  const SteadyTime begun = Clock::now();
  const Refusal& refusal = connection.refusal();
  respond(connection, error_response(refusal.status, std::string(refusal.why)), connection.received_line(), begun,
          true);
}

void HttpServer::respond(Connection& connection, const HttpResponse& response, std::string_view request_line,
                         SteadyTime begun, bool closes) const {
  const std::string bytes = to_bytes(response, !request_line.starts_with("HEAD "), closes);
  connection.put(bytes);
  settings_.observe({.request_line = request_line,
                     .is_refused = connection.is_refused(),
                     .address = connection.address(),
                     .status = response.status,
                     .answer_bytes = bytes.size(),
                     .seconds = std::chrono::duration<double>(Clock::now() - begun).count()});
  connection.end_request(closes);
}

// After this call, another thread may own the connection.
void HttpServer::wait_for(Connection& connection, std::uint32_t events, int operation) {
  epoll_event event{.events = events | EPOLLONESHOT, .data = {.ptr = &connection}};
  if (epoll_ctl(events_.get(), operation, connection.descriptor(), &event) != 0) {
    end(connection);
  }
}

void HttpServer::end(Connection& connection) {
  // Must precede closing the socket: a thread in epoll_wait could keep it open by a reference, and the client would
  // wait for the end of the connection.
  epoll_ctl(events_.get(), EPOLL_CTL_DEL, connection.descriptor(), nullptr);
  {
    const std::lock_guard lock(mutex_);
    connections_.erase(&connection);
  }
  delete &connection;
}

void HttpServer::look_after() {
  constexpr milliseconds kBetweenChecks(20);
  if (Clock::now() >= next_check_) {
    next_check_ = Clock::now() + kBetweenChecks;
    end_overdue();
  }
  if (is_full_ && Clock::now() >= full_until_) {
    is_full_ = false;
  }
  if (listener() >= 0) {
    try {
      accept_all();
    } catch (const std::bad_alloc&) {
      pause_accepting();
    }
  }
}

void HttpServer::pause_accepting() {
  is_full_ = true;
  full_until_ = Clock::now() + kFullPause;
}

void HttpServer::accept_all() {
  while (make_room()) {
    sockaddr_storage address{};
    socklen_t length = sizeof(address);
    Descriptor socket(accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length,
                              static_cast<int>(SOCK_NONBLOCK) | static_cast<int>(SOCK_CLOEXEC)));
    if (socket.get() >= 0) {
      add(std::move(socket), name_of(address, length));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      break;  // no descriptors or no memory
    }
  }
  pause_accepting();
}

void HttpServer::add(Descriptor socket, std::string address) {
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  auto connection = std::make_unique<Connection>(std::move(socket), std::move(address), settings_.limits);
  {
    const std::lock_guard lock(mutex_);
    ++accepted_;
    --room_;
    connections_.insert(connection.get());
  }
  wait_for(*connection.release(), EPOLLIN, EPOLL_CTL_ADD);
}

bool HttpServer::make_room() {
  if (room_ > 0) {
    return true;
  }
  const std::lock_guard lock(mutex_);
  const auto ending = static_cast<std::size_t>(
      std::ranges::count_if(connections_, [](const Connection* one) { return one->is_ending(); }));
  if (ending >= ending_max(settings_.connections_max)) {
    // Lingering connections have their responses, and had time to read them.
    std::ranges::for_each(connections_, [](Connection* one) {
      if (one->phase() == Phase::lingering) {
        one->cut(Phase::lingering);
      }
    });
    return false;
  }
  const std::size_t open = connections_.size() - ending;
  room_ = open < settings_.connections_max ? settings_.connections_max - open
                                           : ask_to_leave(ending_max(settings_.connections_max) - ending);
  return room_ > 0;
}

// Well-behaved clients send requests and read responses promptly, so new connections and new requests are spared.
std::size_t HttpServer::ask_to_leave(std::size_t most) {
  constexpr std::size_t kShare = 16;
  struct Candidate {
    PhaseState state;
    Connection* connection;
  };
  std::array<std::vector<Candidate>, kLeavingOrders> by_order;
  const SteadyTime now = Clock::now();
  for (Connection* connection : connections_) {
    const PhaseState state = connection->state();
    if (const auto order = connection->is_ending() ? std::nullopt : leaving_order(state, now)) {
      by_order.at(*order).push_back({.state = state, .connection = connection});
    }
  }
  const auto found = std::ranges::find_if(by_order, [](const auto& some) { return !some.empty(); });
  if (found == by_order.end()) {
    return 0;
  }
  const std::size_t count = std::min({found->size(), most, settings_.connections_max / kShare + 1});
  std::ranges::partial_sort(*found, found->begin() + static_cast<std::ptrdiff_t>(count), {},
                            [](const Candidate& one) { return one.state.since; });
  for (const auto& [state, connection] : std::span(*found).first(count)) {
    pushed_out_ += connection->cut(state.phase) ? 1 : 0;
  }
  return count;
}

void HttpServer::end_overdue() {
  const SteadyTime now = Clock::now();
  const bool is_last_call = is_stopping_ && now >= stop_begun_ + kLastRequests;
  const std::lock_guard lock(mutex_);
  for (Connection* connection : connections_) {
    const auto [phase, since] = connection->state();
    const bool is_idle = is_without_request(phase);
    if (now >= since + settings_.limits.of(phase)) {
      timed_out_ += connection->expire(phase) && !is_idle ? 1 : 0;
    } else if (is_idle && is_last_call) {
      connection->cut(phase);
    }
  }
}

void HttpServer::begin_stop() {
  is_stopping_ = true;
  stop_begun_ = Clock::now();
  // Accepts queued clients directly before closing the listener, which resets them.
  try {
    accept_all();
  } catch (const std::bad_alloc&) {
    pause_accepting();
  }
  listener_.close();
}

bool HttpServer::has_stopped() const {
  const std::lock_guard lock(mutex_);
  return connections_.empty();
}

void HttpServer::finish_stop() {
  is_stopping_ = true;
  const std::uint64_t one = 1;
  static_cast<void>(!::write(end_.get(), &one, sizeof(one)));
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
  for (Connection* connection : connections_) {
    delete connection;
  }
  connections_.clear();
}

ServerCounts HttpServer::counts() const {
  const std::lock_guard lock(mutex_);
  return {.accepted = accepted_, .open = connections_.size(), .timed_out = timed_out_, .pushed_out = pushed_out_};
}

}  // namespace mankai::command::serve
