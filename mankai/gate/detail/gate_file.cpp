#include "mankai/gate/detail/gate_file.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"

#include <string>
#include <utility>

namespace mankai::detail {

Result<void> check_is_gate(const AnyFilter& filter) {
  const FilterSpec spec = filter.spec();
  if (spec.kind == Kind{CountingBloom::kKind} && !spec.canonical) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              "is " + std::string(spec.canonical ? "a filter of canonical URLs" : description_of(spec.kind).name) +
                  ", and a gate is a counting-bloom of keys as they are, from which they can be taken out");
}

Result<std::optional<GatePosition>> gate_position_of(const SourcePosition& kept) {
  if (kept.empty()) {
    return std::optional<GatePosition>();
  }
  MANKAI_ASSIGN(auto position, parse_gate_position(kept.view()));
  return std::optional(std::move(position));
}

}  // namespace mankai::detail
