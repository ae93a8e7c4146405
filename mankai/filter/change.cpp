#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "mankai/base/assert.hpp"
#include "mankai/filter/change.hpp"
#include "mankai/filter/detail/change_payload.hpp"
#include "mankai/filter/filter_body.hpp"

namespace mankai {
namespace {

bool is_answered(std::size_t outcomes, const Change& change, std::initializer_list<Operation> answering) noexcept {
  return outcomes == 0 ||
         (outcomes == change.keys && std::ranges::find(answering, change.operation) != answering.end());
}

[[gnu::cold, gnu::noinline]] Result<void> too_many(const Change& change) {
  return fail(ErrorCode::corrupt, "a change '" + std::string(name(change.operation)) + "' of " +
                                      std::to_string(change.keys) + " keys in " +
                                      std::to_string(change.payload.size()) + " bytes; at most " +
                                      std::to_string(ChangeEncoder::kMaxKeys) + " keys are allowed");
}

}  // namespace

std::string_view name(Operation operation) noexcept {
  constexpr std::array<std::string_view, 9> kNames{
      "unknown", "insert", "insert_with_ids", "insert_at", "erase", "erase_with_ids", "put", "advance", "insert_until"};
  const auto number = static_cast<std::size_t>(operation);
  return number < kNames.size() ? kNames[number] : kNames.front();
}

Result<void> AnyFilter::apply(const Change& change, const Outcomes& outcomes) {
  MANKAI_ASSERT(reinterpret_cast<std::uintptr_t>(change.payload.data()) % detail::kPayloadAlignment == 0);
  MANKAI_ASSERT(
      is_answered(outcomes.seen.size(), change, {Operation::insert, Operation::insert_at, Operation::insert_until}));
  MANKAI_ASSERT(is_answered(outcomes.erased.size(), change, {Operation::erase, Operation::erase_with_ids}));
  if (change.keys > ChangeEncoder::kMaxKeys) {
    return too_many(change);
  }
  return body_->apply(change, outcomes);
}

}  // namespace mankai
