#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/lab.hpp"

namespace mankai::lab {

/// Makes the folder if it is missing, and sees that files can be made in it: before the long work, not after it.
/// Errors: io, out_of_space.
[[nodiscard]] Result<void> prepare_folder(const std::string& folder);

/// Returns gnuplot's script for a figure: data, axes and series; SVG on standard output.
[[nodiscard]] std::string plot_script(const Figure& figure);
/// Draws a figure with gnuplot, as an `<svg>` element to be put into a page beside others.
/// Cost: a child process. Errors: not_found when gnuplot is not installed; io with its words when it fails.
[[nodiscard]] Result<std::string> plot_svg(const Figure& figure);

/// Draws a figure as an `<svg>` element, or says why not: plot_svg.
using Draw = std::function<Result<std::string>(const Figure&)>;

/// Returns the page: self-contained, nothing is loaded from anywhere. A figure that cannot be drawn is its table.
[[nodiscard]] std::string page(const std::vector<Outcome>& outcomes, const Context& context, const Draw& draw);

/// Writes index.html, claims.json and SOURCE-FIGURE.csv for every figure, each whole or not at all. Other files in the
/// folder stay. Errors: io, out_of_space.
[[nodiscard]] Result<void> write_report(const std::string& folder, const std::vector<Outcome>& outcomes,
                                        const Context& context);

}  // namespace mankai::lab
