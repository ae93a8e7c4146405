#include "mankai/kernel/decay_ops.hpp"

#include "mankai/kernel/decay_ops_reference.hpp"

namespace mankai::kernel {

const DecayOps& decay_ops() noexcept {
  static constexpr DecayOps kOps{.target = "scalar",
                                 .decay8 = reference::decay<Cell8>,
                                 .decay16 = reference::decay<Cell16>,
                                 .decay32 = reference::decay<Cell32>};
  return kOps;
}

std::vector<const DecayOps*> all_decay_ops() { return {&decay_ops()}; }

void decay_words(std::uint64_t* words, std::size_t count, unsigned width_bits, const DecayStep& step,
                 Epochs epochs) noexcept {
  const DecayOps& ops = decay_ops();
  (width_bits == 8 ? ops.decay8 : width_bits == 16 ? ops.decay16 : ops.decay32)(words, count, step, epochs);
}

std::uint32_t decay_value(std::uint32_t value, const DecayStep& step, std::uint64_t epochs) noexcept {
  const Rounding rounding = step.rounding == Rounding::ceil ? Rounding::ceil : Rounding::floor;
  return reference::decay_cell(value, 0, {.lambda_q32 = step.lambda_q32, .rounding = rounding, .seed = 0},
                               {.first_tick = 0, .count = epochs});
}

}  // namespace mankai::kernel
