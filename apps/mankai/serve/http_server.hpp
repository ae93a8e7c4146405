#pragma once

/// An HTTP server: httplib reads requests and writes answers, the sockets are looked after here.

#include <httplib.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "apps/mankai/serve/connection.hpp"
#include "apps/mankai/serve/descriptor.hpp"
#include "mankai/base/error.hpp"

namespace mankai::command::serve {

/// A request and its answer, as logs and metrics see them.
struct Exchange {
  std::string_view request_line;  ///< of a refused request, what was received of it
  bool is_refused = false;        ///< before any endpoint saw it
  std::string_view address;       ///< of the client
  int status = 0;
  std::size_t answer_bytes = 0;  ///< with the head
  double seconds = 0;            ///< from the whole request being here to the whole answer being written
};

struct ServerCounts {
  std::uint64_t accepted = 0;
  std::uint64_t open = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t pushed_out = 0;  ///< closed to make room
};

/// Why httplib's own loop is not used: it gives a thread to every connection for as long as it lasts, idle or slow,
/// wakes a hundred times per second for each that is idle, listens with a backlog of 5, shares a taken port, reads
/// bodies and header lines of any size, and loses what was sent together with a request.
///
/// Here all threads wait on one epoll; a connection is nobody's until it can go on, so some threads serve thousands of
/// clients, and none waits for one. The owner accepts and keeps time by calling `look_after` again and again.
///
/// Threads: start, look_after, begin_stop and finish_stop from one, counts from any; `handle` and `observe` are called
///          from any of the server's.
class HttpServer : private httplib::Server {
 public:
  /// Connections that are only about to end do not count as open. There may be so many of them beside the others.
  [[nodiscard]] static constexpr std::size_t ending_max(std::size_t connections_max) noexcept {
    constexpr std::size_t kShare = 8;
    constexpr std::size_t kLeast = 16;
    return connections_max / kShare + kLeast;
  }

  using Handle = std::function<void(const httplib::Request&, httplib::Response&)>;
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
  ~HttpServer() override;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Readable when there is somebody to accept; -1 while there is no room for anybody, and after begin_stop.
  [[nodiscard]] int listener() const noexcept { return is_full_ ? -1 : listener_.get(); }
  /// Accepts whoever waits and ends whatever has taken too long.
  void look_after();

  /// Ends listening. Requests that come on open connections within a moment are answered and are the last ones there.
  void begin_stop();
  [[nodiscard]] bool has_stopped() const;
  /// Cuts what is left and ends the threads.
  void finish_stop();

  [[nodiscard]] ServerCounts counts() const;

 private:
  HttpServer(Descriptor listener, Settings settings, Descriptor events, Descriptor end);

  void work();
  void serve(Connection& connection);
  void answer(Connection& connection);
  void refuse(Connection& connection);
  void observe(const Connection& connection, std::string_view request_line, SteadyTime begun) const;
  void wait_for(Connection& connection, std::uint32_t events, int operation);
  void end(Connection& connection);

  void accept_all();
  void pause_accepting();
  void add(Descriptor socket, std::string address, int port);
  [[nodiscard]] bool make_room();
  [[nodiscard]] std::size_t ask_to_leave(std::size_t most);
  void end_overdue();

  Descriptor listener_;
  Settings settings_;
  Descriptor events_;  ///< epoll
  Descriptor end_;     ///< readable when the threads are to end
  std::vector<std::thread> threads_;
  std::atomic<bool> is_stopping_ = false;
  SteadyTime stop_begun_;
  SteadyTime next_check_;
  bool is_full_ = false;
  SteadyTime full_until_;
  std::size_t room_ = 0;  ///< for so many more without looking anew
  std::uint64_t accepted_ = 0;
  std::uint64_t timed_out_ = 0;
  std::uint64_t pushed_out_ = 0;

  mutable std::mutex mutex_;  ///< of what follows
  std::unordered_set<Connection*> connections_;
};

}  // namespace mankai::command::serve
