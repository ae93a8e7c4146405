#include "apps/mankai/sources.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "apps/mankai/descriptor.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "mankai/base/parallel.hpp"
#include "mankai/filter/spec.hpp"
#include "mankai/input/follow.hpp"

namespace mankai::command {
namespace {

// `owned` is empty for standard input.
struct OpenInput {
  Descriptor owned;
  int descriptor;
  bool may_wait;                       // a pipe, a terminal, a socket
  std::optional<std::uint64_t> bytes;  // of a regular file
};

bool is_fifo(const std::string& path) {
  struct stat status{};
  return path != "-" && stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

// Does not wait for the writer of a named pipe, since a signal that came just before would not interrupt that.
Result<OpenInput> open_input(const std::string& path) {
  const int flags = O_RDONLY | O_CLOEXEC | (is_fifo(path) ? O_NONBLOCK : 0);
  const int fd = path == "-" ? STDIN_FILENO : open(path.c_str(), flags);
  const std::string label = label_of(path);
  if (fd < 0) {
    return fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::io, label + ": cannot open", errno);
  }
  Descriptor owned(path == "-" ? -1 : fd);
  struct stat status{};
  if (fstat(fd, &status) != 0) {
    return fail(ErrorCode::io, label + ": cannot read", errno);
  }
  if (S_ISDIR(status.st_mode)) {
    return fail(ErrorCode::io, label + ": is a directory; give the files in it");
  }
  const bool is_regular = S_ISREG(status.st_mode);
  std::optional<std::uint64_t> bytes;
  if (is_regular && status.st_size > 0) {
    bytes = static_cast<std::uint64_t>(status.st_size);
  }
  return OpenInput{.owned = std::move(owned), .descriptor = fd, .may_wait = !is_regular, .bytes = bytes};
}

// Returns whether input is available within the timeout; false after a request to stop.
bool is_readable(int fd, int timeout_ms) {
  std::array<pollfd, 2> waiting{pollfd{.fd = fd, .events = POLLIN, .revents = 0},
                                pollfd{.fd = stop_descriptor(), .events = POLLIN, .revents = 0}};
  return poll(waiting.data(), waiting.size(), timeout_ms) > 0 && waiting[0].revents != 0;
}

// Waits for input or a request to stop. Calls before_waiting before each wait.
void wait_for_input(int fd, const std::function<void()>& before_waiting, std::chrono::milliseconds look_interval) {
  do {
    before_waiting();
  } while (stop_signal() == 0 && !is_readable(fd, static_cast<int>(look_interval.count())));
}

// Reads once if input is available or `wait` returns true; nothing if it must be asked again.
Result<std::optional<std::size_t>> read_some(int fd, bool may_wait, std::span<char> into,
                                             const std::function<bool()>& wait) {
  if ((may_wait && !is_readable(fd, 0) && !wait()) || stop_signal() != 0) {
    return fail(ErrorCode::io, "asked to stop", EINTR);
  }
  const ssize_t got = ::read(fd, into.data(), into.size());
  if (got < 0 && errno != EINTR && errno != EAGAIN) {
    return fail(ErrorCode::io, "cannot read", errno);
  }
  return got < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(got));
}

ReadFunction reader_of(OpenInput input, const Sources::Wait& wait, const std::function<void()>& before_waiting,
                       std::chrono::milliseconds look_interval) {
  const auto wait_here = [fd = input.descriptor, before_waiting, look_interval] {
    wait_for_input(fd, before_waiting, look_interval);
  };
  return [input = std::move(input), wait, wait_here](std::span<char> into) -> Result<std::size_t> {
    for (bool may_wait = input.may_wait;; may_wait = may_wait || errno == EAGAIN) {
      MANKAI_ASSIGN(const auto got, read_some(input.descriptor, may_wait, into, [&] { return wait(wait_here); }));
      if (got) {
        return *got;
      }
    }
  };
}

constexpr std::size_t kMostThreads = 64;

Result<std::size_t> parse_threads(std::string_view text) {
  const auto threads = parse_count(text);
  if (threads && *threads > 0 && *threads <= kMostThreads) {
    return static_cast<std::size_t>(*threads);
  }
  return fail(ErrorCode::invalid_argument,
              "'" + std::string(text) + "' is not valid; give a number from 1 to " + std::to_string(kMostThreads));
}

}  // namespace

std::string label_of(const std::string& path) { return path == "-" ? "standard input" : path; }

Sources::Sources(const InputRequest& request, std::function<void()> before_waiting)
    : request_(request), before_waiting_(std::move(before_waiting)) {
  if (request_.paths.empty()) {
    request_.paths = {"-"};
  }
}

Result<Sources> Sources::open(const InputRequest& request, std::function<void()> before_waiting) {
  Sources sources(request, std::move(before_waiting));
  for (const std::string& path : sources.request_.paths) {
    MANKAI_TRY(sources.check(path));
  }
  return sources;
}

// Reports an input that cannot be opened, and adds its size if it is a regular file.
Result<void> Sources::check(const std::string& path) {
  is_file_.push_back(false);
  if (is_fifo(path)) {  // it must be opened only once: closing it here would end its writer
    total_bytes_.reset();
    return {};
  }
  if (is_followed(path)) {
    total_bytes_.reset();
    if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
      say(path + ": does not exist yet; waiting for it");
      return {};
    }
  }
  MANKAI_ASSIGN(const auto input, open_input(path));
  is_file_.back() = !input.may_wait && path != "-";
  total_bytes_ = total_bytes_ && input.bytes ? std::optional(*total_bytes_ + *input.bytes) : std::nullopt;
  return {};
}

// Streams cannot be followed: they end when their writer closes them.
bool Sources::is_followed(const std::string& path) const {
  return request_.follow_last && &path == &request_.paths.back() && path != "-" && !is_fifo(path);
}

std::string Sources::label(std::size_t index) const { return label_of(request_.paths[index]); }

Result<Source> Sources::open_source(std::size_t index, const Wait& wait) const {
  const std::string& path = request_.paths[index];
  if (is_followed(path)) {
    return follow(path,
                  {.from_end = request_.follow_from_end, .stop_fd = stop_descriptor(), .on_idle = before_waiting_});
  }
  MANKAI_ASSIGN(auto input, open_input(path));
  return Source::from_function(reader_of(std::move(input), wait, before_waiting_, request_.look_interval),
                               label_of(path));
}

Option threads_option(InputRequest& request) {
  request.threads = usual_threads();
  return parsed_option(
      "--threads", "N",
      "Number of threads that read, decompress and parse the inputs, 1 to 64; one of them also writes. "
      "The output is the same for any number [default: the number of cores, at most 8].",
      parse_threads, request.threads);
}

}  // namespace mankai::command
