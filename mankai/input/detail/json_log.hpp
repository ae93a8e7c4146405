#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "mankai/input/detail/text_arena.hpp"
#include "mankai/input/log_parser.hpp"

namespace mankai::detail {

/// A JSON object per line, members found by name, "." between the names of nested ones. Of an array the first text or
/// number counts. Of a field's names the first in the list that the line has is taken.
class JsonLog {
 public:
  enum class Field : std::uint8_t {
    time,
    client,
    host,
    method,
    target,
    request,
    referrer,
    agent,
    status,
    bytes,
    count
  };
  /// Which field a member is, and how early its name stands in the field's list.
  struct Role {
    Field field;
    std::uint8_t rank;
  };

  /// Errors: invalid_argument when two fields have one name.
  [[nodiscard]] static Result<JsonLog> create(const LogFieldNames& names);

  [[nodiscard]] LogLine parse(std::string_view line, TextArena& arena, LogRecord& out) const;

  /// Returns the role of a member, or nullptr.
  [[nodiscard]] const Role* role_of(std::string_view path) const noexcept;

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, Role, TextHash, std::equal_to<>> roles_;
};

}  // namespace mankai::detail
