#pragma once

#include <cstdint>
#include <string>
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

}  // namespace mankai::command
