#pragma once

/// A client's connection: received bytes that are not parsed yet, and responses that are not sent yet.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "apps/mankai/descriptor.hpp"
#include "apps/mankai/serve/request_head.hpp"

namespace mankai::command::serve {

using SteadyTime = std::chrono::steady_clock::time_point;

/// State of a connection. Each phase has a time limit, which a trickle of bytes does not extend.
enum class Phase : std::uint8_t {
  fresh,      ///< before the first request
  idle,       ///< between two requests
  receiving,  ///< a request has started
  sending,    ///< the client has not read the whole response
  lingering,  ///< discards input, so that the client can read the response before a reset
};

struct TimeLimits {
  std::chrono::seconds idle{60};
  std::chrono::seconds receiving{10};
  std::chrono::seconds sending{10};
  std::chrono::seconds lingering{2};

  [[nodiscard]] std::chrono::seconds of(Phase phase) const noexcept;
};

[[nodiscard]] constexpr bool is_without_request(Phase phase) noexcept {
  return phase == Phase::fresh || phase == Phase::idle;
}

struct PhaseState {
  Phase phase;
  SteadyTime since;
};

/// What the owner of a connection must do next.
enum class Step : std::uint8_t {
  answer,  ///< a complete request was received
  refuse,  ///< invalid input: refusal() says why
  wait_input,
  wait_output,
  close,
};

/// The socket never blocks, and a request is answered only when it is complete. A slow client therefore costs a bounded
/// amount of memory and no thread.
///
/// Threads: one at a time; `state`, `deadline`, `phase`, `is_ending`, `cut` and `expire` may be called beside it.
class Connection {
 public:
  /// Pre: the socket is non-blocking; the limits outlive the connection.
  Connection(Descriptor socket, std::string address, const TimeLimits& limits);

  /// Sends, then receives, as far as possible without blocking.
  [[nodiscard]] Step advance();

  /// Pre: advance returned Step::answer. Valid until end_request.
  [[nodiscard]] const RequestHead& head() const noexcept { return *head_; }
  [[nodiscard]] std::string_view body() const noexcept;
  [[nodiscard]] bool is_refused() const noexcept { return refusal_.has_value(); }
  /// Pre: advance returned Step::refuse.
  [[nodiscard]] const Refusal& refusal() const noexcept { return *refusal_; }
  /// The received part of the first line, at most kRequestLineBytesMax.
  [[nodiscard]] std::string_view received_line() const noexcept;
  [[nodiscard]] const std::string& address() const noexcept { return address_; }

  void put(std::string_view bytes) { output_ += bytes; }
  void end_request(bool closes);

  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  [[nodiscard]] PhaseState state() const noexcept;
  [[nodiscard]] Phase phase() const noexcept { return state().phase; }
  [[nodiscard]] SteadyTime deadline() const noexcept;
  /// Whether the connection was cut or is lingering.
  [[nodiscard]] bool is_ending() const noexcept;
  /// Makes the current or next owner close the connection. In a phase without a request it still answers a request that
  /// is already in flight, within the time limits. Returns true for the first call only.
  bool cut(Phase seen) noexcept;
  /// The same when the phase's time is over: a request that is not complete then is refused.
  bool expire(Phase seen) noexcept;

 private:
  enum class Moved : std::uint8_t { all, some, failed };

  void enter(Phase phase);
  [[nodiscard]] Moved send_output();
  [[nodiscard]] Moved receive();
  [[nodiscard]] std::optional<Step> look_for_request();
  [[nodiscard]] Step after_sending();
  [[nodiscard]] Step linger();
  void ask_for_body();

  Descriptor socket_;
  std::string address_;
  const TimeLimits& limits_;
  std::string input_;
  std::string output_;
  std::size_t sent_ = 0;
  std::optional<RequestHead> head_;
  std::optional<Refusal> refusal_;
  bool is_last_ = false;              ///< close after this response
  std::atomic<std::uint64_t> state_;  ///< nanoseconds of the clock, and the phase in the lowest bits
  std::atomic<bool> is_cut_ = false;
  std::atomic<bool> is_late_ = false;  ///< the time for receiving a request is over
};

}  // namespace mankai::command::serve
