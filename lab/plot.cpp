#include "lab/report.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

namespace mankai::lab {
namespace {

// Okabe and Ito's palette, distinguishable with any kind of color vision.
constexpr std::array<std::string_view, 7> kColors = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                     "#56B4E9", "#E69F00", "#444444"};

std::string gnuplot_text(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      result += '\\';
    }
    result += letter == '\n' ? ' ' : letter;
  }
  return result + "\"";
}

std::optional<std::size_t> column_of(const Figure& figure, std::string_view name) {
  const auto found = std::ranges::find(figure.columns, name);
  return found == figure.columns.end() ? std::nullopt : std::optional<std::size_t>(found - figure.columns.begin());
}

bool is_of(const Figure& figure, const Series& series, const std::vector<Cell>& row) {
  return std::ranges::all_of(series.only, [&](const auto& condition) {
    const auto column = column_of(figure, condition.first);
    return column && *column < row.size() && row[*column] == Cell(condition.second);
  });
}

std::optional<double> number_at(const std::vector<Cell>& row, std::optional<std::size_t> column) {
  const double* number = column && *column < row.size() ? std::get_if<double>(&row[*column]) : nullptr;
  return number != nullptr && std::isfinite(*number) ? std::optional(*number) : std::nullopt;
}

struct Point {
  double x = 0;
  double y = 0;
  double error = 0;
};

std::vector<Point> points(const Figure& figure, const Series& series) {
  std::vector<Point> points;
  for (const std::vector<Cell>& row : figure.rows) {
    const auto x = number_at(row, column_of(figure, series.x));
    const auto y = number_at(row, column_of(figure, series.y));
    const bool is_drawable = x && y && (!figure.x.is_logarithmic || *x > 0) && (!figure.y.is_logarithmic || *y > 0);
    if (is_drawable && is_of(figure, series, row)) {
      points.push_back({*x, *y, number_at(row, column_of(figure, series.error)).value_or(0)});
    }
  }
  return points;
}

// A row per point: x, y, and the ends of its error bar. On a logarithmic axis a bar must end above 0.
std::string rows(const std::vector<Point>& points, bool is_logarithmic) {
  constexpr double kLowestOfBar = 0.05;
  std::string text;
  for (const Point& point : points) {
    const double low = is_logarithmic ? std::max(point.y - point.error, point.y * kLowestOfBar) : point.y - point.error;
    text += fmt::format("{} {} {} {}\n", point.x, point.y, low, point.y + point.error);
  }
  return text;
}

// The source's ends of the axis, or else a little beyond the first and last value; a linear axis without negative
// values begins at 0.
std::string range(const std::vector<double>& values, const Axis& axis) {
  constexpr double kMargin = 0.05;
  if (values.empty()) {
    return "[*:*]";
  }
  const auto [least, greatest] = std::ranges::minmax(values);
  if (axis.is_logarithmic) {
    const double factor = std::max(std::pow(greatest / least, kMargin), 1 + kMargin);
    return fmt::format("[{}:{}]", axis.from.value_or(least / factor), axis.to.value_or(greatest * factor));
  }
  const double margin = kMargin * std::max(greatest - least, std::abs(greatest) * kMargin);
  return fmt::format("[{}:{}]", axis.from.value_or(least >= 0 ? 0 : least - margin),
                     axis.to.value_or(greatest + margin));
}

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
};
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;

Result<TemporaryFile> temporary(const std::string& content) {
  TemporaryFile file(std::tmpfile());
  if (!file || std::fwrite(content.data(), 1, content.size(), file.get()) != content.size() ||
      std::fflush(file.get()) != 0 || std::fseek(file.get(), 0, SEEK_SET) != 0) {
    return fail(ErrorCode::io, "cannot make a temporary file for gnuplot", errno);
  }
  return file;
}

std::string read_all(std::FILE* file) {
  std::string text;
  if (std::fseek(file, 0, SEEK_SET) != 0) {
    return text;
  }
  std::array<char, 4096> buffer{};
  for (std::size_t count = 0; (count = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;) {
    text.append(buffer.data(), count);
  }
  return text;
}

// Runs gnuplot with files as its standard streams, so it cannot block on a full pipe. Returns its exit status.
Result<int> run_gnuplot(std::FILE* input, std::FILE* output, std::FILE* errors) {
  posix_spawn_file_actions_t actions{};
  if (const int error = posix_spawn_file_actions_init(&actions); error != 0) {
    return fail(ErrorCode::io, "cannot start gnuplot", error);
  }
  std::string name = "gnuplot";
  std::array<char*, 2> arguments = {name.data(), nullptr};
  posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(output), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(errors), STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, name.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return fail(error == ENOENT ? ErrorCode::not_found : ErrorCode::io, "cannot start gnuplot", error);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return fail(ErrorCode::io, "gnuplot went missing", errno);
    }
  }
  return status;
}

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// Extracts the element, and makes its ids differ from those of the page's other figures.
Result<std::string> element(std::string svg, const std::string& name) {
  const std::size_t start = svg.find("<svg");
  if (start == std::string::npos || !svg.contains("</svg>")) {
    return fail(ErrorCode::io, "gnuplot wrote no SVG");
  }
  svg.erase(0, start);
  replace_all(svg, " id=\"", " id=\"" + name + "-");
  replace_all(svg, " id='", " id='" + name + "-");
  replace_all(svg, "href='#", "href='#" + name + "-");
  replace_all(svg, "href=\"#", "href=\"#" + name + "-");
  replace_all(svg, "url(#", "url(#" + name + "-");
  return svg;
}

}  // namespace

std::string plot_script(const Figure& figure) {
  std::string script =
      "set terminal svg size 760,460 noenhanced font \"sans-serif,13\" background \"white\"\n"
      "set encoding utf8\nset border 3 linecolor rgb \"#666666\"\nset tics nomirror textcolor rgb \"#333333\"\n"
      "set grid linecolor rgb \"#dddddd\" linetype 1\nset key tmargin center horizontal textcolor rgb \"#333333\"\n"
      "set format \"%g\"\nset bars small\n";
  script += fmt::format("set xlabel {}\nset ylabel {}\n", gnuplot_text(figure.x.label), gnuplot_text(figure.y.label));
  script += figure.x.is_logarithmic ? "set logscale x\n" : "";
  script += figure.y.is_logarithmic ? "set logscale y\n" : "";
  std::string plots;
  std::vector<double> xs;
  std::vector<double> ys;
  for (std::size_t i = 0; i < figure.series.size(); ++i) {
    const Series& series = figure.series[i];
    const std::vector<Point> drawn = points(figure, series);
    if (drawn.empty()) {
      continue;
    }
    for (const Point& point : drawn) {
      xs.push_back(point.x);
      ys.push_back(point.y);
    }
    script += fmt::format("$series{} << END\n{}END\n", i, rows(drawn, figure.y.is_logarithmic));
    const std::string color = gnuplot_text(kColors.at(series.color.value_or(i) % kColors.size()));
    const std::string style =
        series.is_line ? fmt::format("using 1:2 with lines linewidth 2 linecolor rgb {}", color)
                       : fmt::format("using 1:2:3:4 with yerrorbars pointtype {} pointsize 0.7 linecolor rgb {}",
                                     series.is_hollow ? 6 : 7, color);
    plots += fmt::format("{}$series{} {} {}", plots.empty() ? "plot " : ", ", i, style,
                         series.title.empty() ? "notitle" : "title " + gnuplot_text(series.title));
  }
  for (std::size_t i = 0; i < figure.published.size(); ++i) {
    const Published& published = figure.published[i];
    script += fmt::format("$published{} << END\n", i);
    for (const auto& [x, y] : published.points) {
      xs.push_back(x);
      ys.push_back(y);
      script += fmt::format("{} {}\n", x, y);
    }
    script += "END\n";
    plots += fmt::format(
        "{}$published{} using 1:2 with points pointtype 2 pointsize 1.2 linewidth 2 linecolor rgb {} title {}",
        plots.empty() ? "plot " : ", ", i,
        gnuplot_text(published.color ? kColors.at(*published.color % kColors.size()) : "#000000"),
        gnuplot_text(published.title + " (published)"));
  }
  script += fmt::format("set xrange {}\nset yrange {}\n", range(xs, figure.x), range(ys, figure.y));
  return script + plots + "\n";
}

Result<std::string> plot_svg(const Figure& figure) {
  MANKAI_ASSIGN(auto input, temporary(plot_script(figure)));
  MANKAI_ASSIGN(auto output, temporary(""));
  MANKAI_ASSIGN(auto errors, temporary(""));
  MANKAI_ASSIGN(const auto status, run_gnuplot(input.get(), output.get(), errors.get()));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(ErrorCode::io, "gnuplot failed on " + figure.name + ": " + read_all(errors.get()));
  }
  return element(read_all(output.get()), figure.name);
}

}  // namespace mankai::lab
