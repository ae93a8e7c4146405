#pragma once

/// One client's connection: what came and was not read yet, what was answered and is not sent yet.

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "apps/mankai/serve/descriptor.hpp"
#include "apps/mankai/serve/request_head.hpp"

namespace mankai::command::serve {

using SteadyTime = std::chrono::steady_clock::time_point;

/// What a connection is doing; each has a time limit, which no trickle of bytes extends.
enum class Phase : std::uint8_t {
  fresh,      ///< nothing has come yet
  idle,       ///< between two requests
  receiving,  ///< a request has begun
  sending,    ///< an answer waits for the client to read it
  lingering,  ///< all is said; what still comes is thrown away, so that the client reads the answer before a reset
};

/// How long each phase may last.
struct TimeLimits {
  std::chrono::seconds idle{60};
  std::chrono::seconds receiving{10};
  std::chrono::seconds sending{10};
  std::chrono::seconds lingering{2};

  [[nodiscard]] std::chrono::seconds of(Phase phase) const noexcept;
};

/// Whether a client in this phase waits for no answer.
[[nodiscard]] constexpr bool is_without_request(Phase phase) noexcept {
  return phase == Phase::fresh || phase == Phase::idle;
}

/// A phase, and since when.
struct PhaseState {
  Phase phase;
  SteadyTime since;
};

/// What can be done next for a connection.
enum class Step : std::uint8_t {
  answer,       ///< a whole request is here
  refuse,       ///< what is here will never be one: refusal() says why
  wait_input,   ///< nothing before the client sends more
  wait_output,  ///< nothing before the client reads
  close,        ///< it is over
};

/// The socket never blocks: a request is answered only when all of it is here, so that slow clients cost memory, of
/// which each has a bounded amount, and never a thread.
///
/// Threads: one at a time; `state`, `deadline`, `phase`, `is_ending` and `cut` may be called beside it.
class Connection final : public httplib::Stream {
 public:
  /// Takes the socket, which must not block. Pre: the limits live longer.
  Connection(Descriptor socket, std::string address, int port, const TimeLimits& limits);

  /// Sends, then receives, as far as it goes without waiting.
  [[nodiscard]] Step advance();

  /// Pre: advance returned Step::answer. Valid until end_request.
  [[nodiscard]] const RequestHead& head() const noexcept { return *head_; }
  [[nodiscard]] std::string_view body() const noexcept;
  [[nodiscard]] bool is_refused() const noexcept { return refusal_.has_value(); }
  /// Pre: advance returned Step::refuse.
  [[nodiscard]] const Refusal& refusal() const noexcept { return *refusal_; }
  /// The first line of what was received, as far as it is here: at most as long as a request line may be.
  [[nodiscard]] std::string_view received_line() const noexcept;
  [[nodiscard]] const std::string& address() const noexcept { return address_; }

  /// Forgets the request, whether or not the parser has read all of it.
  void end_request(bool closes);
  /// What was written since the last answer went out, before it is sent.
  [[nodiscard]] const std::string& answer() const noexcept { return output_; }

  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  /// Both of one moment: a new phase is never seen with the time of the old one.
  [[nodiscard]] PhaseState state() const noexcept;
  [[nodiscard]] Phase phase() const noexcept { return state().phase; }
  [[nodiscard]] SteadyTime deadline() const noexcept;
  /// Whether nothing more is expected of it than its end.
  [[nodiscard]] bool is_ending() const noexcept;
  /// Ends the conversation from outside: whoever has the connection next closes it. One that was seen without a request
  /// still answers what is on its way already, as long as it keeps to the limits of that. Returns false but for the
  /// first time.
  bool cut(Phase seen) noexcept;

  // What httplib's parser reads and writes: the request that is here, the answer in memory.
  [[nodiscard]] bool is_readable() const override { return head_at_ < head_->text.size(); }
  [[nodiscard]] bool is_writable() const override { return true; }
  ssize_t read(char* bytes, std::size_t size) override;
  ssize_t write(const char* bytes, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  /// Not the descriptor: httplib refuses those that select() cannot name, but nobody selects here.
  [[nodiscard]] socket_t socket() const override { return 0; }

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
  int port_;
  const TimeLimits& limits_;
  std::string input_;
  std::string output_;
  std::size_t sent_ = 0;
  std::optional<RequestHead> head_;
  std::optional<Refusal> refusal_;
  std::size_t head_at_ = 0;           ///< how far the parser has read head_->text
  bool is_last_ = false;              ///< the connection ends with the answer
  std::atomic<std::uint64_t> state_;  ///< nanoseconds of the clock, and the phase in the lowest bits
  std::atomic<bool> is_cut_ = false;
};

}  // namespace mankai::command::serve
