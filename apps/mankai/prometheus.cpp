#include "apps/mankai/prometheus.hpp"

#include <fmt/format.h>

#include <cmath>

#include "apps/mankai/escape.hpp"

namespace mankai::command {
namespace {

std::string_view type_name(MetricType type) noexcept {
  switch (type) {
    case MetricType::counter: return "counter";
    case MetricType::gauge: return "gauge";
    case MetricType::histogram: return "histogram";
  }
  return "untyped";
}

void append_escaped(std::string_view text, bool escapes_quotes, std::string& out) {
  for (const char byte : text) {
    if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\\' || (byte == '"' && escapes_quotes)) {
      out += '\\';
      out += byte;
    } else {
      out += byte;
    }
  }
}

}  // namespace

void PrometheusText::begin(std::string_view name, MetricType type, std::string_view help) {
  name_ = name;
  text_ += fmt::format("# HELP {} ", name);
  append_escaped(help, false, text_);
  text_ += fmt::format("\n# TYPE {} {}\n", name, type_name(type));
}

std::string PrometheusText::number(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "+Inf" : "-Inf";
  }
  return fmt::format("{}", value);
}

void PrometheusText::add(std::string_view suffix, Labels labels, std::string_view value) {
  text_ += name_;
  text_ += suffix;
  char before = '{';
  for (const auto& [name, content] : labels) {
    text_ += before;
    text_ += name;
    text_ += "=\"";
    append_escaped(printable(content), true, text_);
    text_ += '"';
    before = ',';
  }
  text_ += before == ',' ? "} " : " ";
  text_ += value;
  text_ += '\n';
}

}  // namespace mankai::command
