#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <variant>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/filter_handle.hpp"
#include "mankai/c/mankai.h"
#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/plan.hpp"

namespace mankai::c {
namespace {

/// Writes JSON: `open` and `close` of objects and lists, names and values in between.
class JsonText {
 public:
  void open(char bracket, std::string_view name = {}) {
    begin(name);
    text_ += bracket;
    is_first_ = true;
  }
  void close(char bracket) {
    text_ += bracket;
    is_first_ = false;
  }
  void add(std::string_view name, std::string_view value) {
    begin(name);
    quote(value);
  }
  void add(std::string_view name, bool value) {
    begin(name);
    text_ += value ? "true" : "false";
  }
  void add(std::string_view name, std::uint64_t value) {
    begin(name);
    text_ += std::to_string(value);
  }
  void add(std::string_view name, double value) {
    begin(name);
    if (!std::isfinite(value)) {
      text_ += "null";
      return;
    }
    std::array<char, kNumberBytes> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    const std::string_view written(digits.data(), end);
    text_ += written;
    text_ += written.find_first_of(".e") == std::string_view::npos ? ".0" : "";
  }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  static constexpr std::size_t kNumberBytes = 32;

  // Names are literals without characters to escape.
  void begin(std::string_view name) {
    text_ += is_first_ ? "" : ",";
    is_first_ = false;
    if (!name.empty()) {
      quote(name);
      text_ += ':';
    }
  }
  // Texts of the library have no control characters.
  void quote(std::string_view value) {
    text_ += '"';
    for (const char byte : value) {
      if (byte == '"' || byte == '\\') {
        text_ += '\\';
      }
      text_ += byte;
    }
    text_ += '"';
  }

  std::string text_;
  bool is_first_ = true;
};

// The fields of `mankai info --json`.
std::string description_of_filter(const AnyFilter& filter) {
  const FilterInfo info = filter.describe();
  const KindDescription& kind = filter.kind();
  const bool expires = kind.forgets && !kind.has_ttl;
  const double keys_now = expires ? info.keys_estimate : static_cast<double>(info.keys_inserted);
  const auto capacity = static_cast<double>(info.capacity_keys);
  constexpr double kBits = 8;
  JsonText json;
  json.open('{');
  json.add("kind", kind.name);
  json.add("format_version", std::uint64_t{info.format_version});
  json.add("bytes", info.image_bytes);
  json.add("keys_inserted", info.keys_inserted);
  json.add("keys_estimate", info.keys_estimate);
  json.add("capacity_keys", info.capacity_keys);
  json.add("over_capacity", keys_now > capacity);
  json.add("fpr_target", info.fpr_target);
  json.add("fpr_estimate", info.fpr_estimate);
  json.add("fpr_formula", info.fpr_formula);
  json.add("fill_ratio", info.fill_ratio);
  json.add("hash", name(info.hash));
  json.add("canonical_version", std::uint64_t{info.canonical_version});
  json.add("cell_count", info.cell_count);
  json.add("cells_bytes", info.cells_bytes);
  for (const InfoField& field : info.fields) {
    std::visit([&](const auto& value) { json.add(field.name, value); }, field.value);
  }
  json.add("probes_per_key", std::uint64_t{info.probes_per_key});
  json.add("lines_per_key", info.lines_per_key);
  json.add("bits_per_key", static_cast<double>(info.cells_bytes) * kBits / capacity);
  json.close('}');
  return json.text();
}

void add_kind(const KindDescription& kind, JsonText& json) {
  json.open('{');
  json.add("name", kind.name);
  json.add("summary", kind.summary);
  json.add("can_remove", kind.can_erase);
  json.add("can_count", kind.can_count);
  json.add("can_grow", kind.can_grow);
  json.add("can_merge", kind.can_merge);
  json.add("counts_decay", kind.counts_decay);
  json.add("has_time", kind.has_time);
  json.add("has_ttl", kind.has_ttl);
  json.add("forgets", kind.forgets);
  json.add("takes_ids", kind.key_shape == KeyShape::numbered);
  json.add("takes_values", kind.key_shape == KeyShape::valued);
  json.open('[', "options");
  for (const KindOption& option : kind.options) {
    json.open('{');
    json.add("name", option.name);
    json.add("value", option.value);
    json.open('[', "choices");
    for (const std::string_view choice : option.choices) {
      json.add({}, choice);
    }
    json.close(']');
    json.add("help", option.help);
    json.close('}');
  }
  json.close(']');
  json.close('}');
}

void add_plan_row(const PlanRow& row, JsonText& json) {
  const KindDescription& kind = description_of(row.spec.kind);
  json.open('{');
  json.add("kind", kind.name);
  json.add("spec", to_string(row.spec));
  json.add("keys", row.spec.keys);
  json.add("bits_per_key", row.bits_per_key);
  json.add("bytes", row.image_bytes);
  json.add("fpr", row.fpr);
  json.add("probes_per_key", std::uint64_t{row.probes_per_key});
  json.add("lines_per_key", row.lines_per_key);
  json.add("can_remove", row.can_erase);
  json.add("can_count", kind.can_count);
  json.add("can_grow", row.can_grow);
  json.add("forgets", row.forgets);
  json.close('}');
}

// `add(row, json)` adds each row.
template <class Rows, class Add>
char* list_for_caller(const Rows& rows, const Add& add) {
  JsonText json;
  json.open('[');
  for (const auto& row : rows) {
    add(row, json);
  }
  json.close(']');
  return text_for_caller(json.text());
}

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

int mankai_kinds(char** json) {
  return guarded([&]() -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(json), "json"));
    *json = list_for_caller(kinds(), [](const KindDescription* kind, JsonText& text) { add_kind(*kind, text); });
    return {};
  });
}

int mankai_plan(uint64_t keys, double fpr, uint64_t image_bytes, char** json) {
  return guarded([&]() -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(json), "json"));
    if (image_bytes != 0 && fpr != 0) {
      return fail(ErrorCode::invalid_argument, "give either fpr or image_bytes, and 0 for the other");
    }
    MANKAI_ASSIGN(const auto rows,
                  image_bytes != 0 ? plan_for_bytes(keys, image_bytes) : plan({.keys = keys, .fpr = fpr}));
    *json = list_for_caller(rows, add_plan_row);
    return {};
  });
}

int mankai_describe(const mankai_filter* filter, char** json) {
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(json), "json"));
    *json = text_for_caller(description_of_filter(any));
    return {};
  });
}
