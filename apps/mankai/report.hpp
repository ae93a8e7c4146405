#pragma once

/// Output of values as aligned text, as JSON, and as metrics in Prometheus' text format 0.0.4.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mankai::command {

/// Named values for text and JSON. Values without a label appear only in JSON.
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
  /// Adds an array of objects, which JSON puts after the values.
  void add_list(std::string name, std::vector<Report> items) { lists_.push_back({std::move(name), std::move(items)}); }
  [[nodiscard]] const std::vector<Line>& lines() const noexcept { return lines_; }
  [[nodiscard]] const std::vector<List>& lists() const noexcept { return lists_; }

  /// Returns one line per value that has a label; ends with a line feed.
  [[nodiscard]] std::string text() const;
  /// Returns a JSON object on one line, with a line feed.
  [[nodiscard]] std::string json() const;

 private:
  std::vector<Line> lines_;
  std::vector<List> lists_;
};

[[nodiscard]] std::string json_array(const std::vector<Report>& reports);

/// Rounded numbers for text output; JSON has the exact values.
[[nodiscard]] std::string human_count(std::uint64_t count);  ///< 1,234,567
/// "1 key", "1,234 keys". [default plural: noun + "s"]
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun, std::string_view plural = {});
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);  ///< 12.3 MiB
[[nodiscard]] std::string human_share(double share);         ///< 0.998%
[[nodiscard]] std::string human_estimate(double estimate);   ///< a fractional count; may be infinite

/// Returns the size of the UTF-8 character at the start of a text, or 0 if it is invalid: overlong, a surrogate, or
/// beyond U+10FFFF. Pre: not empty.
[[nodiscard]] std::size_t character_bytes(std::string_view text) noexcept;

/// Escapes bytes for a terminal: if any byte is not part of printable UTF-8, it becomes \xNN and backslashes are
/// doubled.
[[nodiscard]] std::string printable(std::string_view bytes);

/// Adds bytes to JSON: if they are invalid UTF-8, invalid bytes become \xNN, backslashes are doubled, and
/// NAME_is_escaped is true. With a label, text output shows `printable(bytes)`.
void add_bytes(const std::string& name, std::string_view bytes, Report& report, const std::string& label = "");

enum class MetricType : std::uint8_t { counter, gauge, histogram };

/// Formats metrics, one family after another.
///
/// Shape:   begin() once per family, then its samples; metric and label names match [a-zA-Z_][a-zA-Z0-9_]*, help and
///          label values are any bytes.
/// Units:   base units, named at the end of the metric's name: seconds, bytes, ratios.
/// Errors:  none; total. Invalid UTF-8 in a label's value becomes \xNN.
/// Threads: one at a time.
/// Source:  [PrometheusText]
class PrometheusText {
 public:
  using Label = std::pair<std::string_view, std::string_view>;  ///< name and value
  using Labels = std::initializer_list<Label>;

  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  void begin(std::string_view name, MetricType type, std::string_view help);

  void sample(std::uint64_t value, Labels labels = {}) { add("", labels, std::to_string(value)); }
  void sample(double value, Labels labels = {}) { add("", labels, number(value)); }
  /// Adds a sample of a histogram; `suffix` is "_bucket", "_sum" or "_count".
  void part(std::string_view suffix, std::uint64_t value, Labels labels = {}) {
    add(suffix, labels, std::to_string(value));
  }
  void part(std::string_view suffix, double value, Labels labels = {}) { add(suffix, labels, number(value)); }

  template <class Value>
  void single(std::string_view name, MetricType type, std::string_view help, Value value) {
    begin(name, type, help);
    sample(value);
  }

  /// Returns the shortest text that parses to the same number: "0.01", "+Inf", "NaN".
  [[nodiscard]] static std::string number(double value);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  void add(std::string_view suffix, Labels labels, std::string_view value);

  std::string name_;
  std::string text_;
};

}  // namespace mankai::command
