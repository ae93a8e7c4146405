#include "mankai/gate/gate_answer.hpp"

#include <string>

namespace mankai {

GateFacts gate_facts(const CountingBloom& filter) {
  return {.keys = filter.keys_inserted(),
          .capacity_keys = filter.capacity_keys(),
          .saturation = filter.fill_ratio(),
          .phase = filter.probes_per_key(),
          .fpr_target = filter.fpr_target(),
          .fpr_estimate = filter.fpr_estimate(),
          .stuck_cells = filter.saturated_cells(),
          .image_bytes = filter.image_bytes()};
}

Result<void> check_is_gate(const AnyFilter& filter) {
  const FilterSpec spec = filter.spec();
  if (spec.kind == Kind{CountingBloom::kKind} && !spec.canonical) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              "is " + std::string(spec.canonical ? "a filter of canonical URLs" : description_of(spec.kind).name) +
                  ", but a gate is a counting-bloom of keys as they are");
}

}  // namespace mankai
