#pragma once

/// The frame that holds the claims of a published source beside their formula and our measurement.
///
/// A source is data and one function (`Source`); the function measures and hands claims and figures to `Findings`,
/// which decides each verdict by one rule (`judge`). What the verdict should be is written down in the source, from its
/// text or a formula and never from an earlier run; a verdict that differs from it makes the whole run fail. How a
/// source is added: docs/lab.md.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lab/measure.hpp"
#include "mankai/base/error.hpp"

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

/// How many standard errors chance may take.
inline constexpr double kStandardErrors = 3;

/// Returns reproduced when the measurement keeps the relation within the tolerance and so many standard errors, else
/// refuted. Total: what is not a number is refuted.
[[nodiscard]] Verdict judge(const Expected& expected, const Estimate& measured,
                            double standard_errors = kStandardErrors) noexcept;

/// One sentence of a source, and what became of it. Texts are plain and in our own words.
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

/// A number, drawn and printed, or a word. What is not a number is left out.
using Cell = std::variant<double, std::string>;

struct Axis {
  std::string label;
  bool is_logarithmic = false;
};

/// What is drawn of a figure's table: one column over another, in the rows whose cells in the columns of `only` have
/// the given words.
struct Series {
  std::string title;  ///< in the key; not there when empty
  std::string x;      ///< names of columns
  std::string y;
  std::string error{};     ///< the column of standard errors, if there is one
  bool is_line = false;    ///< lines for formulas, points for measurements
  bool is_hollow = false;  ///< rings instead of full points
  std::vector<std::pair<std::string, std::string>> only{};
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
};

/// How a source measures. `fault` breaks the filters on purpose and is for tests: see under_test.hpp.
enum class Fault : std::uint8_t {
  none,
  forgets_keys,  ///< one insert in 64 is lost
  invents_keys,  ///< one absent key in 64 is reported as a member
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
};

/// What a source found, in the order in which it is shown.
class Findings {
 public:
  /// Takes a measured claim and judges it.
  void judged(Claim claim);
  /// Takes a claim that no single number decides; its reason says on what it depends. `measured` is shown.
  void depends(Claim claim);
  /// Takes a claim that this run cannot measure, such as one that needs --data.
  void skipped(Claim claim, std::string needs);
  void add(Figure figure) { figures_.push_back(std::move(figure)); }

  [[nodiscard]] const std::vector<Claim>& claims() const noexcept { return claims_; }
  [[nodiscard]] const std::vector<Figure>& figures() const noexcept { return figures_; }

 private:
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
  std::function<Result<void>(const Context&, Findings&)> run;
};

/// What became of a source.
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
