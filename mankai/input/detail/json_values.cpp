#include "mankai/input/detail/json_values.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace mankai::detail {
namespace {

constexpr std::size_t kDepthMax = 32;

// Callbacks of the JSON parser; false ends the parsing. Accepts only values in an object.
class Values {
 public:
  explicit Values(const std::function<void(const JsonValue&)>& take) : take_(take) {}

  bool null() { return is_in_object(); }
  bool boolean(bool) { return is_in_object(); }
  bool number_integer(std::int64_t value) { return take(std::to_string(value), false); }
  bool number_unsigned(std::uint64_t value) { return take(std::to_string(value), false); }
  bool number_float(double, const std::string& text) { return take(text, false); }
  bool string(const std::string& text) { return take(text, true); }
  static bool binary(const nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) {
    bases_.push_back(path_.size());
    return depth() <= kDepthMax;
  }
  bool key(const std::string& name) {
    path_.resize(bases_.back());
    path_ += path_.empty() ? "" : ".";
    path_ += name;
    return true;
  }
  bool end_object() {
    path_.resize(bases_.back());
    bases_.pop_back();
    return true;
  }
  bool start_array(std::size_t) {
    ++arrays_;
    return is_in_object() && depth() <= kDepthMax;
  }
  bool end_array() {
    --arrays_;
    return true;
  }
  static bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) { return false; }

 private:
  [[nodiscard]] bool is_in_object() const noexcept { return !bases_.empty(); }
  [[nodiscard]] std::size_t depth() const noexcept { return bases_.size() + arrays_; }

  bool take(std::string_view text, bool is_string) {
    if (is_in_object()) {
      take_({.path = path_, .text = text, .is_string = is_string, .depth = depth()});
    }
    return is_in_object();
  }

  const std::function<void(const JsonValue&)>& take_;
  std::string path_;
  std::vector<std::size_t> bases_;  // length of the path at each open object
  std::size_t arrays_ = 0;
};

}  // namespace

bool for_each_json_value(std::string_view json, const std::function<void(const JsonValue&)>& take) {
  Values values(take);
  return nlohmann::json::sax_parse(json.begin(), json.end(), &values);
}

}  // namespace mankai::detail
