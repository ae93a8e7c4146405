#include "apps/mankai/times.hpp"

#include "apps/mankai/output.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai::command {

Result<Time> parse_moment(std::string_view text) {
  return text == "now" ? Result<Time>(clock_now()) : parse_time(text);
}

Time clock_now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

Option at_option(std::string help, std::optional<Time>& target) {
  return parsed_option("--at", "TIME",
                       std::move(help) + " Format: 2026-03-28T12:00:00Z, 2026-03-28, seconds since 1970, or now.",
                       parse_moment, target);
}

Result<void> advance_to(AnyFilter& filter, std::optional<Time> time) {
  return time ? filter.advance(*time) : Result<void>{};
}

Result<void> advance_to_now(Store& store, std::optional<Time> time) {
  if (time) {
    return store.advance(*time);
  }
  const auto stands_at = store.filter().time();
  if (!stands_at) {
    return {};
  }
  if (clock_now() < *stands_at) {
    say("warning: the filter's time is " + format_time(*stands_at) +
        ", in the future; the keys are added at that time");
    return {};
  }
  return store.advance(clock_now());
}

}  // namespace mankai::command
