#pragma once

/// Plots as inline SVG, so that a page has no dependencies.

#include <cstdint>
#include <string>
#include <vector>

namespace mankai::command::demo {

struct Point {
  double x = 0;
  double y = 0;
  double error = 0;  ///< half the length of the error bar; 0: none
};

enum class CurveStyle : std::uint8_t { line, dashed, dots };

/// Curves of one color belong together, such as an estimate and its exact value.
struct Curve {
  std::string name;
  CurveStyle style = CurveStyle::line;
  std::size_t color = 0;  ///< index in the page's palette, 0 to 5
  std::vector<Point> points;
};

enum class AxisUnit : std::uint8_t {
  count,   ///< 1,000, 20k
  share,   ///< 0–1 as 0 % to 100 %
  seconds  ///< of the day, as 14:00
};

struct Axis {
  std::string label{};
  AxisUnit unit = AxisUnit::count;
  bool is_logarithmic = false;
  double least = 0;
  double greatest = 1;  ///< above `least`; both are positive on a logarithmic axis
};

/// A shaded, named range of the x axis.
struct Band {
  std::string name;
  double begin = 0;
  double end = 0;
};

struct Plot {
  std::string id;           ///< prefix of element ids: letters and hyphens
  std::string title;        ///< a line
  std::string description;  ///< text alternative
  Axis x;
  Axis y;
  std::vector<Curve> curves;
  std::vector<Band> bands{};
};

/// In CSS pixels.
struct PlotSize {
  double width = 0;
  double height = 0;
};
inline constexpr PlotSize kWidePlot{.width = 760, .height = 380};
inline constexpr PlotSize kNarrowPlot{.width = 328, .height = 300};

/// Returns an `<svg>` element. The page defines the colors of its classes c0 to c5 (curves), `axis`, `grid` and `band`.
[[nodiscard]] std::string plot_svg(const Plot& plot, const PlotSize& size);
/// Returns a `<figure>`: title, legend, and the plot in both sizes.
[[nodiscard]] std::string plot_figure(const Plot& plot);

/// Returns the positions of ticks: round numbers, about `most` at most.
[[nodiscard]] std::vector<double> ticks_of(const Axis& axis, std::size_t most);
[[nodiscard]] std::string tick_text(const Axis& axis, double value);

}  // namespace mankai::command::demo
