#pragma once

/// The frame that compares the claims of published sources with their formulas and our measurements.
///
/// A source is a folder: all its words are in `words.json` (essay, readings, claims, figures), and its code measures
/// and hands expected and measured values to `Findings`, which decides each verdict by one rule (`judge`). What the
/// verdict should be is recorded in `words.json`, from the source's text or a formula and never from an earlier run; a
/// verdict that differs from it makes the whole run fail. docs/lab.md says how a source is added.

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
  reproduced,  ///< the measurement agrees with what the source says
  refuted,     ///< it does not
  depends,     ///< it holds under conditions that the reason names, or on the machine
  skipped,     ///< not measured in this run; the reason says what is needed
};

/// Returns the word used in every report.
[[nodiscard]] std::string_view name(Verdict verdict) noexcept;

/// What the source's words say about the measured value.
enum class Relation : std::uint8_t { equals, at_most, at_least };

/// The value that the source or its formula gives.
struct Expected {
  double value = 0;
  Relation relation = Relation::equals;
  double tolerance = 0;  ///< what the formula itself leaves open, such as an approximation's stated bound
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

/// How many standard errors chance may take.
inline constexpr double kStandardErrors = 3;

/// Returns reproduced when the measurement keeps the relation within the tolerance and so many standard errors, else
/// refuted. Total: what is not a number is refuted.
[[nodiscard]] Verdict judge(const Expected& expected, const Estimate& measured,
                            double standard_errors = kStandardErrors) noexcept;

/// One sentence of a source, and its verdict. Texts are plain and in our own words.
struct Claim {
  std::string id;       ///< unique within its source; letters, digits and hyphens
  std::string place;    ///< where in the source
  std::string claim;    ///< what it says
  std::string formula;  ///< how the expected value comes about
  std::string unit{};   ///< of expected and measured; empty for a share or a ratio
  Expected expected{};
  Estimate measured{};
  Verdict recorded = Verdict::reproduced;  ///< the verdict that source and formula make us expect
  std::string basis{};                     ///< why that one, where it is not `reproduced`
  Verdict verdict = Verdict::skipped;      ///< filled in by Findings
  std::string reason{};                    ///< what a reader should know about the verdict

  /// A skipped claim is never unexpected: it says nothing.
  [[nodiscard]] bool is_as_recorded() const noexcept { return verdict == Verdict::skipped || verdict == recorded; }
};

/// A number, which is drawn and printed, or a word. NaN and infinity are left out.
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

/// Names columns, and the words that their cells must have.
using Conditions = std::vector<std::pair<std::string, std::string>>;

/// What is drawn of a figure's table: one column over another, in the rows that meet all conditions.
struct Series {
  std::string title{};  ///< in the key; not there when empty
  std::string x{};      ///< names of columns
  std::string y{};
  std::string error{};     ///< the column of standard errors, if there is one
  bool is_line = false;    ///< lines for formulas, points for measurements
  bool is_hollow = false;  ///< rings instead of full points
  Conditions only{};
  std::optional<std::size_t> colour{};  ///< series with the same number share a color; each its own unless set
};

/// A table, and how to draw it. The table is always written, as CSV and in the page; the plot needs gnuplot.
struct Figure {
  std::string name;  ///< of its files: letters, digits and hyphens
  std::string title;
  std::string caption;
  Axis x;
  Axis y;
  std::vector<std::string> columns{};
  std::vector<std::vector<Cell>> rows{};
  std::vector<Series> series{};

  /// Adds two series in one color, by default the next one: the column `formula` as a line, then the measured points.
  void add_series(const std::string& formula, const std::string& title_of_line, Series points);
};

/// How a source measures. `fault` breaks the filters on purpose and is for tests: see under_test.hpp.
enum class Fault : std::uint8_t {
  none,
  forgets_keys,  ///< one insert in 64 is lost
  invents_keys,  ///< one absent key in 64 is answered yes
};

struct Context {
  bool quick = false;                   ///< seconds instead of minutes: fewer trials, larger errors, same claims
  std::optional<std::string> data_dir;  ///< real data, in the folders blocklists, logs, traces and urls
  std::uint64_t seed = 1;
  Fault fault = Fault::none;
  std::function<void(std::string_view)> progress = [](std::string_view /*what*/) {};

  /// Returns the number of trials for this kind of run.
  [[nodiscard]] std::uint64_t trials(std::uint64_t in_quick, std::uint64_t in_full) const noexcept {
    return quick ? in_quick : in_full;
  }
  /// Returns the hash of the filters that are measured.
  [[nodiscard]] HashSpec hash() const noexcept { return {.kind = HashKind::xxh3, .seed = {seed, 0}}; }
};

/// The claims and figures of a source's `words.json` by id and name, without values.
struct Words {
  std::map<std::string, Claim, std::less<>> claims;
  std::map<std::string, Figure, std::less<>> figures;
};

/// The id of a claim or the name of a figure in `words.json`, and the values for the places {}, {0}, {1:.2f} … in its
/// words. An entry without values is shown as written. A row for the id with its values, such as `array-1024`, replaces
/// the fields that it has of the row for the pattern, `array-{}`.
class Entry {
 public:
  template <std::convertible_to<std::string_view> Id, class... Values>
  Entry(const Id& id, const Values&... values) : id_(id), has_values_(sizeof...(values) > 0) {
    (values_.push_back(values), ...);
  }
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  /// Puts the values into a text of this entry.
  void fill_in(std::string& text) const;

 private:
  std::string id_;
  bool has_values_;
  fmt::dynamic_format_arg_store<fmt::format_context> values_;
};

/// What a source found, in the order in which it is shown. An entry that `words.json` lacks stops the program.
class Findings {
 public:
  Findings() = default;
  explicit Findings(std::shared_ptr<const Words> words) noexcept : words_(std::move(words)) {}

  /// Adds a measured claim and judges it.
  void judged(const Entry& entry, const Expected& expected, const Estimate& measured);
  void judged(Claim claim);
  /// Adds a claim that no single number decides; its reason says on what it depends. `measured` is shown.
  void depends(const Entry& entry, const Expected& expected, const Estimate& measured);
  void depends(Claim claim);
  /// Adds a claim that this run cannot measure, such as one that needs --data.
  void skipped(const Entry& entry, const Expected& expected, std::string needs);
  void skipped(Claim claim, std::string needs);
  void add(Figure figure) { figures_.push_back(std::move(figure)); }
  /// Returns a figure of `words.json`, without rows and not yet added.
  [[nodiscard]] Figure figure(const Entry& entry) const;

  [[nodiscard]] const std::vector<Claim>& claims() const noexcept { return claims_; }
  [[nodiscard]] const std::vector<Figure>& figures() const noexcept { return figures_; }

 private:
  [[nodiscard]] Claim claim(const Entry& entry, const Expected& expected, const Estimate& measured) const;

  std::shared_ptr<const Words> words_;
  std::vector<Claim> claims_;
  std::vector<Figure> figures_;
};

/// Something that the source leaves open or gets wrong, and how it is read here.
struct Reading {
  std::string question;
  std::string answer;
};

/// A published source.
struct Source {
  std::string name;  ///< for the command line: letters, digits and hyphens
  std::string title;
  std::string origin;  ///< who published it, where and when
  std::string essay;   ///< paragraphs separated by empty lines: what it proposes and how we test that
  std::vector<Reading> readings;
  std::shared_ptr<const Words> words{};
  std::function<Result<void>(const Context&, Findings&)> run;
};

/// Measures, and adds claims and figures.
using Measure = Result<void>(const Context&, Findings&);

/// Calls all in order. Errors: the first one's.
[[nodiscard]] Result<void> measure_all(std::initializer_list<Measure*> measures, const Context& context,
                                       Findings& findings);

/// A part of a source, such as a section of its text.
struct Part {
  const char* title;
  Measure* measure;
};

/// Returns the source of a folder of the lab with the words of its `words.json`, which is compiled in. Its parts are
/// measured in order.
[[nodiscard]] Source source_of(std::string_view folder, std::vector<Part> parts);

/// The result of a source.
struct Outcome {
  Source source;
  Findings findings;
  double seconds = 0;
};

/// Measures one source. Errors: the source's.
[[nodiscard]] Result<Outcome> run(const Source& source, const Context& context);

/// Returns how many claims got a verdict that differs from the recorded one.
[[nodiscard]] std::size_t unexpected_count(const std::vector<Outcome>& outcomes) noexcept;

}  // namespace mankai::lab
