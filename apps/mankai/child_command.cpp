#include "apps/mankai/child_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>

#include "apps/mankai/descriptor.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "mankai/base/duration.hpp"

namespace mankai::command {
namespace {

using std::chrono::milliseconds;

struct ChildPipe {
  Descriptor reader;
  Descriptor writer;
};

Result<ChildPipe> child_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::io, "cannot create a pipe", errno);
  }
  return ChildPipe{.reader = Descriptor(ends[0]), .writer = Descriptor(ends[1])};
}

// Ours, but for passwords of our commands.
std::vector<char*> environment_of_child() {
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with("MANKAI_") || !name.ends_with("_PASSWORD")) {
      environment.push_back(*entry);
    }
  }
  environment.push_back(nullptr);
  return environment;
}

/// What posix_spawn needs; the calls fail only without memory.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  SpawnSettings(SpawnSettings&&) = delete;
  SpawnSettings& operator=(SpawnSettings&&) = delete;
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }

  // In a group of its own, so that all of its processes can be ended; with the signals that we ignore as usual.
  Result<pid_t> start(const ChildCommand& command, const ChildPipe& output, const ChildPipe& errors) {
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output.writer.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, errors.writer.get(), STDERR_FILENO);
    if (!command.folder.empty()) {
      posix_spawn_file_actions_addchdir_np(&actions_, command.folder.c_str());
    }
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      sigaddset(&defaults, signal);
    }
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    std::vector<std::string> words = command.words;
    std::vector<char*> arguments;
    for (std::string& word : words) {
      arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    const std::vector<char*> environment = environment_of_child();
    pid_t child = 0;
    if (const int error =
            posix_spawnp(&child, arguments[0], &actions_, &attributes_, arguments.data(), environment.data());
        error != 0) {
      return fail(ErrorCode::io, "cannot be started", error);
    }
    return child;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

/// A running command; the destructor ends its group.
class RunningChild {
 public:
  RunningChild(pid_t child, Duration timeout)
      : child_(child), timeout_(timeout), deadline_(Clock::now() + std::min(timeout, kLongestTimeout)) {}
  RunningChild(const RunningChild&) = delete;
  RunningChild& operator=(const RunningChild&) = delete;
  RunningChild(RunningChild&&) = delete;
  RunningChild& operator=(RunningChild&&) = delete;
  ~RunningChild() {
    if (!is_waited_for_) {
      static_cast<void>(wait());
    }
  }

  // Waits until one of them is readable or closed. Errors: io, also after a request to stop.
  Result<void> wait_for(std::span<pollfd> descriptors) const {
    constexpr milliseconds kLongest(1000);
    for (;;) {
      if (stop_signal() != 0) {
        return fail(ErrorCode::io, "asked to stop", EINTR);
      }
      const auto left = std::chrono::ceil<milliseconds>(deadline_ - Clock::now());
      if (left.count() <= 0) {
        return fail(ErrorCode::io, "did not end within " + to_text(timeout_));
      }
      if (poll(descriptors.data(), descriptors.size(), static_cast<int>(std::min(left, kLongest).count())) > 0) {
        return {};
      }
    }
  }

  // Pre: called once, after the command closed its output.
  Result<int> end() {
    constexpr milliseconds kBetweenLooks(10);
    for (;;) {
      siginfo_t info{};
      if (waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child_) {
        is_waited_for_ = true;
        return wait();
      }
      std::array<pollfd, 1> stop{pollfd{.fd = stop_descriptor(), .events = POLLIN, .revents = 0}};
      poll(stop.data(), stop.size(), static_cast<int>(kBetweenLooks.count()));
      if (stop_signal() != 0 || Clock::now() >= deadline_) {
        MANKAI_TRY(wait_for({}));
      }
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Duration kLongestTimeout = std::chrono::hours(24) * 365 * 100;  // the clock does not overflow before

  // While the process is not waited for, no other can have its number.
  [[nodiscard]] int wait() const {
    kill(-child_, SIGKILL);
    kill(child_, SIGKILL);  // it may have joined another group
    int status = 0;
    while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  pid_t child_;
  Duration timeout_;
  Clock::time_point deadline_;
  bool is_waited_for_ = false;
};

/// The end of a command's standard error.
class ErrorText {
 public:
  void add(std::span<const std::byte> bytes) {
    text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text_.size() > 2 * kBytesMax) {
      text_.erase(0, text_.size() - kBytesMax);
    }
  }
  [[nodiscard]] std::string last_line() const {
    const std::size_t end = text_.find_last_not_of(" \r\n") + 1;
    const std::size_t before = end == 0 ? std::string::npos : text_.rfind('\n', end - 1);
    const std::size_t start = before == std::string::npos ? 0 : before + 1;
    return printable(std::string_view(text_).substr(start, std::min(end - start, kBytesMax)));
  }

 private:
  static constexpr std::size_t kBytesMax = 400;

  std::string text_;
};

// Returns false at the end.
Result<bool> read_some(Descriptor& from, const std::function<Result<void>(std::span<const std::byte>)>& use) {
  constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
  std::array<std::byte, kPieceBytes> piece;
  const ssize_t length = read(from.get(), piece.data(), piece.size());
  if (length < 0) {
    return errno == EINTR ? Result<bool>(true) : fail(ErrorCode::io, "cannot read from the command", errno);
  }
  if (length == 0) {
    from.close();
    return false;
  }
  MANKAI_TRY(use(std::span(piece).first(static_cast<std::size_t>(length))));
  return true;
}

Result<void> check_end(int status, const ErrorText& errors) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return {};
  }
  const std::string how = WIFEXITED(status) ? fmt::format("ended with code {}", WEXITSTATUS(status))
                                            : fmt::format("was ended by signal {}", WTERMSIG(status));
  const std::string line = errors.last_line();
  return fail(ErrorCode::io, line.empty() ? how : how + ": " + line);
}

Result<void> run_words(const ChildCommand& command,
                       const std::function<Result<void>(std::span<const std::byte>)>& use) {
  MANKAI_ASSIGN(auto output, child_pipe());
  MANKAI_ASSIGN(auto errors, child_pipe());
  MANKAI_ASSIGN(const pid_t started, SpawnSettings().start(command, output, errors));
  RunningChild child(started, command.timeout);
  output.writer.close();
  errors.writer.close();
  std::uint64_t bytes = 0;
  ErrorText error_text;
  const auto take = [&](std::span<const std::byte> piece) -> Result<void> {
    bytes += piece.size();
    return bytes <= command.output_bytes_max
               ? use(piece)
               : fail(ErrorCode::io, "printed more than " + human_bytes(command.output_bytes_max));
  };
  const auto note = [&](std::span<const std::byte> piece) -> Result<void> {
    error_text.add(piece);
    return {};
  };
  while (output.reader.get() >= 0 || errors.reader.get() >= 0) {
    std::array<pollfd, 3> waiting{pollfd{.fd = output.reader.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = errors.reader.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = stop_descriptor(), .events = POLLIN, .revents = 0}};
    MANKAI_TRY(child.wait_for(waiting));
    if (waiting[0].revents != 0) {
      MANKAI_TRY(read_some(output.reader, take));
    }
    if (waiting[1].revents != 0) {
      MANKAI_TRY(read_some(errors.reader, note));
    }
  }
  MANKAI_ASSIGN(const int status, child.end());
  return check_end(status, error_text);
}

}  // namespace

Result<void> run_child(const ChildCommand& command,
                       const std::function<Result<void>(std::span<const std::byte>)>& use) {
  return within(printable(command.words.front()), run_words(command, use));
}

}  // namespace mankai::command
