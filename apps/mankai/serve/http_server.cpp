#include "apps/mankai/serve/http_server.hpp"

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
#include <charconv>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

namespace mankai::command::serve {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// A client that sends request after request at once lets others have their turn after so many.
constexpr unsigned kRequestsInARow = 64;
/// How long open connections may come with another request while the server stops.
constexpr milliseconds kLastRequests(500);
/// How long nobody is accepted when there is no room, or the system has no more descriptors.
constexpr milliseconds kFullPause(10);

// "HTTP/1.1 200 OK": what the client is told, whoever wrote it.
int status_of(std::string_view answer) {
  constexpr std::size_t kBefore = std::string_view("HTTP/1.1 ").size();
  constexpr std::size_t kDigits = 3;
  int status = 0;
  if (answer.size() >= kBefore + kDigits) {
    std::from_chars(answer.data() + kBefore, answer.data() + kBefore + kDigits, status);
  }
  return status;
}

std::pair<std::string, int> name_of(const sockaddr_storage& address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(), host.size(), port.data(),
                  port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {"", 0};
  }
  int number = 0;
  std::from_chars(port.data(), port.data() + std::string_view(port.data()).size(), number);
  return {host.data(), number};
}

constexpr std::size_t kLeavingOrders = 3;

// Who is asked first to make room, or nothing for who is not: those that have been idle for a moment, then those that
// have been about a request or an answer for longer than that, then those that have had their answer just now.
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
    : listener_(std::move(listener)), settings_(std::move(settings)), events_(std::move(events)), end_(std::move(end)) {
  // Every request is ours before httplib looks for a route, so that its regular expressions are never run.
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    settings_.handle(request, response);
    return HandlerResponse::Handled;
  });
  set_exception_handler([](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
    constexpr int kInternalError = 500;
    response.status = kInternalError;
    response.set_content("{\"error\":\"out of memory\"}\n", "application/json");
  });
  // Those of httplib would promise a number of requests that is not limited here.
  set_post_routing_handler(
      [](const httplib::Request&, httplib::Response& response) { response.headers.erase("Keep-Alive"); });
}

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
      end(connection);  // nothing throws once it is somebody else's
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
  wait_for(connection, EPOLLOUT, EPOLL_CTL_MOD);  // ready at once, behind those that are ready already
}

void HttpServer::answer(Connection& connection) {
  const SteadyTime begun = Clock::now();
  const bool closes = connection.head().closes || is_stopping_.load(std::memory_order_relaxed);
  const std::string request_line = connection.head().request_line;
  bool is_closed = false;
  bool is_answered = false;
  try {
    is_answered = process_request(connection, closes, is_closed, [&](httplib::Request& request) {
      request.target = connection.head().target;
      request.body = connection.body();
    });
  } catch (const std::bad_alloc&) {
    // No memory even for saying so: the connection ends, the server does not.
    is_closed = true;
  }
  observe(connection, request_line, begun);
  connection.end_request(closes || is_closed || !is_answered);
}

void HttpServer::refuse(Connection& connection) {
  const SteadyTime begun = Clock::now();
  const Refusal& refusal = connection.refusal();
  const std::string body = fmt::format("{{\"error\":\"{}\"}}\n", refusal.why);
  const std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nCache-Control: no-store\r\nConnection: close\r\nContent-Length: {}\r\n"
      "Content-Type: application/json\r\nX-Content-Type-Options: nosniff\r\n\r\n{}",
      refusal.status, refusal.reason, body.size(), body);
  connection.write(text.data(), text.size());
  observe(connection, connection.received_line(), begun);
  connection.end_request(true);
}

void HttpServer::observe(const Connection& connection, std::string_view request_line, SteadyTime begun) const {
  settings_.observe({.request_line = request_line,
                     .is_refused = connection.is_refused(),
                     .address = connection.address(),
                     .status = status_of(connection.answer()),
                     .answer_bytes = connection.answer().size(),
                     .seconds = std::chrono::duration<double>(Clock::now() - begun).count()});
}

// From here on another thread may have the connection.
void HttpServer::wait_for(Connection& connection, std::uint32_t events, int operation) {
  epoll_event event{.events = events | EPOLLONESHOT, .data = {.ptr = &connection}};
  if (epoll_ctl(events_.get(), operation, connection.descriptor(), &event) != 0) {
    end(connection);
  }
}

void HttpServer::end(Connection& connection) {
  // Before the socket is closed: a thread that looks at it within epoll_wait just then would hold it open, and as it
  // looks on for other events there, the client would wait for the end of the connection.
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
      auto [name, port] = name_of(address, length);
      add(std::move(socket), std::move(name), port);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      break;  // no descriptors or no memory
    }
  }
  pause_accepting();
}

void HttpServer::add(Descriptor socket, std::string address, int port) {
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  auto connection = std::make_unique<Connection>(std::move(socket), std::move(address), port, settings_.limits);
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
    // They have had their answers, and a moment to read them.
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

// A client that wants nothing bad has sent its request within a moment after it came, and has read the answer soon. So
// nobody leaves who came within this moment, and nobody who has just begun with a request.
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
      timed_out_ += connection->cut(phase) && !is_idle ? 1 : 0;
    } else if (is_idle && is_last_call) {
      connection->cut(phase);
    }
  }
}

void HttpServer::begin_stop() {
  try {
    accept_all();  // whoever is in the queue already
  } catch (const std::bad_alloc&) {
    pause_accepting();
  }
  is_stopping_ = true;
  stop_begun_ = Clock::now();
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
