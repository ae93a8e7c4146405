#pragma once

/// An HTTP/1.1 server for short requests.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "apps/mankai/descriptor.hpp"
#include "apps/mankai/serve/connection.hpp"
#include "mankai/base/error.hpp"

namespace mankai::command::serve {

inline constexpr std::string_view kJson = "application/json";

struct HttpResponse {
  int status = 200;
  std::string_view content_type;  ///< empty without a body
  std::string body;
  std::vector<std::pair<std::string_view, std::string>> headers;  ///< in addition to those of every response
};

/// Returns {"error": "…"}.
[[nodiscard]] HttpResponse error_response(int status, const std::string& why);

/// Returns the status line, the headers, and the body if `has_body`.
[[nodiscard]] std::string to_bytes(const HttpResponse& response, bool has_body, bool closes);

/// A request and its response, for logs and metrics.
struct Exchange {
  std::string_view request_line;  ///< the received part for a refused request
  bool is_refused = false;        ///< before it reached an endpoint
  std::string_view address;
  int status = 0;
  std::size_t answer_bytes = 0;  ///< including the head
  double seconds = 0;            ///< from the complete request to the formatted response
};

struct ServerCounts {
  std::uint64_t accepted = 0;
  std::uint64_t open = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t pushed_out = 0;  ///< closed to make room
};

/// All threads wait on one epoll. A waiting connection occupies no thread, so a few threads serve thousands of clients.
/// The owner must call `look_after` repeatedly: it accepts clients and enforces time limits.
/// docs/adr/0015-guard-serve-keeps-its-server.md explains why this is not a library.
///
/// Threads: start, look_after, begin_stop and finish_stop from one thread, counts from any; the server calls `handle`
///          and `observe` from all of its threads.
class HttpServer {
 public:
  /// Maximum number of connections that are about to end; these do not count as open.
  [[nodiscard]] static constexpr std::size_t ending_max(std::size_t connections_max) noexcept {
    constexpr std::size_t kShare = 8;
    constexpr std::size_t kLeast = 16;
    return connections_max / kShare + kLeast;
  }

  using Handle = std::function<HttpResponse(const RequestHead&, std::string_view body)>;
  using Observe = std::function<void(const Exchange&)>;

  struct Settings {
    unsigned threads = 1;
    std::size_t connections_max = 1;
    TimeLimits limits;
    Handle handle;
    Observe observe;
  };

  /// Pre: the listening socket is non-blocking. Errors: io.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(Descriptor listener, Settings settings);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Readable when a client waits to be accepted; -1 while the server is full, and after begin_stop.
  [[nodiscard]] int listener() const noexcept { return is_full_ ? -1 : listener_.get(); }
  void look_after();

  /// Stops listening. Open connections may send one more request within half a second.
  void begin_stop();
  [[nodiscard]] bool has_stopped() const;
  void finish_stop();

  [[nodiscard]] ServerCounts counts() const;

 private:
  HttpServer(Descriptor listener, Settings settings, Descriptor events, Descriptor end);

  void work();
  void serve(Connection& connection);
  void answer(Connection& connection);
  void refuse(Connection& connection);
  [[nodiscard]] HttpResponse response_to(const Connection& connection) const;
  void respond(Connection& connection, const HttpResponse& response, std::string_view request_line, SteadyTime begun,
               bool closes) const;
  void wait_for(Connection& connection, std::uint32_t events, int operation);
  void end(Connection& connection);

  void accept_all();
  void pause_accepting();
  void add(Descriptor socket, std::string address);
  [[nodiscard]] bool make_room();
  [[nodiscard]] std::size_t ask_to_leave(std::size_t most);
  void end_overdue();

  Descriptor listener_;
  Settings settings_;
  Descriptor events_;  ///< epoll
  Descriptor end_;     ///< readable when the threads must exit
  std::vector<std::thread> threads_;
  std::atomic<bool> is_stopping_ = false;
  SteadyTime stop_begun_;
  SteadyTime next_check_;
  bool is_full_ = false;
  SteadyTime full_until_;
  std::size_t room_ = 0;  ///< connections that can be accepted before make_room counts again
  std::uint64_t accepted_ = 0;
  std::uint64_t timed_out_ = 0;
  std::uint64_t pushed_out_ = 0;

  mutable std::mutex mutex_;  ///< protects connections_ and the three counters
  std::unordered_set<Connection*> connections_;
};

}  // namespace mankai::command::serve
