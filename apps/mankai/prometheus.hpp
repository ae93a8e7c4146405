#pragma once

/// Metrics in Prometheus' text format 0.0.4, for whoever scrapes a page or collects a file.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace mankai::command {

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
