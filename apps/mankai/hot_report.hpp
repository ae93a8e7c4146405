#pragma once

/// Output of `mankai hot`: an aligned table, tab-separated lines, or JSON.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "mankai/base/time.hpp"
#include "mankai/filter/concepts.hpp"

namespace mankai::command {

/// A key and its values. Unset values have no column.
struct HotRow {
  std::string key;
  DecayedCount count;
  std::optional<Time> last_seen{};
  std::optional<double> exact{};
  bool is_cut = false;  ///< the key is a truncated prefix
};

struct HotErrors {
  double largest = 0;  ///< largest |estimate - exact| of a row
  double mean = 0;
  std::size_t agreeing = 0;  ///< rows with at least 99% of the exact count of the last row of the exact list
  std::size_t wanted = 0;    ///< length of the exact list
};

struct HotBlock {
  Time at;
  Duration epoch;
  bool is_ranked = true;  ///< hottest first; otherwise in the order of the requested keys
  bool is_exact = false;
  bool has_rates = true;  ///< false for counts without decay or records without times
  std::vector<HotRow> rows{};
  std::optional<HotErrors> errors{};
};

/// Records after --at, which are not counted.
struct HotLeftOut {
  std::uint64_t records = 0;
  Time first = Time::max();

  void add(Time time) noexcept {
    ++records;
    first = std::min(first, time);
  }
  /// Prints a message if there are any: for a run that counted nothing.
  void say_if_any() const;
};

[[nodiscard]] double hourly(double rate, Duration epoch) noexcept;

/// Returns an aligned table with a header, for a terminal. Control characters and invalid UTF-8 are escaped. Lines are
/// truncated at `width` columns; 0: never.
[[nodiscard]] std::string hot_table(const HotBlock& block, std::size_t width = 0);

/// Returns one line per row: `prefix`, then columns separated by tabs. The key is last and unchanged, except that a
/// line feed becomes \x0a.
[[nodiscard]] std::string hot_lines(const HotBlock& block, const std::string& prefix = "");

[[nodiscard]] std::string hot_header(const HotBlock& block, const std::string& prefix = "");

/// Returns one line with a JSON object: the settings, then the rows.
[[nodiscard]] std::string hot_json(const HotBlock& block, Report settings);

/// A table that is redrawn in place on a terminal. It changes no terminal modes, so a killed process leaves none
/// behind.
class HotScreen {
 public:
  /// Replaces the last table, with as many rows as fit on the screen.
  void draw(HotBlock block, const std::string& heading, Output& output);
  void clear(Output& output);

 private:
  std::size_t lines_ = 0;  // of the last table; the cursor is below them
};

}  // namespace mankai::command
