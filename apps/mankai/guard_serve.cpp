#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <future>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "apps/mankai/output.hpp"
#include "apps/mankai/serve/access_log.hpp"
#include "apps/mankai/serve/guard_service.hpp"
#include "apps/mankai/serve/http_server.hpp"
#include "apps/mankai/serve/listener.hpp"
#include "apps/mankai/serve/live_guard.hpp"
#include "apps/mankai/serve/metrics.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/base/number.hpp"

namespace mankai::command {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// The service stops at most this much later than its longest request.
constexpr std::chrono::seconds kStopMargin(5);

struct GuardServeRequest {
  std::string file;
  serve::Endpoint listen{.host = "127.0.0.1", .port = "8080"};
  unsigned threads = std::max(2U, std::thread::hardware_concurrency());
  unsigned connections = 1024;
  unsigned timeout = 10;  // seconds
  std::string log;
  bool no_watch = false;
  bool no_redirect = false;
};

/// Delivers stop and reload signals through a descriptor to poll, so that no handler interrupts system calls. Signals
/// that were ignored at the start, as under nohup, stay ignored.
class Signals {
 public:
  /// Pre: no other threads, so that all later threads inherit the signal mask.
  Signals() {
    sigset_t set{};
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      sigaddset(&set, signal);
    }
    pthread_sigmask(SIG_BLOCK, &set, &before_);
    descriptor_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }

  [[nodiscard]] int next() const {
    signalfd_siginfo info{};
    const ssize_t bytes = read(descriptor_.get(), &info, sizeof(info));
    return bytes == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  sigset_t before_{};
  Descriptor descriptor_;
};

/// Reports the service's state to the service manager, as sd_notify does, without its library.
///
/// Shape:   lines such as "READY=1" or "STATUS=…".
/// Errors:  none; no effect without a manager.
/// Threads: one at a time.
/// Source:  [SdNotify]
class ServiceManager {
 public:
  ServiceManager();
  void tell(std::string_view lines) const;
  /// Sends RELOADING=1 with the time, which systemd requires.
  void tell_reloading() const;

 private:
  std::string socket_;  ///< a path, or an abstract name with a leading NUL
};

ServiceManager::ServiceManager() {
  // Called once, before there are threads. NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (const char* name = std::getenv("NOTIFY_SOCKET"); name != nullptr) {
    socket_ = name;
  }
  if (socket_.starts_with('@')) {
    socket_[0] = '\0';
  }
}

void ServiceManager::tell(std::string_view lines) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) {
    return;
  }
  const int descriptor = socket(AF_UNIX, static_cast<int>(SOCK_DGRAM) | static_cast<int>(SOCK_CLOEXEC), 0);
  if (descriptor < 0) {
    return;
  }
  std::memcpy(static_cast<char*>(address.sun_path), socket_.data(), socket_.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  static_cast<void>(sendto(descriptor, lines.data(), lines.size(), MSG_NOSIGNAL,
                           reinterpret_cast<const sockaddr*>(&address), length));
  close(descriptor);
}

void ServiceManager::tell_reloading() const {
  constexpr long long kMicrosecondsPerSecond = 1'000'000;
  constexpr long long kNanosecondsPerMicrosecond = 1000;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  tell(fmt::format("RELOADING=1\nMONOTONIC_USEC={}",
                   now.tv_sec * kMicrosecondsPerSecond + now.tv_nsec / kNanosecondsPerMicrosecond));
}

// Raises the limit of descriptors as far as allowed; returns how many connections fit.
std::size_t make_room_for(unsigned connections) {
  constexpr rlim_t kOthers = 64;  // files, standard streams, and what a reload opens
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return connections;
  }
  const auto needed = [](std::size_t number) { return number + serve::HttpServer::ending_max(number) + kOthers; };
  const rlim_t wanted = needed(connections);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  std::size_t number = connections;
  while (number > 1 && needed(number) > limit.rlim_cur) {
    number = std::min(number - 1, number * limit.rlim_cur / needed(number));
  }
  return number;
}

// For messages while the service runs: never blocks, even if nobody reads standard error.
void say_at_once(std::string_view line) {
  pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&ready, 1, 0) > 0) {
    say(line);
  }
}

class ServeRun {
 public:
  ServeRun(const GuardServeRequest& request, std::unique_ptr<serve::LiveGuard> guard,
           std::unique_ptr<serve::AccessLog> log)
      : request_(request),
        guard_(std::move(guard)),
        log_(std::move(log)),
        service_(*guard_, metrics_,
                 {.redirects = !request.no_redirect,
                  .server_counts = [this] { return server_->counts(); },
                  .lost_log_lines = [this] { return log_ ? log_->lost() : 0; }}) {}

  Result<int> run() {
    MANKAI_ASSIGN(auto listener, serve::listen_at(request_.listen));
    const Signals signals;
    MANKAI_ASSIGN(
        auto server,
        serve::HttpServer::start(
            std::move(listener.socket),
            {.threads = request_.threads,
             .connections_max = make_room_for(request_.connections),
             .limits = {.receiving = std::chrono::seconds(request_.timeout),
                        .sending = std::chrono::seconds(request_.timeout)},
             .handle = [this](const auto& head, std::string_view body) { return service_.handle(head, body); },
             .observe = [this](const serve::Exchange& exchange) { observe(exchange); }}));
    server_ = std::move(server);
    tell_ready(listener.at);
    serve_until_stopped(signals);
    return stop(signals);
  }

 private:
  void observe(const serve::Exchange& exchange) {
    metrics_.count(exchange);
    if (log_) {
      log_->write(exchange);
    }
  }

  // Prints the address, whose port the system may have chosen. A failed write does not stop the service.
  void tell_ready(const serve::Endpoint& at) {
    manager_.tell("READY=1\nSTATUS=Serving " + request_.file + " on " + serve::to_text(at));
    Output output;
    output.append_line("listening on http://" + serve::to_text(at));
    static_cast<void>(output.flush());  // stays open, or a connection would get descriptor 1
  }

  void serve_until_stopped(const Signals& signals) {
    constexpr milliseconds kBetweenLooks(1000);
    auto next_look = Clock::now() + kBetweenLooks;
    for (;;) {
      constexpr milliseconds kLongest(250);
      constexpr milliseconds kWhileLoading(20);
      wait(signals, loading_.valid() ? kWhileLoading : kLongest);
      server_->look_after();
      end_reload();
      for (int signal = signals.next(); signal != 0; signal = signals.next()) {
        if (signal != SIGHUP) {
          return;
        }
        begin_reload();
        reopen_log();
      }
      if (!request_.no_watch && !loading_.valid() && Clock::now() >= next_look) {
        next_look = Clock::now() + kBetweenLooks;
        if (guard_->has_changed()) {
          begin_reload();
        }
      }
    }
  }

  void wait(const Signals& signals, milliseconds longest) const {
    constexpr milliseconds kFullPause(10);
    std::array<pollfd, 2> descriptors = {pollfd{.fd = signals.descriptor(), .events = POLLIN, .revents = 0},
                                         pollfd{.fd = server_->listener(), .events = POLLIN, .revents = 0}};
    const bool is_full = server_->listener() < 0;
    static_cast<void>(poll(descriptors.data(), descriptors.size(),
                           static_cast<int>((is_full ? std::min(longest, kFullPause) : longest).count())));
  }

  // Loads in another thread, so that a large file does not delay clients.
  void begin_reload() {
    if (loading_.valid()) {
      loads_again_ = true;  // the file being read may be older than this request
      return;
    }
    manager_.tell_reloading();
    try {
      loading_ = std::async(std::launch::async, [this] { return load(); });
    } catch (const std::system_error& error) {
      std::promise<Result<void>> failed;
      failed.set_value(
          fail(ErrorCode::io, request_.file + ": cannot be loaded without another thread", error.code().value()));
      loading_ = failed.get_future();
    }
  }

  Result<void> load() {
    try {
      return guard_->reload();
    } catch (const std::bad_alloc&) {
      return fail(ErrorCode::out_of_space, request_.file + ": no memory for it beside the one in use");
    }
  }

  void end_reload() {
    if (!loading_.valid() || loading_.wait_for(milliseconds(0)) != std::future_status::ready) {
      return;
    }
    const auto loaded = loading_.get();
    metrics_.count_reload(loaded.has_value());
    say_at_once(loaded ? request_.file + ": loaded again"
                       : loaded.error().message() + "; still serving the previous file");
    manager_.tell("READY=1");
    if (std::exchange(loads_again_, false)) {
      begin_reload();
    }
  }

  void reopen_log() {
    if (log_) {
      if (auto reopened = log_->reopen(); !reopened) {
        say_at_once(reopened.error().message() + "; still writing to the previous file");
      }
    }
  }

  int stop(const Signals& signals) {
    const auto longest = std::chrono::seconds(request_.timeout) + kStopMargin;
    manager_.tell("STOPPING=1");
    server_->begin_stop();
    const auto begun = Clock::now();
    const auto latest = begun + longest;
    while (!server_->has_stopped() && Clock::now() < latest) {
      wait(signals, milliseconds(20));
      server_->look_after();
      const int signal = signals.next();
      if ((signal == SIGINT || signal == SIGTERM) && Clock::now() > begun + kOneRequest) {
        constexpr int kSignalBase = 128;
        _exit(kSignalBase + signal);  // second request: exit immediately
      }
    }
    server_->finish_stop();
    return static_cast<int>(ExitCode::fine);
  }

  const GuardServeRequest& request_;
  std::unique_ptr<serve::LiveGuard> guard_;
  std::unique_ptr<serve::AccessLog> log_;
  serve::Metrics metrics_;
  serve::GuardService service_;
  ServiceManager manager_;
  bool loads_again_ = false;
  // Destroyed first: its threads use all other members.
  std::unique_ptr<serve::HttpServer> server_;
  std::future<Result<void>> loading_;
};

Result<int> run(const GuardServeRequest& request) {
  MANKAI_ASSIGN(auto guard, serve::LiveGuard::open(request.file));
  std::unique_ptr<serve::AccessLog> log;
  if (!request.log.empty()) {
    MANKAI_ASSIGN(auto opened, serve::AccessLog::open(request.log));
    log = std::move(opened);
  }
  return ServeRun(request, std::move(guard), std::move(log)).run();
}

template <unsigned kMost>
Result<unsigned> parse_limit(const std::string& text) {
  const auto number = to_number<unsigned>(text);
  if (!number || *number == 0 || *number > kMost) {
    return fail(ErrorCode::invalid_argument, fmt::format("a number from 1 to {} is needed", kMost));
  }
  return *number;
}

}  // namespace

Subcommand guard_serve_subcommand() {
  constexpr unsigned kThreadsMax = 1024;
  constexpr unsigned kConnectionsMax = 1'000'000;
  constexpr unsigned kTimeoutMax = 3600;
  auto request = std::make_shared<GuardServeRequest>();
  return {
      .name = "guard serve",
      .summary = "answer over HTTP whether URLs are blocked",
      .description =
          "GET /check?url=URL returns JSON. POST /check, one URL per line, returns lines in the format of guard check, "
          "or JSON if Accept prefers application/json. GET /redirect?url=URL redirects, or returns a warning page if "
          "the URL is blocked. GET /metrics returns metrics for Prometheus; GET /healthz returns ok. Percent-encode "
          "URLs in a query.\n\nWhen FILE is replaced or changed, the service opens and checks the new file and then "
          "answers from it, without losing a request. It refuses a corrupt file and keeps the old one. SIGHUP does the "
          "same at once and reopens the log.\n\nAfter Ctrl-C or SIGTERM the service accepts no connections, answers "
          "the requests in progress, and exits with 0. It prints its address when it is ready, and notifies systemd.",
      .examples = {{"mankai guard serve blocked.mkg", "on 127.0.0.1:8080"},
                   {"curl -G http://127.0.0.1:8080/check --data-urlencode url=http://evil.example/", "checks one URL"},
                   {"curl --data-binary @urls.txt http://127.0.0.1:8080/check", "checks a batch"},
                   {"mankai guard serve blocked.mkg --listen 127.0.0.1:9000 --log access.log", "with an access log"}},
      .options =
          {positional("FILE", "File of the guard.", ValueKind::file, request->file),
           parsed_option("--listen", "ADDRESS:PORT",
                         "Address to listen on [default: 127.0.0.1:8080]. Port 0 chooses a free one. Put a proxy with "
                         "TLS between the service and other machines.",
                         serve::parse_endpoint, request->listen),
           parsed_option("--threads", "N",
                         "Number of threads that answer requests [default: number of processors, at least 2].",
                         parse_limit<kThreadsMax>, request->threads),
           parsed_option(
               "--connections", "N",
               "Maximum number of open connections [default: 1024]; each can use 1 MiB. To make room, the service "
               "closes the connection that was idle for longest, then the one with the longest request.",
               parse_limit<kConnectionsMax>, request->connections),
           parsed_option("--timeout", "SECONDS",
                         "Time limit for receiving a request, and for sending a response [default: 10].",
                         parse_limit<kTimeoutMax>, request->timeout),
           text_option(
               "--log", "PATH",
               "Append one line per request, in the Common Log Format; - is standard error [default: no log]. The "
               "lines contain the requested URLs. Lines that cannot be written at once are dropped and counted.",
               ValueKind::file, request->log),
           flag("--no-watch", "Do not check every second whether the file was replaced.", request->no_watch),
           flag("--no-redirect", "Disable /redirect.", request->no_redirect)},
      .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
