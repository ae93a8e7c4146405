#include "mankai/filter/kind.hpp"

#include <algorithm>

#include "mankai/base/assert.hpp"

namespace mankai {
namespace {

void append_name(const KindDescription& kind, std::string& names) {
  names += (names.empty() ? "" : ", ") + std::string(kind.name);
}

}  // namespace

Kind default_kind() noexcept { return kinds().front()->kind; }

const KindDescription* find_kind(Kind kind) noexcept {
  const auto found = std::ranges::find(kinds(), kind, [](const KindDescription* each) { return each->kind; });
  return found == kinds().end() ? nullptr : *found;
}

const KindDescription& description_of(Kind kind) noexcept {
  const KindDescription* found = find_kind(kind);
  MANKAI_ASSERT(found != nullptr);
  return *found;
}

Result<Kind> parse_kind(std::string_view name) {
  std::string known;
  for (const KindDescription* kind : kinds()) {
    if (kind->name == name) {
      return kind->kind;
    }
    append_name(*kind, known);
  }
  return fail(ErrorCode::not_found, "unknown kind '" + std::string(name) + "'; the kinds are: " + known);
}

std::unexpected<Error> unable(const KindDescription& kind, std::string_view what, bool (*can)(const KindDescription&)) {
  std::string able;
  for (const KindDescription* each : kinds()) {
    if (can(*each)) {
      append_name(*each, able);
    }
  }
  return fail(ErrorCode::invalid_argument,
              "a filter of kind " + std::string(kind.name) + " " + std::string(what) + "; supported by: " + able);
}

Result<void> check_can_share(const KindDescription& kind) {
  constexpr auto kCanShare = [](const KindDescription& each) { return each.can_share; };
  return kCanShare(kind) ? Result<void>() : unable(kind, "cannot be changed by several processes at once", kCanShare);
}

}  // namespace mankai
