#pragma once

/// What stands behind mankai_filter, and how its functions get at it.

#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "mankai/c/detail/errors.hpp"
#include "mankai/c/detail/memory_filter.hpp"
#include "mankai/c/mankai.h"
#include "mankai/store/store.hpp"

/// The handle of the C interface. It stays where it is.
struct mankai_filter {  // NOLINT(readability-identifier-naming): C's name for it
  template <class Body, class... Arguments>
  explicit mankai_filter(std::in_place_type_t<Body> type, Arguments&&... arguments)
      : body(type, std::forward<Arguments>(arguments)...) {}

  std::variant<mankai::c::MemoryFilter, mankai::Store> body;
};

namespace mankai::c {

/// Gives the caller a handle of its own.
template <class Body, class... Arguments>
Result<void> hand_out(mankai_filter** filter, Arguments&&... arguments) {
  *filter = new mankai_filter(std::in_place_type<Body>, std::forward<Arguments>(arguments)...);
  return {};
}

/// Runs a change: `use(target)`, where the target is a MemoryFilter or a Store, which offer the same calls.
template <class Use>
[[nodiscard]] int change(mankai_filter* filter, const Use& use) noexcept {
  return guarded(
      [&]() -> Result<void> { return filter == nullptr ? missing("filter") : std::visit(use, filter->body); });
}

/// Runs a question: `use(any)` with the AnyFilter, which returns a Result<void>, beside changes.
template <class Use>
[[nodiscard]] int ask(const mankai_filter* filter, const Use& use) noexcept {
  return guarded([&]() -> Result<void> {
    if (filter == nullptr) {
      return missing("filter");
    }
    Result<void> outcome;
    std::visit([&](const auto& body) { body.read([&](const AnyFilter& any) { outcome = use(any); }); }, filter->body);
    return outcome;
  });
}

}  // namespace mankai::c
