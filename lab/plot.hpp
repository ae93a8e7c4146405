#pragma once

#include <string>

#include "lab/lab.hpp"

namespace mankai::lab {

/// Returns gnuplot's script for a figure: data, axes and series; SVG on standard output.
[[nodiscard]] std::string plot_script(const Figure& figure);

/// Draws a figure with gnuplot, as an `<svg>` element to be put into a page beside others.
/// Cost: a child process. Errors: not_found when gnuplot is not installed; io with its words when it fails.
[[nodiscard]] Result<std::string> plot_svg(const Figure& figure);

}  // namespace mankai::lab
