#pragma once

/// The traffic of a day, in memory files that the tour's processes share.

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lab/traffic/traffic_generator.hpp"

namespace mankai::command::demo {

/// A TrafficEvent that refers to its texts.
struct DayEvent {
  Time time;
  TrafficKind kind = TrafficKind::page;
  std::string_view who;
  std::string_view what;
  std::uint64_t number = 0;
  std::uint64_t items = 0;
};

enum class Stream : std::uint8_t {
  shop,
  links,  ///< redirects
  frontier,
  rules,       ///< of the block list
  baskets,     ///< of earlier days
  block_list,  ///< not events: the rules as a guard's bytes
  none         ///< always empty
};
inline constexpr std::size_t kStreams = 6;

/// Cost: about 100 bytes per event, in files that exist while a process has them open.
struct Day {
  TrafficOptions options;
  std::array<int, kStreams> files{};

  [[nodiscard]] int file(Stream stream) const noexcept {
    return stream == Stream::none ? -1 : files.at(static_cast<std::size_t>(stream));
  }
};

/// Returns a busy day of about `events` events; the lists grow in proportion.
[[nodiscard]] TrafficOptions day_options(std::uint64_t events, std::uint64_t seed);

/// Creates an empty file in memory, which child processes inherit. Errors: io.
[[nodiscard]] Result<int> new_file();

/// Errors: out_of_space.
[[nodiscard]] Result<void> write_all(int file, const void* bytes, std::size_t count, std::size_t at);

/// Generates all files of the day except the block list. Returns the number of events. Errors: as
/// TrafficGenerator::create; out_of_space.
[[nodiscard]] Result<std::uint64_t> write_day(const Day& day);

class EventReader {
 public:
  explicit EventReader(int file) : file_(file), bytes_(kBufferBytes) {}

  static constexpr std::size_t kMostInBlock = 1024;
  static constexpr std::size_t kLeastBytes = 32;  ///< of an event

  /// Returns the next events, valid until the next call; none at the end.
  [[nodiscard]] std::span<const DayEvent> next();

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{4} << 20;

  void refill();
  [[nodiscard]] bool parse_one();

  int file_;
  std::vector<char> bytes_;
  std::vector<DayEvent> events_;
  std::size_t begin_ = 0;  // of unparsed bytes
  std::size_t end_ = 0;
  std::uint64_t offset_ = 0;  // of end_ in the file
};

template <class Use>
void for_each_event(const Day& day, Stream stream, const Use& use) {
  EventReader reader(day.file(stream));
  for (auto block = reader.next(); !block.empty(); block = reader.next()) {
    for (const DayEvent& event : block) {
      use(event);
    }
  }
}

[[nodiscard]] inline double seconds_into(const Day& day, Time time) {
  return std::chrono::duration<double>(time - day.options.start).count();
}

}  // namespace mankai::command::demo
