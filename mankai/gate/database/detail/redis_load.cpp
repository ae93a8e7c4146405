#include "mankai/gate/database/detail/redis_load.hpp"

namespace mankai::detail {
namespace {

// Keys share a cluster slot if the text between their first braces is the same.
bool has_slot_tag(std::string_view key) {
  const std::size_t open = key.find('{');
  const std::size_t close = open == std::string_view::npos ? open : key.find('}', open);
  return close != std::string_view::npos && close > open + 1;
}

}  // namespace

std::string name_beside(const std::string& key, const std::string& what) {
  return (has_slot_tag(key) ? key : "{" + key + "}") + ":" + what;
}

Result<void> check_has_names_beside(const std::string& key) {
  if (key.find('}') != std::string::npos && !has_slot_tag(key)) {
    return fail(ErrorCode::invalid_argument,
                "the key " + key + " has a } without a { before it, so no other key shares its slot; use another key");
  }
  return {};
}

}  // namespace mankai::detail
