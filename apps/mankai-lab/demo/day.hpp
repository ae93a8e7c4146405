#pragma once

/// The day that the tour asks about, in memory, so that no question waits for it.

#include <chrono>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string_view>
#include <vector>

#include "lab/traffic/traffic_generator.hpp"

namespace mankai::command::demo {

/// A TrafficEvent whose texts stand elsewhere.
struct DayEvent {
  Time time;
  TrafficKind kind;
  std::string_view who;
  std::string_view what;
  std::uint64_t number;
  std::uint64_t items;
};

/// Cost: some 150 bytes an event.
struct Day {
  std::unique_ptr<std::pmr::monotonic_buffer_resource> texts;
  Time start;
  std::vector<DayEvent> shop;   ///< pages and baskets
  std::vector<DayEvent> links;  ///< redirects
  std::vector<DayEvent> frontier;
  std::vector<std::string_view> rules;
  std::string_view sale_path;
  Time sale_start;

  [[nodiscard]] std::uint64_t event_count() const noexcept { return shop.size() + links.size() + frontier.size(); }
};

/// Takes everything that the generator, which was made of these options, has not given yet.
[[nodiscard]] Day make_day(TrafficGenerator generator, const TrafficOptions& options);

/// Returns the moment in seconds since the day began.
[[nodiscard]] inline double seconds_into(const Day& day, Time time) {
  return std::chrono::duration<double>(time - day.start).count();
}

/// Calls `use` with the events of each part of the day in turn, and the moment at which that part ends.
template <class Use>
void for_each_part(const Day& day, std::span<const DayEvent> events, Duration length, const Use& use) {
  const Time midnight = day.start + std::chrono::hours(24);
  std::size_t begin = 0;
  for (Time end = day.start + length; end <= midnight; end += length) {
    std::size_t next = begin;
    while (next < events.size() && events[next].time < end) {
      ++next;
    }
    use(events.subspan(begin, next - begin), end);
    begin = next;
  }
}

}  // namespace mankai::command::demo
