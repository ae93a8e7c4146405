#pragma once

/// The day that the tour asks about: files in memory, which the tour's processes share.

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lab/traffic/traffic_generator.hpp"

namespace mankai::command::demo {

/// A TrafficEvent whose texts are stored elsewhere.
struct DayEvent {
  Time time;
  TrafficKind kind = TrafficKind::page;
  std::string_view who;
  std::string_view what;
  std::uint64_t number = 0;
  std::uint64_t items = 0;
};

enum class Stream : std::uint8_t {
  shop,        ///< pages and baskets
  links,       ///< redirects
  frontier,    ///< URLs that the crawler finds
  rules,       ///< of the block list
  baskets,     ///< left over from earlier days
  block_list,  ///< no events: the rules as a guard's bytes
  none         ///< always empty
};
inline constexpr std::size_t kStreams = 6;

/// Cost: some 100 bytes per event, in files that exist as long as a process has them open.
struct Day {
  TrafficOptions options;
  std::array<int, kStreams> files{};

  [[nodiscard]] int file(Stream stream) const noexcept {
    return stream == Stream::none ? -1 : files.at(static_cast<std::size_t>(stream));
  }
};

/// Returns a busy day of about so many events: the lists that are asked grow with it.
[[nodiscard]] TrafficOptions day_options(std::uint64_t events, std::uint64_t seed);

/// Returns a new, empty file in memory, which child processes inherit. Errors: io.
[[nodiscard]] Result<int> new_file();

/// Writes bytes into a file in memory. Errors: out_of_space.
[[nodiscard]] Result<void> write_all(int file, const void* bytes, std::size_t count, std::size_t at);

/// Generates the day into its files, except the block list; returns the number of events. Errors: as
/// TrafficGenerator::create; out_of_space.
[[nodiscard]] Result<std::uint64_t> write_day(const Day& day);

/// Reads a stream's events in blocks.
class EventReader {
 public:
  explicit EventReader(int file) : file_(file), bytes_(kBufferBytes) {}

  static constexpr std::size_t kMostInBlock = 1024;
  static constexpr std::size_t kLeastBytes = 32;  ///< of an event in the file

  /// Returns the next events, none at the end; they are valid until the next call.
  [[nodiscard]] std::span<const DayEvent> next();

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{4} << 20;

  void refill();
  [[nodiscard]] bool parse_one();

  int file_;
  std::vector<char> bytes_;
  std::vector<DayEvent> events_;
  std::size_t begin_ = 0;  // of what is not parsed yet
  std::size_t end_ = 0;
  std::uint64_t offset_ = 0;  // of the end, in the file
};

/// Calls `use` with every event of a stream.
template <class Use>
void for_each_event(const Day& day, Stream stream, const Use& use) {
  EventReader reader(day.file(stream));
  for (auto block = reader.next(); !block.empty(); block = reader.next()) {
    for (const DayEvent& event : block) {
      use(event);
    }
  }
}

/// Returns the moment in seconds since the day began.
[[nodiscard]] inline double seconds_into(const Day& day, Time time) {
  return std::chrono::duration<double>(time - day.options.start).count();
}

}  // namespace mankai::command::demo
