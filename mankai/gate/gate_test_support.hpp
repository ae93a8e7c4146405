#pragma once

#include <cstdint>
#include <string_view>

#include "mankai/gate/gate.hpp"

namespace mankai::test {

inline Result<void> insert(Gate& gate, std::string_view key, std::uint64_t position) {
  return gate.apply({.inserted = {&key, 1}}, position);
}

}  // namespace mankai::test
