#include "apps/mankai/report.hpp"

#include <algorithm>
// The only file that sees this header, which takes long to compile.
#include <nlohmann/json.hpp>

namespace mankai::command {
namespace {

nlohmann::ordered_json json_of(const Report& report) {
  auto object = nlohmann::ordered_json::object();
  for (const Report::Line& line : report.lines()) {
    std::visit([&](const auto& value) { object[line.name] = value; }, line.value);
  }
  for (const Report::List& list : report.lists()) {
    auto& items = object[list.name] = nlohmann::ordered_json::array();
    for (const Report& item : list.items) {
      items.push_back(json_of(item));
    }
  }
  return object;
}

// File names and keys may be any bytes; JSON is UTF-8.
std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string Report::text() const {
  std::size_t width = 0;
  for (const Line& line : lines_) {
    width = std::max(width, line.label.size());
  }
  std::string text;
  for (const Line& line : lines_) {
    if (!line.label.empty()) {
      text += line.label + std::string(width - line.label.size() + 2, ' ') + line.shown + "\n";
    }
  }
  return text;
}

std::string Report::json() const { return dump(json_of(*this)); }

std::string json_array(const std::vector<Report>& reports) {
  auto array = nlohmann::ordered_json::array();
  for (const Report& report : reports) {
    array.push_back(json_of(report));
  }
  return dump(array);
}

}  // namespace mankai::command
