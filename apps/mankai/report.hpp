#pragma once

/// How commands print values: as lines for people, as JSON, and as metrics in Prometheus' text format 0.0.4.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mankai::command {

/// Named values that are shown to people as aligned lines or to programs as a JSON object. A value without a label is
/// for programs only.
class Report {
 public:
  using Value = std::variant<bool, std::uint64_t, double, std::string>;

  struct Line {
    std::string name;   ///< JSON
    Value value;        ///< an infinite number becomes null
    std::string label;  ///< for people
    std::string shown;  ///< for people
  };

  struct List {
    std::string name;
    std::vector<Report> items;
  };

  void add(std::string name, Value value, std::string label = "", std::string shown = "") {
    lines_.push_back({std::move(name), std::move(value), std::move(label), std::move(shown)});
  }
  /// Adds an array of objects, which JSON has behind the values; for programs only.
  void add_list(std::string name, std::vector<Report> items) { lists_.push_back({std::move(name), std::move(items)}); }
  [[nodiscard]] const std::vector<Line>& lines() const noexcept { return lines_; }
  [[nodiscard]] const std::vector<List>& lists() const noexcept { return lists_; }

  /// One line a value that has a label; ends with a line feed.
  [[nodiscard]] std::string text() const;
  /// One object on one line, with a line feed.
  [[nodiscard]] std::string json() const;

 private:
  std::vector<Line> lines_;
  std::vector<List> lists_;
};

/// One array of objects on one line, with a line feed.
[[nodiscard]] std::string json_array(const std::vector<Report>& reports);

/// Numbers for people; `--json` has them exactly.
[[nodiscard]] std::string human_count(std::uint64_t count);  ///< 1,234,567
/// 1 key, 1,234 keys; `plural` where that is not an s at the end.
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun, std::string_view plural = {});
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);  ///< 12.3 MiB
[[nodiscard]] std::string human_share(double share);         ///< 0.998%
[[nodiscard]] std::string human_estimate(double estimate);   ///< a count that is not whole; may be infinite

/// The bytes of the UTF-8 character that a text begins with, or 0: no overlong forms, surrogates or beyond U+10FFFF.
/// Pre: not empty.
[[nodiscard]] std::size_t character_bytes(std::string_view text) noexcept;

/// Bytes for people: every one that is not part of printable UTF-8 as \xNN and backslashes doubled, or as they are if
/// all are.
[[nodiscard]] std::string printable(std::string_view bytes);

/// Adds bytes for programs: those that are not UTF-8 as \xNN and backslashes doubled, with NAME_is_escaped beside
/// them, or as they are if all are. With a label, `printable` shows them to people.
void add_bytes(const std::string& name, std::string_view bytes, Report& report, const std::string& label = "");

/// What a metric's values mean: a counter only grows while the process lives.
enum class MetricType : std::uint8_t { counter, gauge, histogram };

/// Writes metrics family by family.
///
/// Shape:   begin() once for each family, then its samples; names and label names as Prometheus has them
///          ([a-zA-Z_][a-zA-Z0-9_]*), help and label values any bytes.
/// Units:   seconds, bytes, shares of 1: base units, named at the end of the metric's name.
/// Errors:  none; total. What is no UTF-8 in a label's value is shown as \xNN.
/// Threads: one caller.
/// Source:  [PrometheusText]
class PrometheusText {
 public:
  using Label = std::pair<std::string_view, std::string_view>;  ///< name and value
  using Labels = std::initializer_list<Label>;

  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  void begin(std::string_view name, MetricType type, std::string_view help);

  void sample(std::uint64_t value, Labels labels = {}) { add("", labels, std::to_string(value)); }
  void sample(double value, Labels labels = {}) { add("", labels, number(value)); }
  /// A sample of a histogram: `suffix` is "_bucket", "_sum" or "_count".
  void part(std::string_view suffix, std::uint64_t value, Labels labels = {}) {
    add(suffix, labels, std::to_string(value));
  }
  void part(std::string_view suffix, double value, Labels labels = {}) { add(suffix, labels, number(value)); }

  /// A family with one sample.
  template <class Value>
  void single(std::string_view name, MetricType type, std::string_view help, Value value) {
    begin(name, type, help);
    sample(value);
  }

  /// The shortest text that is read as the same number: "0.01", "+Inf", "NaN".
  [[nodiscard]] static std::string number(double value);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  void add(std::string_view suffix, Labels labels, std::string_view value);

  std::string name_;
  std::string text_;
};

}  // namespace mankai::command
