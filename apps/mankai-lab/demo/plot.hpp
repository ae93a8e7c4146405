#pragma once

/// Plots as inline SVG, drawn here so that a page needs nothing else.

#include <cstdint>
#include <string>
#include <vector>

namespace mankai::command::demo {

struct Point {
  double x = 0;
  double y = 0;
  double error = 0;  ///< half the length of a bar; 0 for none
};

enum class CurveStyle : std::uint8_t { line, dashed, dots };

/// Curves of one color belong together: an estimate and its truth.
struct Curve {
  std::string name;
  CurveStyle style = CurveStyle::line;
  std::size_t colour = 0;  ///< of the page's palette, 0 to 5
  std::vector<Point> points;
};

/// How an axis writes its numbers.
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
  double greatest = 1;  ///< above least; on a logarithmic axis both are above 0
};

/// A part of the x axis that is shaded and named.
struct Band {
  std::string name;
  double begin = 0;
  double end = 0;
};

struct Plot {
  std::string id;           ///< of its elements in the page: letters and hyphens
  std::string title;        ///< a line
  std::string description;  ///< what a reader sees in it, for those who cannot
  Axis x;
  Axis y;
  std::vector<Curve> curves;
  std::vector<Band> bands{};
};

/// In units of CSS pixels at the width where it is drawn for.
struct PlotSize {
  double width = 0;
  double height = 0;
};
inline constexpr PlotSize kWidePlot{.width = 760, .height = 380};
inline constexpr PlotSize kNarrowPlot{.width = 328, .height = 300};

/// Returns an `<svg>` element. Colors are the page's: classes c0 to c5 for curves, `axis`, `grid`, `band`.
[[nodiscard]] std::string plot_svg(const Plot& plot, const PlotSize& size);
/// Returns a `<figure>`: title, legend, and the plot for wide and for narrow windows.
[[nodiscard]] std::string plot_figure(const Plot& plot);

/// Returns where an axis has its ticks: round numbers, at most about so many.
[[nodiscard]] std::vector<double> ticks_of(const Axis& axis, std::size_t most);
/// Returns a tick's text.
[[nodiscard]] std::string tick_text(const Axis& axis, double value);

}  // namespace mankai::command::demo
