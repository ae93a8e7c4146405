#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lab/lab.hpp"

namespace mankai::lab {

/// Creates a missing folder and checks that it is writable, before the long measurement. Errors: io, out_of_space.
[[nodiscard]] Result<void> prepare_folder(const std::string& folder);

[[nodiscard]] std::string plot_script(const Figure& figure);
/// Draws a figure with gnuplot, as an `<svg>` element for a page with other figures. Cost: a child process. Errors:
/// not_found if gnuplot is not installed; io with gnuplot's message if it fails.
[[nodiscard]] Result<std::string> plot_svg(const Figure& figure);

using Draw = std::function<Result<std::string>(const Figure&)>;

/// Returns the self-contained page. A figure that cannot be drawn is shown as its table.
[[nodiscard]] std::string page(const std::vector<Outcome>& outcomes, const Context& context, const Draw& draw);

/// Writes index.html, claims.json and SOURCE-FIGURE.csv per figure, each atomically. Other files in the folder stay.
/// Errors: io, out_of_space.
[[nodiscard]] Result<void> write_report(const std::string& folder, const std::vector<Outcome>& outcomes,
                                        const Context& context);

}  // namespace mankai::lab
