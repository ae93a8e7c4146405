#pragma once

/// One client's connection: received bytes that are not parsed yet, and responses that are not sent yet.

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

/// What a connection is doing. Each phase has a time limit, which a trickle of bytes does not extend.
enum class Phase : std::uint8_t {
  fresh,      ///< nothing was received yet
  idle,       ///< between two requests
  receiving,  ///< a request has begun
  sending,    ///< the client has not read the whole response
  lingering,  ///< input is discarded, so that the client can read the response before a reset
};

/// How long each phase may last.
struct TimeLimits {
  std::chrono::seconds idle{60};
  std::chrono::seconds receiving{10};
  std::chrono::seconds sending{10};
  std::chrono::seconds lingering{2};

  [[nodiscard]] std::chrono::seconds of(Phase phase) const noexcept;
};

/// Whether the client has no request in progress in this phase.
[[nodiscard]] constexpr bool is_without_request(Phase phase) noexcept {
  return phase == Phase::fresh || phase == Phase::idle;
}

/// A phase and its beginning.
struct PhaseState {
  Phase phase;
  SteadyTime since;
};

/// What can be done next for a connection.
enum class Step : std::uint8_t {
  answer,       ///< a complete request was received
  refuse,       ///< the input is invalid: refusal() says why
  wait_input,   ///< wait until the client sends more
  wait_output,  ///< wait until the client reads
  close,        ///< the connection has ended
};

/// The socket never blocks, and a request is answered only when it is complete. A slow client therefore costs a bounded
/// amount of memory and no thread.
///
/// Threads: one at a time; `state`, `deadline`, `phase`, `is_ending` and `cut` may be called beside it.
class Connection {
 public:
  /// Takes the socket, which must not block. Pre: the limits live longer.
  Connection(Descriptor socket, std::string address, const TimeLimits& limits);

  /// Sends, then receives, as far as possible without waiting.
  [[nodiscard]] Step advance();

  /// Pre: advance returned Step::answer. Valid until end_request.
  [[nodiscard]] const RequestHead& head() const noexcept { return *head_; }
  [[nodiscard]] std::string_view body() const noexcept;
  [[nodiscard]] bool is_refused() const noexcept { return refusal_.has_value(); }
  /// Pre: advance returned Step::refuse.
  [[nodiscard]] const Refusal& refusal() const noexcept { return *refusal_; }
  /// The received part of the first line: at most as long as a request line may be.
  [[nodiscard]] std::string_view received_line() const noexcept;
  [[nodiscard]] const std::string& address() const noexcept { return address_; }

  /// Appends a response to what is not sent yet.
  void put(std::string_view bytes) { output_ += bytes; }
  /// Discards the request.
  void end_request(bool closes);

  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  /// A consistent pair: a new phase never appears with the time of the old one.
  [[nodiscard]] PhaseState state() const noexcept;
  [[nodiscard]] Phase phase() const noexcept { return state().phase; }
  [[nodiscard]] SteadyTime deadline() const noexcept;
  /// Whether the connection is only about to end.
  [[nodiscard]] bool is_ending() const noexcept;
  /// Ends the conversation from outside: whoever has the connection next closes it. One that was seen without a request
  /// still answers what is on its way already, as long as it keeps to the limits of that. Returns false but for the
  /// first time.
  bool cut(Phase seen) noexcept;

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
  bool is_last_ = false;              ///< the connection ends with the answer
  std::atomic<std::uint64_t> state_;  ///< nanoseconds of the clock, and the phase in the lowest bits
  std::atomic<bool> is_cut_ = false;
};

}  // namespace mankai::command::serve
