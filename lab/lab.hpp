#pragma once

/// Compares the claims of published sources with their formulas and our measurements.
///
/// A source is a folder. Its `words.json` has all texts (essay, readings, claims, figures), the tolerances and the
/// recorded verdicts. Its code measures and passes expected and measured values to `Findings`, where one rule (`judge`)
/// decides each verdict. Recorded verdicts come from the source's text or a formula, never from an earlier run; a
/// verdict that differs fails the whole run. docs/lab.md explains how to add a source.

#include <fmt/args.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
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
  depends,     ///< it agrees under the claim's condition, and disagrees otherwise
  skipped,     ///< not measured in this run; the reason says what is missing
};
inline constexpr std::size_t kVerdicts = 4;

/// Returns the word used in all reports.
[[nodiscard]] std::string_view name(Verdict verdict) noexcept;

enum class Relation : std::uint8_t { equals, at_most, at_least };

struct Expected {
  double value = 0;
  Relation relation = Relation::equals;
  double formula_error = 0;  ///< computed bound of what an approximating formula leaves out

  [[nodiscard]] constexpr Expected with_formula_error(double error) const noexcept { return {value, relation, error}; }
};

template <class Number>
[[nodiscard]] constexpr Expected equals(Number value) noexcept {
  return {.value = static_cast<double>(value)};
}
[[nodiscard]] constexpr Expected at_most(double value) noexcept {
  return {.value = value, .relation = Relation::at_most};
}
[[nodiscard]] constexpr Expected at_least(double value) noexcept {
  return {.value = value, .relation = Relation::at_least};
}

inline constexpr double kStandardErrors = 3;

/// What a measurement may differ by although its standard error and the formula's error are 0. In `words.json`.
struct Tolerance {
  double relative = 0;   ///< share of the expected value: `tolerance`
  double absolute = 0;   ///< in the claim's unit: `tolerance_absolute`
  std::string reason{};  ///< `tolerance_reason`
};

/// A number of ours behind a word of the source, such as "few". In `words.json`.
struct Threshold {
  std::optional<double> value{};  ///< in the claim's unit: `threshold`
  std::string reason{};           ///< `threshold_reason`
};

/// What is expected and measured under one condition.
struct Side {
  Expected expected{};
  Estimate measured{};
};

/// Whether the measurement keeps the relation within the tolerance, the formula's error and so many standard errors.
/// NaN does not.
[[nodiscard]] bool keeps(const Side& side, const Tolerance& tolerance = {},
                         double standard_errors = kStandardErrors) noexcept;

enum class ClaimKind : std::uint8_t {
  counted,
  arithmetic,      ///< a formula compared with itself; shown, not counted
  reconstruction,  ///< the source does not print the formula, so that ours is a guess; shown, not counted
  model,           ///< measured on our model of a program or structure that the source describes; shown, not counted
};
inline constexpr std::size_t kClaimKinds = 4;

/// Who says that a claim holds under its condition.
enum class ConditionBy : std::uint8_t {
  ours,         ///< the source does not state it
  source,       ///< the source states it
  source_only,  ///< the source says that the claim holds under it only
};

struct Claim {
  std::string id;            ///< unique within its source; letters, digits and hyphens
  std::string part{};        ///< title of the part that measures it
  std::string place;         ///< where in the source
  std::string claim;         ///< what the source says, or what we say
  bool is_ours = false;      ///< an improvement, criterion or control of ours that the source does not state
  std::string statement{};   ///< the statement of the source that this claim measures; several claims may share one
  std::string definition{};  ///< whose definition it is judged by, if there are several
  std::string formula;       ///< how the expected value is computed
  std::string unit{};        ///< of expected and measured; empty for a share or a ratio
  std::string condition{};   ///< under which it holds; with `otherwise` only
  ConditionBy condition_by = ConditionBy::ours;
  ClaimKind kind = ClaimKind::counted;
  Tolerance tolerance{};
  Threshold threshold{};
  std::string margin_reason{};                    ///< why neither a fault nor a factor of 2 could change the verdict
  Side side{};                                    ///< under the condition if there is one
  std::optional<Side> otherwise{};                ///< without the condition
  Verdict recorded = Verdict::reproduced;         ///< the verdict that source and formula predict
  std::string basis{};                            ///< reason for that verdict if it is not `reproduced`
  Verdict verdict = Verdict::skipped;             ///< set by Findings
  std::string reason{};                           ///< what a reader should know about the verdict
  bool could_run = false;                         ///< skipped, although what it needs is not missing
  std::array<std::size_t, kVerdicts> verdicts{};  ///< number of seeds with each verdict

  [[nodiscard]] bool is_as_recorded() const noexcept {
    return verdict == Verdict::skipped ? !could_run : verdict == recorded;
  }
  [[nodiscard]] std::size_t seeds() const noexcept;
  /// The number of seeds whose verdict is not the most frequent one.
  [[nodiscard]] std::size_t flips() const noexcept;
  /// Whether more than one seed in ten flips, of ten or more. Three standard errors let one in 370 do so by chance.
  [[nodiscard]] bool is_unstable() const noexcept { return seeds() >= 10 && 10 * flips() > seeds(); }
};

/// Returns the verdict of a measured claim. With two sides it is `depends` if the first keeps the relation and the
/// other does not, reproduced if both do, and else refuted. Under a condition of the source it is reproduced if the
/// first does; if it is to be the only one, the other must not.
[[nodiscard]] Verdict judge(const Claim& claim) noexcept;

/// Returns the expected value nearest to the claim's at which the verdict is another one; NaN if there is none, or the
/// claim was skipped. With two sides, both change by the same factor, and the first is returned.
[[nodiscard]] double changes_at(const Claim& claim) noexcept;
/// Whether a formula off by a factor of at most 2 changes the verdict.
[[nodiscard]] bool formula_decides(const Claim& claim) noexcept;

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
  std::optional<double> from{};  ///< ends of the source's axis; unset: what is drawn
  std::optional<double> to{};
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

/// What the source prints of a figure, to be drawn over ours.
struct Published {
  std::string title{};
  std::string place{};  ///< where the source prints it
  std::vector<std::pair<double, double>> points{};
  std::optional<std::size_t> color{};  ///< that of the series with this number [default: black]
};

/// A table, and how to draw it. The table is always written, as CSV and on the page; the plot needs gnuplot.
struct Figure {
  std::string name;     ///< of its files: letters, digits and hyphens
  std::string place{};  ///< the figure of the source that it draws again, with the source's axes; empty if it has none
  std::string title;
  std::string caption;
  Axis x;
  Axis y;
  std::vector<std::string> columns{};
  std::vector<std::vector<Cell>> rows{};
  std::vector<Series> series{};
  std::vector<Published> published{};

  /// Adds two series in one color [default: the next one]: the column `formula` as a line, then the measured points.
  void add_series(const std::string& formula, const std::string& title_of_line, Series points);
};

/// Breaks the filters or the data on purpose, for tests: see under_test.hpp.
enum class Fault : std::uint8_t {
  none,
  forgets_keys,  ///< one insert in 64 is lost
  invents_keys,  ///< one absent key in 64 is a false positive
  crowds_cells,  ///< each insert fills the cells of 8 keys, as if they hashed into an eighth of the cells
  never_decays,  ///< decayed counts keep all visits
  levels_draws,  ///< all keys are equally popular
};

/// What a run lacks to measure a claim. `Findings::skipped` checks it.
enum class Missing : std::uint8_t {
  data,          ///< --data, or a file in it
  word_list,     ///< the word list and the hyphenation patterns of Debian
  full_run,      ///< the time that a quick run does not take
  postgresql,    ///< a PostgreSQL server
  mankai,        ///< the program `mankai`
  redis_server,  ///< redis-server, and the module for it
  authors_data,  ///< data that the authors did not publish
};

struct Context {
  bool quick = false;                   ///< seconds instead of minutes: fewer trials, larger errors, same claims
  std::optional<std::string> data_dir;  ///< real data, in the folders logs, traces and urls
  std::uint64_t seed = 1;
  Fault fault = Fault::none;
  std::function<void(std::string_view)> progress = [](std::string_view /*what*/) {};

  [[nodiscard]] std::uint64_t trials(std::uint64_t in_quick, std::uint64_t in_full) const noexcept {
    return quick ? in_quick : in_full;
  }
  /// The hash of all measured filters.
  [[nodiscard]] HashSpec hash() const noexcept { return {.kind = HashKind::xxh3, .seed = {seed, 0}}; }
};

/// The texts of a source, from `words.json`, without values.
class Words {
 public:
  explicit Words(std::string_view json);
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  ~Words();

  /// Returns the row `pattern` of the part with the fields of its row `id`, if there is one. Aborts if neither is.
  [[nodiscard]] Claim claim(const std::string& part, const std::string& pattern, const std::string& id) const;
  /// Returns the ids and patterns of the part's claims.
  [[nodiscard]] std::vector<std::string> ids(const std::string& part) const;
  /// Aborts if there is none.
  [[nodiscard]] Figure figure(const std::string& name) const;
  /// Whether the part may measure this claim: it has a row whose id is this one or a pattern of it.
  [[nodiscard]] bool may_have(const std::string& part, std::string_view id) const;

 private:
  struct Rows;
  std::unique_ptr<const Rows> rows_;
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
  Findings(std::shared_ptr<const Words> words, const Context& context);

  /// Adds a measured claim and judges it.
  void judged(const Entry& entry, const Expected& expected, const Estimate& measured);
  /// Adds a claim that holds under the `condition` of its words: measured with the condition, and without.
  void depends(const Entry& entry, const Side& holds, const Side& fails);
  /// Adds a claim that this run cannot measure. A quick run omits it. If nothing is missing the run fails.
  void skipped(const Entry& entry, const Expected& expected, Missing missing);
  void add(Figure figure) { figures_.push_back(std::move(figure)); }
  [[nodiscard]] Figure figure(const Entry& entry) const;
  /// Returns the tolerance of a row, for a measurement that chooses what to compare.
  [[nodiscard]] Tolerance tolerance(const std::string& id) const;
  /// Returns the threshold of a row. Aborts if it has none.
  [[nodiscard]] double threshold(const std::string& id) const;

  /// Sets the part of the claims that follow, and why its data could not be opened.
  void begin_part(std::string title, std::string missing_file = {}) {
    part_ = std::move(title);
    missing_file_ = std::move(missing_file);
  }

  [[nodiscard]] std::vector<Claim>& claims() noexcept { return claims_; }
  [[nodiscard]] const std::vector<Claim>& claims() const noexcept { return claims_; }
  [[nodiscard]] const std::vector<Figure>& figures() const noexcept { return figures_; }

 private:
  [[nodiscard]] Claim claim(const Entry& entry, const Side& side) const;
  void add(Claim claim, Verdict verdict);
  [[nodiscard]] bool is_missing(Missing missing) const;

  std::shared_ptr<const Words> words_;
  Context context_;
  std::string part_{};
  std::string missing_file_{};
  std::vector<Claim> claims_{};
  std::vector<Figure> figures_{};
};

/// Something that the source leaves open or gets wrong, and our interpretation.
struct Reading {
  std::string question;
  std::string answer;
};

using Measure = Result<void>(const Context&, Findings&);

/// Calls all in order. Errors: the first one's.
[[nodiscard]] Result<void> measure_all(std::initializer_list<Measure*> measures, const Context& context,
                                       Findings& findings);

struct Part {
  std::string title;  ///< the key of its claims in `words.json`
  std::function<Measure> measure;
};

struct Source {
  std::string name;  ///< on the command line: letters, digits and hyphens
  std::string title;
  std::string origin;  ///< who published it, where and when
  std::string essay;   ///< paragraphs separated by empty lines: what it proposes and how we test that
  std::vector<Reading> readings;
  std::shared_ptr<const Words> words{};
  std::vector<Part> parts{};  ///< measured in order
};

/// Returns the source that a `words.json` describes. Pre: its claims are those of the parts.
[[nodiscard]] Source source_from(std::string_view json, std::vector<Part> parts);
/// Returns the source of a folder of the lab. Its `words.json` is compiled in.
[[nodiscard]] Source source_of(std::string_view folder, std::vector<Part> parts);

struct Outcome {
  Source source;
  Findings findings;
  double seconds = 0;
};

/// Measures a source with so many seeds from the context's on. The findings are the first seed's, with the verdict that
/// most seeds have. Errors: the first part's that cannot continue.
[[nodiscard]] Result<Outcome> run(const Source& source, const Context& context, std::size_t seeds = 1);

/// Measures the parts of claims whose verdicts are not as recorded with two more seeds, so that chance does not decide.
/// Pre: one seed was measured. Errors: as run.
[[nodiscard]] Result<void> confirm(Outcome& outcome, const Context& context);

/// Runs only the parts that may measure the claim, until one does; the findings are that claim. Errors: not_found if
/// none does.
[[nodiscard]] Result<Outcome> run_claim(const Source& source, std::string_view id, const Context& context,
                                        std::size_t seeds = 1);

/// What fails a run.
struct Concerns {
  std::size_t unexpected = 0;  ///< verdicts that are not as recorded
  std::size_t could_run = 0;   ///< claims skipped although nothing is missing
  std::size_t flipping = 0;    ///< claims whose verdict depends on the seed

  [[nodiscard]] bool are_none() const noexcept { return unexpected + could_run + flipping == 0; }
};
[[nodiscard]] Concerns concerns_of(const std::vector<Outcome>& outcomes) noexcept;

}  // namespace mankai::lab
