#include "apps/mankai/hot_report.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "apps/mankai/report.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai::command {
namespace {

/// Rounds off what rounding up of weights adds to a count, so that three records are 3.
double rounded(double count) { return std::round(count * 0x1p16) * 0x1p-16; }

struct Size {
  std::size_t lines = 24;
  std::size_t columns = 80;
};

Size terminal_size() {
  Size size;
  winsize window{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row > 0 && window.ws_col > 0) {
    size = {.lines = window.ws_row, .columns = window.ws_col};
  }
  return size;
}

constexpr std::size_t kGap = 2;  // spaces between columns

// Only keys from escapes of JSON logs can contain a line feed.
std::string on_one_line(std::string key) {
  for (std::size_t at = key.find('\n'); at != std::string::npos; at = key.find('\n', at)) {
    key.replace(at, 1, "\\x0a");
  }
  return key;
}

std::string number(double value) { return fmt::format("{:.3f}", value); }

std::vector<std::string> titles(const HotBlock& block) {
  std::vector<std::string> titles;
  if (block.is_ranked) {
    titles.emplace_back("rank");
  }
  titles.insert(titles.end(), {"count", "per hour"});
  if (block.is_ranked) {
    titles.emplace_back("last seen");
  }
  if (block.is_exact) {
    titles.insert(titles.end(), {"exact", "error"});
  }
  titles.emplace_back("key");
  return titles;
}

std::vector<std::string> cells(const HotBlock& block, std::size_t index) {
  const HotRow& row = block.rows[index];
  std::vector<std::string> cells;
  if (block.is_ranked) {
    cells.push_back(std::to_string(index + 1));
  }
  cells.insert(cells.end(),
               {number(row.count.raw), block.has_rates ? number(hourly(row.count.rate, block.epoch)) : "-"});
  if (block.is_ranked) {
    cells.push_back(row.last_seen ? format_time(*row.last_seen) : "-");
  }
  if (block.is_exact) {
    cells.insert(cells.end(),
                 {row.exact ? number(*row.exact) : "-", row.exact ? number(row.count.raw - *row.exact) : "-"});
  }
  cells.push_back(row.key);
  return cells;
}

// Truncates between characters. Counts each as one column, which holds for nearly all characters in logs.
std::string cut_to(std::string line, std::size_t width) {
  if (width == 0) {
    return line;
  }
  std::size_t end = 0;
  for (std::size_t columns = 0; end < line.size() && columns < width; ++columns) {
    end += std::max<std::size_t>(character_bytes(std::string_view(line).substr(end)), 1);
  }
  line.resize(std::min(end, line.size()));
  return line;
}

Report row_report(const HotBlock& block, std::size_t index) {
  const HotRow& row = block.rows[index];
  Report report;
  if (block.is_ranked) {
    report.add("rank", std::uint64_t{index + 1});
  }
  add_bytes("key", row.key, report);
  if (row.is_cut) {
    report.add("key_is_cut", true);
  }
  report.add("count", rounded(row.count.raw));
  if (block.has_rates) {
    report.add("rate", hourly(row.count.rate, block.epoch));
  }
  if (row.last_seen) {
    report.add("last_seen", format_time(*row.last_seen));
  }
  if (row.exact) {
    report.add("exact", *row.exact);
    report.add("error", rounded(row.count.raw) - *row.exact);
  }
  return report;
}

}  // namespace

void HotScreen::draw(HotBlock block, const std::string& heading, Output& output) {
  constexpr std::size_t kOtherLines = 3;  // heading, header, and the cursor's line
  const Size size = terminal_size();
  const std::size_t rows = size.lines > kOtherLines ? size.lines - kOtherLines : 1;
  block.rows.resize(std::min(block.rows.size(), rows));
  clear(output);
  const std::string table = heading.substr(0, size.columns) + "\n" + hot_table(block, size.columns);
  output.append(table);
  lines_ = static_cast<std::size_t>(std::ranges::count(table, '\n'));
}

void HotScreen::clear(Output& output) {
  if (lines_ > 0) {
    output.append(fmt::format("\x1b[{}A\r\x1b[J", lines_));
    lines_ = 0;
  }
}

void HotLeftOut::say_if_any() const {
  if (records > 0) {
    say(fmt::format("nothing was counted: {} later than --at, the first one at {}",
                    counted(records, "record is", "records are"), format_time(first)));
  }
}

double hourly(double rate, Duration epoch) noexcept {
  return rate * (std::chrono::duration<double>(std::chrono::hours(1)) / std::chrono::duration<double>(epoch));
}

std::string hot_table(const HotBlock& block, std::size_t width) {
  std::vector<std::vector<std::string>> rows = {titles(block)};
  for (std::size_t i = 0; i < block.rows.size(); ++i) {
    rows.push_back(cells(block, i));
    rows.back().back() = printable(rows.back().back()) + (block.rows[i].is_cut ? "..." : "");
  }
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t column = 0; column + 1 < row.size(); ++column) {
      line += std::string(widths[column] - row[column].size(), ' ') + row[column] + std::string(kGap, ' ');
    }
    table += cut_to(line + row.back(), width) + "\n";
  }
  return table;
}

std::string hot_lines(const HotBlock& block, const std::string& prefix) {
  std::string lines;
  for (std::size_t i = 0; i < block.rows.size(); ++i) {
    std::vector<std::string> row = cells(block, i);
    row.back() = on_one_line(std::move(row.back()));
    lines += prefix + fmt::format("{}\n", fmt::join(row, "\t"));
  }
  return lines;
}

std::string hot_header(const HotBlock& block, const std::string& prefix) {
  return prefix + fmt::format("{}\n", fmt::join(titles(block), "\t"));
}

std::string hot_json(const HotBlock& block, Report settings) {
  if (block.errors) {
    settings.add("error_largest", block.errors->largest);
    settings.add("error_mean", block.errors->mean);
    settings.add("top_agreeing", std::uint64_t{block.errors->agreeing});
    settings.add("top_exact", std::uint64_t{block.errors->wanted});
  }
  std::vector<Report> rows;
  for (std::size_t i = 0; i < block.rows.size(); ++i) {
    rows.push_back(row_report(block, i));
  }
  settings.add_list(block.is_ranked ? "top" : "keys", std::move(rows));
  return settings.json();
}

}  // namespace mankai::command
