#include "mankai/gate/gate_answer.hpp"

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

}  // namespace mankai
