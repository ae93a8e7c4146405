#include "apps/mankai/serve/connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace mankai::command::serve {
namespace {

constexpr std::size_t kReceiveBytes = std::size_t{16} << 10;
/// Reads in a row per connection, before others are served.
constexpr unsigned kReceivesInARow = 64;
/// Buffers larger than this are freed after a request or response.
constexpr std::size_t kKeptBytes = std::size_t{64} << 10;

void keep_little(std::string& buffer) {
  if (buffer.capacity() > kKeptBytes) {
    buffer.shrink_to_fit();
  }
}

constexpr Refusal kTooSlow{408, "the request did not arrive within the time limit (--timeout)"};

constexpr unsigned kPhaseBits = 3;
constexpr std::uint64_t kPhaseMask = (std::uint64_t{1} << kPhaseBits) - 1;

bool would_block() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

std::chrono::seconds TimeLimits::of(Phase phase) const noexcept {
  switch (phase) {
    case Phase::fresh:
    case Phase::idle: return idle;
    case Phase::receiving: return receiving;
    case Phase::sending: return sending;
    case Phase::lingering: return lingering;
  }
  return idle;
}

Connection::Connection(Descriptor socket, std::string address, const TimeLimits& limits)
    : socket_(std::move(socket)), address_(std::move(address)), limits_(limits) {
  enter(Phase::fresh);
}

void Connection::enter(Phase phase) {
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyTime::clock::now().time_since_epoch());
  state_.store(static_cast<std::uint64_t>(now.count()) << kPhaseBits | static_cast<std::uint64_t>(phase),
               std::memory_order_relaxed);
}

PhaseState Connection::state() const noexcept {
  const std::uint64_t state = state_.load(std::memory_order_relaxed);
  const std::chrono::nanoseconds since(static_cast<std::int64_t>(state >> kPhaseBits));
  return {.phase = static_cast<Phase>(state & kPhaseMask),
          .since = SteadyTime(std::chrono::duration_cast<SteadyTime::duration>(since))};
}

SteadyTime Connection::deadline() const noexcept {
  const auto [phase, since] = state();
  return since + limits_.of(phase);
}

bool Connection::is_ending() const noexcept {
  return is_cut_.load(std::memory_order_relaxed) || phase() == Phase::lingering;
}

bool Connection::cut(Phase seen) noexcept {
  const bool is_first = !is_cut_.exchange(true, std::memory_order_relaxed);
  if (!is_without_request(seen)) {
    shutdown(socket_.get(), SHUT_RDWR);
  } else if (is_first) {
    shutdown(socket_.get(), SHUT_RD);
  }
  return is_first;
}

// The end of the input wakes the owner.
bool Connection::expire(Phase seen) noexcept {
  if (seen != Phase::receiving) {
    return cut(seen);
  }
  is_late_.store(true, std::memory_order_relaxed);
  const bool is_first = !is_cut_.exchange(true, std::memory_order_relaxed);
  shutdown(socket_.get(), SHUT_RD);
  return is_first;
}

Step Connection::advance() {
  if (phase() == Phase::lingering) {
    return linger();
  }
  if (sent_ < output_.size()) {
    if (phase() != Phase::sending) {
      enter(Phase::sending);
    }
    const Moved moved = send_output();
    if (moved != Moved::all) {
      return moved == Moved::some ? Step::wait_output : Step::close;
    }
    return after_sending();
  }
  for (unsigned i = 0; i < kReceivesInARow && !is_last_; ++i) {
    if (auto step = look_for_request()) {
      return *step;
    }
    const Moved moved = receive();
    // What arrived before the time limit has been read.
    if (moved == Moved::failed && is_late_.load(std::memory_order_relaxed) && !input_.empty()) {
      refusal_ = kTooSlow;
      return Step::refuse;
    }
    if (moved != Moved::some) {
      return moved == Moved::all ? Step::wait_input : Step::close;
    }
  }
  return is_last_ ? Step::close : Step::wait_input;
}

Step Connection::after_sending() {
  output_.clear();
  sent_ = 0;
  keep_little(output_);
  if (is_last_) {
    shutdown(socket_.get(), SHUT_WR);
    enter(Phase::lingering);
    return linger();
  }
  enter(Phase::idle);
  return look_for_request().value_or(Step::wait_input);
}

std::optional<Step> Connection::look_for_request() {
  if (!head_) {
    // RFC 9112, 2.2: ignores an empty line before a request.
    const std::size_t begin = input_.starts_with("\r\n") ? 2 : 0;
    input_.erase(0, begin);
    if (input_.empty()) {
      return std::nullopt;
    }
    if (phase() != Phase::receiving) {
      enter(Phase::receiving);
    }
    auto head = read_head(input_);
    if (!head) {
      refusal_ = head.error();
      return Step::refuse;
    }
    head_ = std::move(*head);
  }
  if (head_ && input_.size() >= head_->bytes + head_->body_bytes) {
    return Step::answer;
  }
  if (head_ && head_->awaits_continue) {
    ask_for_body();
  }
  return std::nullopt;
}

// Ignores errors: the send buffer is empty, so these bytes fit.
void Connection::ask_for_body() {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  head_->awaits_continue = false;
  static_cast<void>(send(socket_.get(), kContinue.data(), kContinue.size(), MSG_NOSIGNAL));
}

Connection::Moved Connection::send_output() {
  while (sent_ < output_.size()) {
    const ssize_t sent = send(socket_.get(), output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent < 0) {
      return would_block() ? Moved::some : Moved::failed;
    }
    sent_ += static_cast<std::size_t>(sent);
  }
  return Moved::all;
}

// Returns `some` after receiving bytes, `all` if none are available, `failed` at the end of the stream or an error.
Connection::Moved Connection::receive() {
  std::array<char, kReceiveBytes> bytes;
  ssize_t received = 0;
  do {
    received = recv(socket_.get(), bytes.data(), bytes.size(), 0);
  } while (received < 0 && errno == EINTR);
  if (received <= 0) {
    return received < 0 && would_block() ? Moved::all : Moved::failed;
  }
  input_.append(bytes.data(), static_cast<std::size_t>(received));
  return Moved::some;
}

Step Connection::linger() {
  for (unsigned i = 0; i < kReceivesInARow; ++i) {
    const Moved moved = receive();
    input_.clear();
    if (moved != Moved::some) {
      return moved == Moved::all ? Step::wait_input : Step::close;
    }
  }
  return Step::wait_input;
}

std::string_view Connection::body() const noexcept {
  return std::string_view(input_).substr(head_->bytes, head_->body_bytes);
}

std::string_view Connection::received_line() const noexcept {
  const auto begin = std::string_view(input_).substr(0, kRequestLineBytesMax);
  return begin.substr(0, begin.find_first_of("\r\n"));
}

void Connection::end_request(bool closes) {
  is_last_ = is_last_ || closes || refusal_;
  if (head_) {
    input_.erase(0, head_->bytes + head_->body_bytes);
    keep_little(input_);
    head_.reset();
  }
}

}  // namespace mankai::command::serve
