#include "apps/mankai/input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "apps/mankai/descriptor.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
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

std::string label_of(const std::string& path) { return path == "-" ? "standard input" : path; }

Result<OpenInput> open_input(const std::string& path) {
  const int fd = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
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
  if (is_readable(fd, 0)) {
    return;
  }
  do {
    before_waiting();
  } while (stop_signal() == 0 && !is_readable(fd, static_cast<int>(look_interval.count())));
}

ReadFunction reader_of(OpenInput input, const std::function<void()>& before_waiting,
                       std::chrono::milliseconds look_interval) {
  return [input = std::move(input), before_waiting, look_interval](std::span<char> into) -> Result<std::size_t> {
    const int fd = input.descriptor;
    for (bool must_wait = input.may_wait;; must_wait = must_wait || errno == EAGAIN) {
      if (must_wait) {
        wait_for_input(fd, before_waiting, look_interval);
      }
      if (stop_signal() != 0) {
        return fail(ErrorCode::io, "asked to stop", EINTR);
      }
      const ssize_t got = ::read(fd, into.data(), into.size());
      if (got >= 0) {
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR && errno != EAGAIN) {
        return fail(ErrorCode::io, "cannot read", errno);
      }
    }
  };
}

// A named pipe must be opened only once: closing it after a check would end its writer.
bool is_fifo(const std::string& path) {
  struct stat status{};
  return path != "-" && stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

// Streams cannot be followed: they end when their writer closes them.
bool is_followed(const InputRequest& request, const std::string& path) {
  return request.follow_last && &path == &request.paths.back() && path != "-" && !is_fifo(path);
}

// Returns the total size if all inputs are regular files. Reports inputs that cannot be opened.
Result<std::optional<std::uint64_t>> total_bytes_of(const InputRequest& request) {
  std::optional<std::uint64_t> total = 0;
  for (const std::string& path : request.paths) {
    if (is_fifo(path)) {
      total.reset();
      continue;
    }
    if (is_followed(request, path)) {
      total.reset();
      if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
        say(path + ": does not exist yet; waiting for it");
        continue;
      }
    }
    MANKAI_ASSIGN(const auto input, open_input(path));
    total = total && input.bytes ? std::optional(*total + *input.bytes) : std::nullopt;
  }
  return total;
}

}  // namespace

Sources::Sources(InputRequest request, std::function<void()> before_waiting, std::optional<std::uint64_t> total)
    : request_(std::move(request)), before_waiting_(std::move(before_waiting)), total_bytes_(total) {}

Result<Sources> Sources::open(const InputRequest& request, std::function<void()> before_waiting) {
  InputRequest named = request;
  if (named.paths.empty()) {
    named.paths = {"-"};
  }
  MANKAI_ASSIGN(const auto total, total_bytes_of(named));
  return Sources(std::move(named), std::move(before_waiting), total);
}

Result<std::optional<Source>> Sources::next() {
  if (opened_ == request_.paths.size()) {
    return std::optional<Source>();
  }
  return open_source(request_.paths[opened_++]);
}

Result<Source> Sources::open_source(const std::string& path) {
  if (is_followed(request_, path)) {
    return follow(path,
                  {.from_end = request_.follow_from_end, .stop_fd = stop_descriptor(), .on_idle = before_waiting_});
  }
  MANKAI_ASSIGN(auto input, open_input(path));
  return Source::from_function(reader_of(std::move(input), before_waiting_, request_.look_interval), label_of(path));
}

void warn_of_ignored_bytes(const Source& source, Progress& progress) {
  if (const std::uint64_t ignored = source.ignored_bytes(); ignored > 0) {
    progress.clear();
    say(source.label() + ": " + std::to_string(ignored) + " bytes after the gzip data were ignored");
  }
}

Input::Input(Sources sources, const InputRequest& request)
    : sources_(std::move(sources)), max_line_bytes_(request.max_line_bytes), progress_(sources_.total_bytes()) {}

Result<Input> Input::open(const InputRequest& request, std::function<void()> before_waiting) {
  MANKAI_ASSIGN(auto sources, Sources::open(request, std::move(before_waiting)));
  return Input(std::move(sources), request);
}

Result<std::span<const std::string_view>> Input::next_batch() {
  while (stop_signal() == 0) {
    if (!reader_) {
      MANKAI_ASSIGN(const auto opened, open_next());
      if (!opened) {
        break;
      }
    }
    auto batch = reader_->next_batch();
    if (!batch && stop_signal() == 0) {
      progress_.clear();
      return batch;
    }
    if (batch && !batch->empty()) {
      lines_ += batch->size();
      progress_.advance(bytes_read(), lines_);
      return batch;
    }
    close_current();
  }
  progress_.clear();
  return std::span<const std::string_view>();
}

std::uint64_t Input::bytes_read() const noexcept {
  return bytes_before_ + (reader_ ? reader_->source().raw_bytes_consumed() : 0);
}

Result<bool> Input::open_next() {
  MANKAI_ASSIGN(auto source, sources_.next());
  if (!source) {
    return false;
  }
  LineReaderOptions options;
  options.max_line_bytes = max_line_bytes_.value_or(options.max_line_bytes);
  MANKAI_ASSIGN(auto reader, LineReader::create(std::move(*source), options));
  reader_ = std::move(reader);
  return true;
}

void Input::close_current() {
  warn_of_ignored_bytes(reader_->source(), progress_);
  bytes_before_ = bytes_read();
  reader_.reset();
}

Options key_options(std::vector<std::string>& keys, InputRequest& request, const std::string& name,
                    const std::string& help) {
  return {positionals(name, help, ValueKind::text, keys),
          with_letter('i', list_option("--input", "PATH",
                                       "Input file with one item per line; - reads standard input. Repeatable.",
                                       ValueKind::file, request.paths))};
}

Result<void> check_keys(const std::vector<std::string>& keys, const InputRequest& request) {
  if (!keys.empty() && !request.paths.empty()) {
    return fail(ErrorCode::invalid_argument, "keys and --input cannot be combined");
  }
  return {};
}

namespace {

Result<std::uint64_t> parse_line_bytes(std::string_view text) {
  auto bytes = parse_count(text);
  if (bytes && *bytes == 0) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is too small; give at least 1");
  }
  return bytes;
}

}  // namespace

Option max_line_option(InputRequest& request) {
  return parsed_option("--max-line", "BYTES", "Longest line accepted; a longer one is an error [default: 1 GiB].",
                       parse_line_bytes, request.max_line_bytes);
}

Result<void> for_each_batch(const std::vector<std::string>& arguments, const InputRequest& request, const UseBatch& use,
                            std::function<void()> before_waiting) {
  if (!arguments.empty()) {
    const std::vector<std::string_view> keys(arguments.begin(), arguments.end());
    bool continues = true;
    for (std::size_t i = 0; continues && i < keys.size(); i += kBatchLinesMax) {
      MANKAI_ASSIGN(continues, use(std::span(keys).subspan(i, std::min(kBatchLinesMax, keys.size() - i))));
    }
    return {};
  }
  MANKAI_ASSIGN(auto input, Input::open(request, std::move(before_waiting)));
  for (bool continues = true; continues;) {
    MANKAI_ASSIGN(const auto batch, input.next_batch());
    if (batch.empty()) {
      break;
    }
    MANKAI_ASSIGN(continues, use(batch));
  }
  return {};
}

Result<void> print_answers(const std::vector<std::string>& arguments, const InputRequest& request,
                           const AnswerBatch& answer) {
  Output output;
  const auto answered = for_each_batch(
      arguments, request,
      [&](std::span<const std::string_view> keys) -> Result<bool> {
        MANKAI_ASSIGN(const bool continues, answer(keys, output));
        return continues && !output.has_failed();
      },
      [&] { output.flush(); });
  MANKAI_TRY(output.finish());
  return answered;
}

}  // namespace mankai::command
