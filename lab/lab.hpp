#pragma once

/// Compares the claims of published sources with their formulas and our measurements.
///
/// A source is a folder. Its `words.json` has all texts (essay, readings, claims, figures) and the recorded verdicts.
/// Its code measures and passes expected and measured values to `Findings`, where one rule (`judge`) decides each
/// verdict. Recorded verdicts come from the source's text or a formula, never from an earlier run; a verdict that
/// differs fails the whole run. docs/lab.md explains how to add a source.

#include <fmt/args.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lab/measure.hpp"
#include "mankai/base/error.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai::lab {

enum class Verdict : std::uint8_t {
  reproduced,  ///< the measurement agrees with the source
  refuted,     ///< the measurement disagrees
  depends,     ///< true under conditions that the reason names, or on some machines
  skipped,     ///< not measured in this run; the reason says what is missing
};

/// Returns the word used in all reports.
[[nodiscard]] std::string_view name(Verdict verdict) noexcept;

enum class Relation : std::uint8_t { equals, at_most, at_least };

struct Expected {
  double value = 0;
  Relation relation = Relation::equals;
  double tolerance = 0;  ///< of the formula itself, such as an approximation's stated bound
};

template <class Number>
[[nodiscard]] constexpr Expected equals(Number value, double tolerance = 0) noexcept {
  return {.value = static_cast<double>(value), .tolerance = tolerance};
}
[[nodiscard]] constexpr Expected at_most(double value, double tolerance = 0) noexcept {
  return {.value = value, .relation = Relation::at_most, .tolerance = tolerance};
}
[[nodiscard]] constexpr Expected at_least(double value, double tolerance = 0) noexcept {
  return {.value = value, .relation = Relation::at_least, .tolerance = tolerance};
}

inline constexpr double kStandardErrors = 3;

/// Returns reproduced if the measurement keeps the relation within the tolerance and so many standard errors, else
/// refuted. NaN is refuted.
[[nodiscard]] Verdict judge(const Expected& expected, const Estimate& measured,
                            double standard_errors = kStandardErrors) noexcept;

struct Claim {
  std::string id;       ///< unique within its source; letters, digits and hyphens
  std::string place;    ///< where in the source
  std::string claim;    ///< what it says
  std::string formula;  ///< how the expected value is computed
  std::string unit{};   ///< of expected and measured; empty for a share or a ratio
  Expected expected{};
  Estimate measured{};
  Verdict recorded = Verdict::reproduced;  ///< the verdict that source and formula predict
  std::string basis{};                     ///< reason for that verdict if it is not `reproduced`
  Verdict verdict = Verdict::skipped;      ///< set by Findings
  std::string reason{};                    ///< what a reader should know about the verdict

  [[nodiscard]] bool is_as_recorded() const noexcept { return verdict == Verdict::skipped || verdict == recorded; }
};

/// A number or a word. NaN and infinity are shown as empty cells.
struct Cell : std::variant<double, std::string> {
  template <class Number>
    requires std::is_arithmetic_v<Number>
  explicit(false) Cell(Number number) : variant(static_cast<double>(number)) {}
  template <std::convertible_to<std::string_view> Text>
  explicit(false) Cell(const Text& text) : variant(std::string(std::string_view(text))) {}
};

struct Axis {
  std::string label;
  bool is_logarithmic = false;
};

/// Names of columns, and the words that their cells must have.
using Conditions = std::vector<std::pair<std::string, std::string>>;

/// What is drawn of a figure's table: column y over column x, in the rows that meet all conditions.
struct Series {
  std::string title{};  ///< in the key; not listed if empty
  std::string x{};      ///< names of columns
  std::string y{};
  std::string error{};     ///< column of standard errors; empty: none
  bool is_line = false;    ///< lines for formulas, points for measurements
  bool is_hollow = false;  ///< open circles instead of filled ones
  Conditions only{};
  std::optional<std::size_t> color{};  ///< series with the same number share a color; unset: its own
};

/// A table, and how to draw it. The table is always written, as CSV and on the page; the plot needs gnuplot.
struct Figure {
  std::string name;  ///< of its files: letters, digits and hyphens
  std::string title;
  std::string caption;
  Axis x;
  Axis y;
  std::vector<std::string> columns{};
  std::vector<std::vector<Cell>> rows{};
  std::vector<Series> series{};

  /// Adds two series in one color [default: the next one]: the column `formula` as a line, then the measured points.
  void add_series(const std::string& formula, const std::string& title_of_line, Series points);
};

/// Breaks the filters on purpose, for tests: see under_test.hpp.
enum class Fault : std::uint8_t {
  none,
  forgets_keys,  ///< one insert in 64 is lost
  invents_keys,  ///< one absent key in 64 is a false positive
};

struct Context {
  bool quick = false;                   ///< seconds instead of minutes: fewer trials, larger errors, same claims
  std::optional<std::string> data_dir;  ///< real data, in the folders blocklists, logs, traces and urls
  std::uint64_t seed = 1;
  Fault fault = Fault::none;
  std::function<void(std::string_view)> progress = [](std::string_view /*what*/) {};

  [[nodiscard]] std::uint64_t trials(std::uint64_t in_quick, std::uint64_t in_full) const noexcept {
    return quick ? in_quick : in_full;
  }
  /// The hash of all measured filters.
  [[nodiscard]] HashSpec hash() const noexcept { return {.kind = HashKind::xxh3, .seed = {seed, 0}}; }
};

/// Claims by id and figures by name, from `words.json`, without values.
struct Words {
  std::map<std::string, Claim, std::less<>> claims;
  std::map<std::string, Figure, std::less<>> figures;
};

/// Names a claim or figure of `words.json`, with the values for the placeholders {}, {0}, {1:.2f} … in its texts. Texts
/// are shown literally if there are no values. If `words.json` has a row for the id with its values, such as
/// `array-1024`, that row's fields override those of the pattern's row, `array-{}`.
class Entry {
 public:
  template <std::convertible_to<std::string_view> Id, class... Values>
  Entry(const Id& id, const Values&... values) : id_(id), has_values_(sizeof...(values) > 0) {
    (values_.push_back(values), ...);
  }
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  void fill_in(std::string& text) const;

 private:
  std::string id_;
  bool has_values_;
  fmt::dynamic_format_arg_store<fmt::format_context> values_;
};

/// What a source found, in the order of the report. An entry that `words.json` lacks aborts the program.
class Findings {
 public:
  Findings() = default;
  explicit Findings(std::shared_ptr<const Words> words) noexcept : words_(std::move(words)) {}

  /// Adds a measured claim and judges it.
  void judged(const Entry& entry, const Expected& expected, const Estimate& measured);
  void judged(Claim claim);
  /// Adds a claim that no single number decides; its reason names the conditions. `measured` is shown.
  void depends(const Entry& entry, const Expected& expected, const Estimate& measured);
  void depends(Claim claim);
  /// Adds a claim that this run cannot measure, such as one that needs --data.
  void skipped(const Entry& entry, const Expected& expected, std::string needs);
  void skipped(Claim claim, std::string needs);
  void add(Figure figure) { figures_.push_back(std::move(figure)); }
  [[nodiscard]] Figure figure(const Entry& entry) const;

  [[nodiscard]] const std::vector<Claim>& claims() const noexcept { return claims_; }
  [[nodiscard]] const std::vector<Figure>& figures() const noexcept { return figures_; }

 private:
  [[nodiscard]] Claim claim(const Entry& entry, const Expected& expected, const Estimate& measured) const;

  std::shared_ptr<const Words> words_;
  std::vector<Claim> claims_;
  std::vector<Figure> figures_;
};

/// Something that the source leaves open or gets wrong, and our interpretation.
struct Reading {
  std::string question;
  std::string answer;
};

struct Source {
  std::string name;  ///< on the command line: letters, digits and hyphens
  std::string title;
  std::string origin;  ///< who published it, where and when
  std::string essay;   ///< paragraphs separated by empty lines: what it proposes and how we test that
  std::vector<Reading> readings;
  std::shared_ptr<const Words> words{};
  std::function<Result<void>(const Context&, Findings&)> run;
};

using Measure = Result<void>(const Context&, Findings&);

/// Calls all in order. Errors: the first one's.
[[nodiscard]] Result<void> measure_all(std::initializer_list<Measure*> measures, const Context& context,
                                       Findings& findings);

struct Part {
  const char* title;
  Measure* measure;
};

/// Returns the source of a folder of the lab. Its `words.json` is compiled in; its parts are measured in order.
[[nodiscard]] Source source_of(std::string_view folder, std::vector<Part> parts);

struct Outcome {
  Source source;
  Findings findings;
  double seconds = 0;
};

[[nodiscard]] Result<Outcome> run(const Source& source, const Context& context);

[[nodiscard]] std::size_t unexpected_count(const std::vector<Outcome>& outcomes) noexcept;

}  // namespace mankai::lab
