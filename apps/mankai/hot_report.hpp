#pragma once

/// What mankai hot prints: rows of one moment as an aligned table, as lines with tabs or as JSON.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "mankai/base/time.hpp"
#include "mankai/filter/concepts.hpp"

namespace mankai::command {

/// A key and what is known about it. What is unset has no column.
struct HotRow {
  std::string key;
  DecayedCount count;
  std::optional<Time> last_seen{};
  std::optional<double> exact{};
  bool is_cut = false;  ///< the key is longer
};

/// How far the rows are from the truth.
struct HotErrors {
  double largest = 0;  ///< of estimate less truth, over the rows
  double mean = 0;
  std::size_t agreeing = 0;  ///< rows whose true count is at most 1 % below that of the last one of the true list
  std::size_t wanted = 0;    ///< rows of the true list
};

/// The rows of one moment.
struct HotBlock {
  Time at;
  Duration epoch;
  bool is_ranked = true;  ///< hottest first; otherwise in the order in which keys were asked for
  bool is_exact = false;
  bool has_rates = true;  ///< counts that never decay have none, and records without times have none
  std::vector<HotRow> rows{};
  std::optional<HotErrors> errors{};
};

/// Turns a rate an epoch into one an hour.
[[nodiscard]] double hourly(double rate, Duration epoch) noexcept;

/// An aligned table with a line of titles, for a terminal: control characters and what is not UTF-8 are escaped.
/// Lines are cut at `width` columns, 0 for none.
[[nodiscard]] std::string hot_table(const HotBlock& block, std::size_t width = 0);

/// A line per row, each after `prefix`: columns separated by tabs, the key last and unchanged, except that a line feed
/// becomes \x0a.
[[nodiscard]] std::string hot_lines(const HotBlock& block, const std::string& prefix = "");

/// The line of titles for `hot_lines`, after `prefix`.
[[nodiscard]] std::string hot_header(const HotBlock& block, const std::string& prefix = "");

/// The settings with the rows behind them, as one JSON object on a line.
[[nodiscard]] std::string hot_json(const HotBlock& block, Report settings);

/// A table that is redrawn in place on a terminal. The terminal's modes are not changed, so nothing has to be restored
/// when the process ends.
class HotScreen {
 public:
  /// Draws over what was drawn last, as many rows as fit.
  void draw(HotBlock block, const std::string& heading, Output& output);
  /// Erases the table.
  void clear(Output& output);

 private:
  std::size_t lines_ = 0;  // drawn last; the cursor stands below them
};

}  // namespace mankai::command
