#include "apps/mankai-lab/demo/exhibit.hpp"

#include <ctime>

namespace mankai::command::demo {

double thread_seconds() noexcept {
  constexpr double kNanosecond = 1e-9;
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * kNanosecond;
}

Curve WrongByHour::curve(std::string name, std::size_t colour) const {
  Curve curve{.name = std::move(name), .style = CurveStyle::line, .colour = colour, .points = {}};
  constexpr double kHour = 3600;
  for (std::size_t hour = 0; hour < wrong_.size(); ++hour) {
    if (strangers_.at(hour) > 0) {
      curve.points.push_back({.x = (static_cast<double>(hour) + 0.5) * kHour,
                              .y = static_cast<double>(wrong_.at(hour)) / static_cast<double>(strangers_.at(hour))});
    }
  }
  return curve;
}

}  // namespace mankai::command::demo
