#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mankai::kernel {

/// What becomes of a fraction when a cell is multiplied by λ.
enum class Rounding : std::uint8_t {
  floor,       ///< it is dropped
  ceil,        ///< it counts as a whole
  stochastic,  ///< it counts as a whole with a probability equal to it, by a hash of seed, tick and cell
};

/// How cells are multiplied by λ, epoch after epoch.
struct DecayStep {
  std::uint64_t lambda_q32;  ///< λ · 2^32, at most 2^32
  Rounding rounding;
  std::uint64_t seed;  ///< of stochastic rounding
};

/// The epochs to decay by: that of the first tick, and so many in all.
struct Epochs {
  std::uint64_t first_tick;
  std::uint64_t count;
};

/// The decay of arrays of cells for one instruction set.
///
/// Shape:   words[count] of cells of 8, 16 or 32 bits, lowest bits first; count may be 0.
/// Units:   a cell c becomes (c · lambda_q32 + r) >> 32, once for each epoch; r is 0, 2^32 - 1 or the hash.
/// Cost:    one pass over the cells, and in it a step in registers for each epoch until nothing changes any more. One
///          epoch, and any number after which no cell is left to fade, run at memory speed, but for stochastic
///          rounding, which hashes each cell.
/// Errors:  none; total. The same on every machine.
/// Threads: not beside readers or writers.
struct DecayOps {
  const char* target;  ///< the instruction set, by Highway's name

  void (*decay8)(std::uint64_t* words, std::size_t count, const DecayStep& step, Epochs epochs) noexcept;
  void (*decay16)(std::uint64_t* words, std::size_t count, const DecayStep& step, Epochs epochs) noexcept;
  void (*decay32)(std::uint64_t* words, std::size_t count, const DecayStep& step, Epochs epochs) noexcept;
};

/// The best this machine has.
[[nodiscard]] const DecayOps& decay_ops() noexcept;
/// All that it can run, best first.
[[nodiscard]] std::vector<const DecayOps*> all_decay_ops();

/// Decays cells of a width of 8, 16 or 32 bits with the best operations there are: see DecayOps.
void decay_words(std::uint64_t* words, std::size_t count, unsigned width_bits, const DecayStep& step,
                 Epochs epochs) noexcept;

/// Decays one value as a cell would, rounding down or up; of stochastic rounding, what it is at least.
/// Cost: a step an epoch until it does not change any more.
[[nodiscard]] std::uint32_t decay_value(std::uint32_t value, const DecayStep& step, std::uint64_t epochs) noexcept;

}  // namespace mankai::kernel
