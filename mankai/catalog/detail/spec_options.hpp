#pragma once

#include <span>

#include "mankai/catalog/spec.hpp"

namespace mankai::detail {

/// The options of the kinds that keep what is put into them.
[[nodiscard]] std::span<const SpecOption> keeping_options() noexcept;
/// The options of the kinds that forget.
[[nodiscard]] std::span<const SpecOption> forgetting_options() noexcept;

}  // namespace mankai::detail
