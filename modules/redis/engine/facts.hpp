#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <variant>

#include "modules/redis/engine/call.hpp"

namespace mankai::redis {

/// A fact that a family's INFO tells.
struct Fact {
  template <std::integral Number>
  Fact(const char* called, Number number) noexcept : name(called), value(static_cast<std::uint64_t>(number)) {}
  Fact(const char* called, double number) noexcept : name(called), value(number) {}
  Fact(const char* called, std::string_view text) noexcept : name(called), value(text) {}

  const char* name;
  std::variant<std::uint64_t, double, std::string_view> value;
};

/// Replies with a map of facts.
int reply_facts(const Call& call, std::initializer_list<Fact> facts) noexcept;

}  // namespace mankai::redis
