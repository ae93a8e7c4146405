#pragma once

/// Filters in a server in place of files.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai/input.hpp"
#include "apps/mankai/numbers.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/subcommand.hpp"
#include "mankai/remote/remote_filter.hpp"

namespace mankai::command {

/// For the help of options that take a file or an address.
inline constexpr std::string_view kOrRemote =
    " Or a filter in a Redis server: redis://[USER@]HOST[:PORT]/KEY[?shards=N&wait=N], rediss:// or "
    "unix:/PATH?key=KEY.";

/// FILE, of a filter that may be in a server.
[[nodiscard]] Option filter_positional(std::string& target);

/// Adds the password of MANKAI_REDIS_PASSWORD to an address that has none.
void add_password(RedisAddress& address);

/// Parses the address and opens the filter. Errors: as parse_remote_address and RemoteFilter::open.
[[nodiscard]] Result<RemoteFilter> open_remote(const std::string& text,
                                               const std::optional<RemoteCreation>& creation = {});

/// Adds type, keys, capacity and memory.
void add_facts(const RemoteFilter& filter, const RemoteFacts& facts, Report& report);

/// Sends lines to a filter, several batches at a time, and delivers them with their answers, in order.
class RemotePipe {
 public:
  using Lines = std::span<const std::string_view>;
  using Deliver = std::function<void(Lines, std::span<const RemoteAnswer>)>;

  RemotePipe(RemoteFilter filter, RemoteWork work) : filter_(std::move(filter)), work_(work) {}

  /// Copies and sends lines, and delivers earlier ones. `keys` are what is sent for each line. Errors: as RemoteFilter;
  /// what the server may have done is delivered before.
  [[nodiscard]] Result<void> send(Lines lines, Lines keys, std::span<const std::uint64_t> numbers,
                                  const Deliver& deliver);
  /// Waits for all answers. Errors: as send.
  [[nodiscard]] Result<void> drain(const Deliver& deliver);

  [[nodiscard]] RemoteFilter& filter() noexcept { return filter_; }
  [[nodiscard]] const RemoteFilter& filter() const noexcept { return filter_; }

 private:
  struct Extent {
    std::size_t begin;
    std::size_t size;
  };
  /// Lines that are sent together.
  struct Round {
    std::string text;
    std::vector<Extent> lines;
    std::vector<Extent> keys;
    std::vector<std::uint64_t> numbers;
  };

  void copy(Lines lines, Lines keys, std::span<const std::uint64_t> numbers);
  [[nodiscard]] Result<void> send_round();
  [[nodiscard]] Result<void> deliver_oldest(const Deliver& deliver);
  [[nodiscard]] Result<void> deliver_all(const Deliver& deliver);

  RemoteFilter filter_;
  RemoteWork work_;
  Round next_;
  std::deque<Round> sent_;
  std::vector<std::string_view> views_;
};

/// Passes keys from arguments or lines through a filter. `deliver` gets all lines for which the server may have done
/// the work, and appends to the output, which is flushed before the command waits for input; `is_enough` ends the run
/// early. Errors: as for_each_batch and RemotePipe.
[[nodiscard]] Result<void> answer_lines(RemotePipe& pipe, const std::vector<std::string>& arguments,
                                        const InputRequest& input, const NumberRequest& numbers, Output& output,
                                        const RemotePipe::Deliver& deliver, const std::function<bool()>& is_enough);

}  // namespace mankai::command
