#include "mankai/input/source.hpp"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/input/detail/decoder.hpp"
#include "mankai/input/detail/descriptor.hpp"

namespace mankai {
namespace {

constexpr int kStandardInput = 0;

// Returns the number of bytes left to read in a regular file; nothing for pipes and the like.
Result<std::optional<std::uint64_t>> remaining_bytes(int fd) {
  struct stat status{};
  if (fstat(fd, &status) != 0) {
    return fail(ErrorCode::io, "cannot examine", errno);
  }
  if (S_ISDIR(status.st_mode)) {
    return fail(ErrorCode::io, "is a folder; name the files in it", EISDIR);
  }
  const off_t position = S_ISREG(status.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
  if (position < 0 || status.st_size <= position) {  // files in /proc have size 0
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(status.st_size - position);
}

// Errors: io with EINTR if `stop_fd` is readable.
Result<void> wait_readable(int fd, int stop_fd) {
  std::array<pollfd, 2> waiting{pollfd{.fd = fd, .events = POLLIN, .revents = 0},
                                pollfd{.fd = stop_fd, .events = POLLIN, .revents = 0}};
  while (poll(waiting.data(), waiting.size(), -1) < 0) {  // poll ignores negative descriptors
    if (errno != EINTR) {
      return fail(ErrorCode::io, "cannot wait for input", errno);
    }
  }
  return waiting[1].revents == 0 ? Result<void>() : fail(ErrorCode::io, "stopped", EINTR);
}

// Waits for bytes, also on a non-blocking descriptor; retries after signals.
Result<std::size_t> read_some(int fd, std::span<char> into, int stop_fd) {
  bool must_wait = stop_fd >= 0;
  for (;;) {
    if (must_wait) {
      MANKAI_TRY(wait_readable(fd, stop_fd));
    }
    const ssize_t got = ::read(fd, into.data(), into.size());
    if (got >= 0) {
      return static_cast<std::size_t>(got);
    }
    must_wait = must_wait || errno == EAGAIN;
    if (errno != EINTR && errno != EAGAIN) {
      return fail(ErrorCode::io, "cannot read", errno);
    }
  }
}

ReadFunction read_descriptor(detail::InputDescriptor descriptor, int stop_fd) {
  return [descriptor = std::move(descriptor), stop_fd](std::span<char> into) {
    return read_some(descriptor.fd(), into, stop_fd);
  };
}

ReadFunction read_memory(std::string_view bytes) {
  return [bytes](std::span<char> into) mutable -> Result<std::size_t> {
    const std::size_t length = bytes.copy(into.data(), into.size());
    bytes.remove_prefix(length);
    return length;
  };
}

Error unsupported(const detail::InputFormat& format) {
  return {.code = ErrorCode::corrupt,
          .detail = std::string(format.name) + " data is not supported; pipe in the output of " +
                    std::string(format.unpacker)};
}

std::string_view name_of(const detail::InputFormat& format) noexcept {
  return format.name.empty() ? name(format.compression) : format.name;
}

}  // namespace

std::string_view name(Compression compression) noexcept {
  constexpr std::array<std::string_view, 4> kNames = {"plain", "gzip", "zstd", "xz"};
  return kNames.at(static_cast<std::size_t>(compression));
}

Source::Source(ReadFunction read, std::string label, std::optional<std::uint64_t> total, const SourceOptions& options)
    : read_(std::move(read)), label_(std::move(label)), buffer_bytes_(options.buffer_bytes), raw_bytes_total_(total) {
  MANKAI_ASSERT(buffer_bytes_ > 0);
}

Source::Source(Source&& other) noexcept = default;
Source& Source::operator=(Source&& other) noexcept = default;
Source::~Source() = default;

Result<Source> Source::open(const std::string& path, const SourceOptions& options) {
  if (path == "-") {
    return from_descriptor(kStandardInput, "standard input", options);
  }
  auto descriptor = detail::InputDescriptor::open(path);
  return descriptor ? from(std::move(*descriptor), path, options) : std::unexpected(descriptor.error().within(path));
}

Result<Source> Source::from_descriptor(int fd, std::string label, const SourceOptions& options) {
  return from(detail::InputDescriptor(fd, false), std::move(label), options);
}

Result<Source> Source::from(detail::InputDescriptor descriptor, std::string label, const SourceOptions& options) {
  const auto total = remaining_bytes(descriptor.fd());
  if (!total) {
    return std::unexpected(total.error().within(label));
  }
  return Source(read_descriptor(std::move(descriptor), options.stop_fd), std::move(label), *total, options);
}

Source Source::from_memory(std::string_view bytes, std::string label, const SourceOptions& options) {
  return {read_memory(bytes), std::move(label), bytes.size(), options};
}

Source Source::from_function(ReadFunction read, std::string label, const SourceOptions& options) {
  return {std::move(read), std::move(label), std::nullopt, options};
}

Result<std::size_t> Source::read(std::span<char> into) {
  MANKAI_ASSERT(!into.empty());
  if (!peeked_.empty()) [[unlikely]] {
    const std::size_t length = peeked_.copy(into.data(), into.size());
    peeked_.erase(0, length);
    return length;
  }
  return read_input(into);
}

Result<std::string_view> Source::peek_line(std::size_t most) {
  MANKAI_ASSERT(most > 0 && peeked_.empty());
  while (peeked_.size() < most) {
    const std::size_t before = peeked_.size();
    peeked_.resize(most);
    const Result<std::size_t> got = read_input(std::span(peeked_).subspan(before));
    peeked_.resize(before + got.value_or(0));
    if (!got && peeked_.empty()) {
      return std::unexpected(got.error());
    }
    if (got.value_or(0) == 0 || peeked_.find('\n', before) != std::string::npos) {
      break;
    }
  }
  return std::string_view(peeked_).substr(0, peeked_.find('\n'));
}

Result<std::size_t> Source::read_input(std::span<char> into) {
  if (failure_) {
    return std::unexpected(*failure_);
  }
  if (!is_detected_) {
    MANKAI_TRY(detect());
  }
  const Result<std::size_t> got = read_bytes(into);
  return got && !std::exchange(is_begun_, true) ? begin(into, *got) : got;
}

Result<std::size_t> Source::read_bytes(std::span<char> into) {
  return decoder_ == nullptr ? read_plain(into) : read_decoded(into);
}

// Refuses what is no text though it is not compressed, or no more. A pipe may deliver the first bytes one by one.
Result<std::size_t> Source::begin(std::span<char> into, std::size_t got) {
  const auto text = [&] { return std::string_view(into.data(), got); };
  const auto inner = [&](bool is_whole) {
    return decoder_ == nullptr ? detail::InputFormat() : detail::detect_format(text(), is_whole);
  };
  while (got < into.size() && (!inner(false) || detail::may_be_tar(text()))) {
    const std::size_t more = read_bytes(into.subspan(got)).value_or(0);  // a failure is kept for the next call
    if (more == 0) {
      break;
    }
    got += more;
  }
  if (detail::is_tar(text())) {
    return keep_failure(unsupported({.name = "tar", .unpacker = "tar -xOf FILE"}));
  }
  if (const std::string_view found = name_of(*inner(true)); found != name(Compression::plain)) {
    return keep_failure({.code = ErrorCode::corrupt,
                         .detail = "the " + std::string(name(compression())) + " data contains " + std::string(found) +
                                   " data; unpack both, and pipe in the text"});
  }
  return got;
}

Compression Source::compression() const noexcept {
  return decoder_ == nullptr ? Compression::plain : decoder_->compression();
}

Result<void> Source::detect() {
  raw_ = std::make_unique_for_overwrite<char[]>(std::max(buffer_bytes_, detail::kMagicBytesMax));
  std::optional<detail::InputFormat> format;
  while (!format) {
    MANKAI_TRY(refill());
    format = detail::detect_format(raw(), is_raw_ended_);
  }
  if (!format->name.empty()) {
    return keep_failure(unsupported(*format));
  }
  is_detected_ = true;
  decoder_ = detail::make_decoder(format->compression);
  return {};
}

Result<std::size_t> Source::read_plain(std::span<char> into) {
  if (raw_ == nullptr) {
    return read_raw(into);
  }
  const std::size_t length = raw().copy(into.data(), into.size());
  raw_begin_ += length;
  if (raw_begin_ == raw_end_) {
    raw_.reset();
  }
  return length > 0 ? Result<std::size_t>(length) : read_raw(into);
}

// Skips padding and begins the next member. Returns false at the end of the input.
Result<bool> Source::begin_member() {
  for (;;) {
    raw_begin_ += std::min(raw().find_first_not_of('\0'), raw().size());
    if (!raw().empty()) {
      if (const auto format = detail::detect_format(raw(), is_raw_ended_)) {
        if (format->compression != compression()) {
          const std::string_view found = name_of(*format);
          const std::string end = std::to_string(raw_bytes_consumed());
          const bool is_prefix = !detail::detect_format(raw(), false);
          return keep_failure(
              found == name(Compression::plain)
                  ? corrupt("ends at", std::string(", and ") + (is_prefix ? "truncated data or " : "") +
                                           "other bytes follow; head -c " + end + " FILE leaves them out")
                  : corrupt("ends at", ", and " + std::string(found) + " data follows; head -c " + end +
                                           " FILE is the first part, tail -c +" +
                                           std::to_string(raw_bytes_consumed() + 1) + " FILE the other"));
        }
        decoder_->begin_member();
        is_between_members_ = false;
        return true;
      }
    } else if (is_raw_ended_) {
      return false;
    }
    MANKAI_TRY(refill());
  }
}

Result<std::size_t> Source::read_decoded(std::span<char> into) {
  for (int idle_steps = 0;;) {
    if (is_between_members_) {
      MANKAI_ASSIGN(const bool has_more, begin_member());
      if (!has_more) {
        return std::size_t{0};
      }
    }
    if (raw().empty() && !decoder_may_hold_output_ && !is_raw_ended_) {
      MANKAI_TRY(refill());
    }
    const bool is_drained = raw().empty();
    const detail::DecodeStep step = decoder_->decode(raw(), into);
    raw_begin_ += step.consumed;
    decoder_may_hold_output_ = step.produced == into.size();
    is_between_members_ = step.is_end;
    const bool is_idle = step.consumed + step.produced == 0 && !step.is_end;
    idle_steps = is_idle && !is_drained ? idle_steps + 1 : 0;
    if (const auto failure = failure_of(step, is_idle && is_drained && is_raw_ended_, idle_steps)) {
      const auto failed = keep_failure(*failure);
      if (step.produced == 0) {
        return failed;
      }
    }
    if (step.produced > 0) {
      return step.produced;
    }
  }
}

std::optional<Error> Source::failure_of(const detail::DecodeStep& step, bool is_cut_off, int idle_steps) const {
  if (step.failure) {
    return step.failure->code == ErrorCode::corrupt
               ? corrupt("is damaged near", " (" + step.failure->detail + "); get the file again")
               : *step.failure;
  }
  if (is_cut_off) {
    return corrupt("is truncated at", "; get the whole file");
  }
  if (idle_steps > 2) {  // never seen; an error is better than a hang
    return corrupt("is damaged near", " (the decoder makes no progress); get the file again");
  }
  return std::nullopt;
}

Result<std::size_t> Source::read_raw(std::span<char> into) {
  if (is_raw_ended_) {
    return std::size_t{0};
  }
  Result<std::size_t> got = read_(into.first(std::min(into.size(), buffer_bytes_)));
  if (!got) {
    return keep_failure(got.error());
  }
  raw_bytes_read_ += *got;
  is_raw_ended_ = *got == 0;
  return got;
}

// Appends while the format is unknown; later the buffer is empty at each call.
Result<void> Source::refill() {
  std::memmove(raw_.get(), raw_.get() + raw_begin_, raw_end_ - raw_begin_);
  raw_end_ -= std::exchange(raw_begin_, 0);
  const std::size_t capacity = std::max(buffer_bytes_, detail::kMagicBytesMax);
  MANKAI_ASSIGN(const std::size_t got, read_raw({raw_.get() + raw_end_, capacity - raw_end_}));
  raw_end_ += got;
  return {};
}

Error Source::corrupt(const std::string& problem, const std::string& rest) const {
  return {.code = ErrorCode::corrupt,
          .detail = "the " + std::string(name(compression())) + " data " + problem + " compressed byte " +
                    std::to_string(raw_bytes_consumed()) + rest};
}

std::unexpected<Error> Source::keep_failure(const Error& error) {
  failure_ = error.within(label_);
  return std::unexpected(*failure_);
}

}  // namespace mankai
