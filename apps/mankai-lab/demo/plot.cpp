#include "apps/mankai-lab/demo/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "lab/text.hpp"

namespace mankai::command::demo {
namespace {

using lab::html_escape;

constexpr double kLeft = 58;     // for the numbers of the y axis
constexpr double kRight = 24;    // half of the last number of the x axis
constexpr double kPlotTop = 26;  // for the label of the y axis
constexpr double kBottom = 46;
constexpr double kTickText = 6;
constexpr double kDotRadius = 3;

class Frame {
 public:
  Frame(const Plot& plot, const PlotSize& size) : plot_(plot), size_(size) {}

  [[nodiscard]] double left() const { return kLeft; }
  [[nodiscard]] double right() const { return size_.width - kRight; }
  [[nodiscard]] double top() const { return kPlotTop; }
  [[nodiscard]] double bottom() const { return size_.height - kBottom; }
  [[nodiscard]] double x(double value) const { return left() + share_of(plot_.x, value) * (right() - left()); }
  [[nodiscard]] double y(double value) const { return bottom() - share_of(plot_.y, value) * (bottom() - top()); }
  [[nodiscard]] bool is_narrow() const { return size_.width < kWidePlot.width; }

 private:
  static double share_of(const Axis& axis, double value) {
    const auto scaled = [&axis](double number) { return axis.is_logarithmic ? std::log(number) : number; };
    const double clamped = std::clamp(value, axis.least, axis.greatest);
    return (scaled(clamped) - scaled(axis.least)) / (scaled(axis.greatest) - scaled(axis.least));
  }

  const Plot& plot_;
  const PlotSize& size_;
};

// Returns the next larger 1, 2 or 5 times a power of ten.
double round_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= step * (1 - 1e-9)) {
      return power * factor;
    }
  }
  return power * 10;
}

double round_seconds(double step) {
  constexpr double kHour = 3600;
  for (const double hours : {1.0, 2.0, 3.0, 4.0, 6.0, 12.0}) {
    if (hours * kHour >= step) {
      return hours * kHour;
    }
  }
  return 24 * kHour;
}

std::string count_text(double value) {
  for (const auto& [unit, letter] : {std::pair(1e9, "G"), std::pair(1e6, "M"), std::pair(1e3, "k")}) {
    if (std::abs(value) >= unit) {
      return fmt::format("{:g}{}", value / unit, letter);
    }
  }
  return fmt::format("{:g}", value);
}

std::string horizontal_axis(const Plot& plot, const Frame& frame) {
  constexpr double kBelow = 18;
  constexpr double kLabelBelow = 38;
  std::string svg;
  for (const double tick : ticks_of(plot.x, frame.is_narrow() ? 4 : 9)) {
    svg += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>",
                       frame.x(tick), frame.top(), frame.bottom());
    svg += fmt::format("<text text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", frame.x(tick),
                       frame.bottom() + kBelow, tick_text(plot.x, tick));
  }
  return svg + fmt::format("<text class=\"label\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                           frame.right(), frame.bottom() + kLabelBelow, html_escape(plot.x.label));
}

std::string vertical_axis(const Plot& plot, const Frame& frame) {
  constexpr double kBaseline = 4;
  std::string svg;
  for (const double tick : ticks_of(plot.y, frame.is_narrow() ? 5 : 6)) {
    svg += fmt::format("<line class=\"grid\" x1=\"{1:.1f}\" x2=\"{2:.1f}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>",
                       frame.y(tick), frame.left(), frame.right());
    svg += fmt::format("<text text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", frame.left() - kTickText,
                       frame.y(tick) + kBaseline, tick_text(plot.y, tick));
  }
  constexpr double kLabelAbove = 12;
  return svg + fmt::format("<text class=\"label\" x=\"4\" y=\"{:.1f}\">{}</text>\n", frame.top() - kLabelAbove,
                           html_escape(plot.y.label));
}

std::string bands(const Plot& plot, const Frame& frame) {
  constexpr double kTextBelow = 14;
  std::string svg;
  for (const Band& band : plot.bands) {
    const double left = frame.x(band.begin);
    const double right = frame.x(band.end);
    const bool is_before = left - frame.left() > frame.right() - right;
    svg += fmt::format(
        "<rect class=\"band\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>"
        "<text class=\"label\" text-anchor=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        left, frame.top(), right - left, frame.bottom() - frame.top(), is_before ? "end" : "start",
        is_before ? left - kTickText : right + kTickText, frame.top() + kTextBelow, html_escape(band.name));
  }
  return svg;
}

std::string dots(const Curve& curve, const Frame& frame) {
  std::string svg = fmt::format("<g class=\"dots c{}\">", curve.color);
  for (const Point& point : curve.points) {
    if (point.error > 0) {
      svg += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>", frame.x(point.x),
                         frame.y(point.y - point.error), frame.y(point.y + point.error));
    }
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", frame.x(point.x), frame.y(point.y),
                       frame.is_narrow() ? kDotRadius - 1 : kDotRadius);
  }
  return svg + "</g>\n";
}

std::string line(const Curve& curve, const Frame& frame) {
  std::string places;
  for (const Point& point : curve.points) {
    places += fmt::format("{}{:.1f},{:.1f}", places.empty() ? "" : " ", frame.x(point.x), frame.y(point.y));
  }
  return fmt::format("<polyline class=\"{} c{}\" points=\"{}\"/>\n",
                     curve.style == CurveStyle::dashed ? "line dashed" : "line", curve.color, places);
}

std::string legend(const Plot& plot) {
  std::string html = "<ul class=\"legend\">";
  for (const Curve& curve : plot.curves) {
    const std::string_view mark =
        curve.style == CurveStyle::dots     ? "<g class=\"dots c{}\"><circle cx=\"12\" cy=\"6\" r=\"3.5\"/></g>"
        : curve.style == CurveStyle::dashed ? "<polyline class=\"line dashed c{}\" points=\"0,6 24,6\"/>"
                                            : "<polyline class=\"line c{}\" points=\"0,6 24,6\"/>";
    html += fmt::format("<li><svg class=\"swatch\" viewBox=\"0 0 24 12\" aria-hidden=\"true\">{}</svg>{}</li>\n",
                        fmt::format(fmt::runtime(mark), curve.color), html_escape(curve.name));
  }
  return html + "</ul>\n";
}

}  // namespace

std::vector<double> ticks_of(const Axis& axis, std::size_t most) {
  std::vector<double> ticks;
  if (axis.is_logarithmic) {
    const double first = std::ceil(std::log10(axis.least) - 1e-9);
    const double last = std::floor(std::log10(axis.greatest) + 1e-9);
    for (double power = first; power <= last; ++power) {
      ticks.push_back(std::pow(10.0, power));
    }
    return ticks;
  }
  const double wanted = (axis.greatest - axis.least) / static_cast<double>(most);
  const double step = axis.unit == AxisUnit::seconds ? round_seconds(wanted) : round_step(wanted);
  const auto last = static_cast<std::int64_t>(std::floor(axis.greatest / step + 1e-9));
  for (auto i = static_cast<std::int64_t>(std::ceil(axis.least / step - 1e-9)); i <= last; ++i) {
    ticks.push_back(static_cast<double>(i) * step);
  }
  return ticks;
}

std::string tick_text(const Axis& axis, double value) {
  constexpr double kHour = 3600;
  switch (axis.unit) {
    case AxisUnit::share: return fmt::format("{:g}%", std::round(value * 1e8) / 1e6);
    case AxisUnit::seconds: return fmt::format("{:02}:00", static_cast<int>(value / kHour));
    default: return count_text(value);
  }
}

std::string plot_svg(const Plot& plot, const PlotSize& size) {
  const Frame frame(plot, size);
  const std::string id = plot.id + (frame.is_narrow() ? "-narrow" : "-wide");
  std::string svg = fmt::format(
      "<svg class=\"plot {0}\" viewBox=\"0 0 {1} {2}\" role=\"img\" aria-labelledby=\"{3}-title {3}-text\">\n"
      "<title id=\"{3}-title\">{4}</title><desc id=\"{3}-text\">{5}</desc>\n",
      frame.is_narrow() ? "narrow" : "wide", size.width, size.height, id, html_escape(plot.title),
      html_escape(plot.description));
  svg += horizontal_axis(plot, frame) + vertical_axis(plot, frame) + bands(plot, frame);
  for (const Curve& curve : plot.curves) {
    svg += curve.style == CurveStyle::dots ? dots(curve, frame) : line(curve, frame);
  }
  svg += fmt::format("<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n",
                     frame.left(), frame.right(), frame.bottom());
  return svg + "</svg>\n";
}

std::string plot_figure(const Plot& plot) {
  return fmt::format("<figure id=\"{}\"><figcaption>{}</figcaption>\n{}{}{}</figure>\n", plot.id,
                     html_escape(plot.title), legend(plot), plot_svg(plot, kWidePlot), plot_svg(plot, kNarrowPlot));
}

}  // namespace mankai::command::demo
