#include "apps/mankai-lab/demo/day.hpp"

#include <cstring>
#include <string>

namespace mankai::command::demo {
namespace {

std::string_view keep(std::string_view text, std::pmr::memory_resource& memory) {
  if (text.empty()) {
    return {};
  }
  char* const bytes = static_cast<char*>(memory.allocate(text.size(), 1));
  std::memcpy(bytes, text.data(), text.size());
  return {bytes, text.size()};
}

std::vector<DayEvent>& stream_of(Day& day, TrafficKind kind) {
  switch (kind) {
    case TrafficKind::redirect: return day.links;
    case TrafficKind::fetch: return day.frontier;
    default: return day.shop;
  }
}

}  // namespace

Day make_day(TrafficGenerator generator, const TrafficOptions& options) {
  Day day;
  day.texts = std::make_unique<std::pmr::monotonic_buffer_resource>();
  day.start = options.start;
  for (TrafficEvent event; generator.next(event);) {
    stream_of(day, event.kind)
        .push_back({.time = event.time,
                    .kind = event.kind,
                    .who = keep(event.who, *day.texts),
                    .what = keep(event.what, *day.texts),
                    .number = event.number,
                    .items = event.items});
  }
  std::string text;
  for (std::uint64_t i = 0; i < options.rules; ++i) {
    text.clear();
    generator.append_rule(i, text);
    day.rules.push_back(keep(text, *day.texts));
  }
  text.clear();
  generator.append_sale_path(text);
  day.sale_path = keep(text, *day.texts);
  day.sale_start = generator.sale_start();
  return day;
}

}  // namespace mankai::command::demo
