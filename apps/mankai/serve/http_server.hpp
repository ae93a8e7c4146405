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
  std::string_view content_type;  ///< empty where there is no body
  std::string body;
  std::vector<std::pair<std::string_view, std::string>> headers;  ///< beside those that every response has
};

/// The response to a request that is refused: {"error": "…"}.
[[nodiscard]] HttpResponse error_response(int status, const std::string& why);

/// What is sent: the status line, the headers, and the body unless the request was HEAD.
[[nodiscard]] std::string to_bytes(const HttpResponse& response, bool has_body, bool closes);

/// A request and its response, for logs and metrics.
struct Exchange {
  std::string_view request_line;  ///< of a refused request, the received part
  bool is_refused = false;        ///< before it reached an endpoint
  std::string_view address;       ///< of the client
  int status = 0;
  std::size_t answer_bytes = 0;  ///< with the head
  double seconds = 0;            ///< from the complete request to the complete response, before it is sent
};

struct ServerCounts {
  std::uint64_t accepted = 0;
  std::uint64_t open = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t pushed_out = 0;  ///< closed to make room
};

/// All threads wait on one epoll. No thread owns a connection that waits, so a few threads serve thousands of clients
/// and none waits for one. The owner accepts and keeps time by calling `look_after` again and again.
/// docs/adr/0015-guard-serve-keeps-its-server.md says why this is not a library.
///
/// Threads: start, look_after, begin_stop and finish_stop from one thread, counts from any; the server calls `handle`
///          and `observe` from all of its threads.
class HttpServer {
 public:
  /// Connections that are only about to end do not count as open. There may be this many of them beside the others.
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

  /// Takes a listening socket that does not block. Errors: io.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(Descriptor listener, Settings settings);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Readable when a client waits to be accepted; -1 while there is no room, and after begin_stop.
  [[nodiscard]] int listener() const noexcept { return is_full_ ? -1 : listener_.get(); }
  /// Accepts waiting clients and ends connections that exceeded their time limit.
  void look_after();

  /// Ends listening. Requests that arrive on open connections within half a second are answered, as the last ones.
  void begin_stop();
  [[nodiscard]] bool has_stopped() const;
  /// Closes the remaining connections and ends the threads.
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
  Descriptor end_;     ///< readable when the threads must end
  std::vector<std::thread> threads_;
  std::atomic<bool> is_stopping_ = false;
  SteadyTime stop_begun_;
  SteadyTime next_check_;
  bool is_full_ = false;
  SteadyTime full_until_;
  std::size_t room_ = 0;  ///< connections that can be accepted without counting again
  std::uint64_t accepted_ = 0;
  std::uint64_t timed_out_ = 0;
  std::uint64_t pushed_out_ = 0;

  mutable std::mutex mutex_;  ///< of what follows
  std::unordered_set<Connection*> connections_;
};

}  // namespace mankai::command::serve
