#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mankai::kernel {

/// How the product of a cell and λ is rounded.
enum class Rounding : std::uint8_t {
  floor,       ///< down
  ceil,        ///< up
  stochastic,  ///< up with a probability equal to the fraction, by a hash of seed, tick and cell
};

/// The decay of one epoch.
struct DecayStep {
  std::uint64_t lambda_q32;  ///< λ · 2^32, at most 2^32
  Rounding rounding;
  std::uint64_t seed;  ///< for stochastic rounding
};

/// `count` epochs, the first at a tick.
struct Epochs {
  std::uint64_t first_tick;
  std::uint64_t count;
};

/// The decay of arrays of cells for one instruction set; equal on every machine.
///
/// Shape:   words[count] of cells of 8, 16 or 32 bits, lowest bits first; count may be 0.
/// Units:   a cell c becomes (c · lambda_q32 + r) >> 32 per epoch; r is 0, 2^32 - 1 or the hash.
/// Cost:    one pass over the cells. Runs at memory speed for one epoch, or if all cells reach their limit. Many epochs
///          of long arrays are one look-up per cell: of its value, or for 32 bits, if cells can take at most 2^20
///          values afterward, of the step below it. Else, and with stochastic rounding, which hashes each cell, a step
///          in a level-1 cache per epoch until no cell changes. Allocates up to 20 MiB, and does without if it cannot.
/// Threads: not beside readers or writers.
struct DecayOps {
  const char* target;  ///< the instruction set, by Highway's name

  void (*decay8)(std::uint64_t* words, std::size_t count, const DecayStep& step, Epochs epochs) noexcept;
  void (*decay16)(std::uint64_t* words, std::size_t count, const DecayStep& step, Epochs epochs) noexcept;
  void (*decay32)(std::uint64_t* words, std::size_t count, const DecayStep& step, Epochs epochs) noexcept;
};

/// The best kernels for this machine.
[[nodiscard]] const DecayOps& decay_ops() noexcept;
/// The kernels of every instruction set that this machine supports, best first.
[[nodiscard]] std::vector<const DecayOps*> all_decay_ops();

/// Decays cells of 8, 16 or 32 bits by decay_ops().
void decay_words(std::uint64_t* words, std::size_t count, unsigned width_bits, const DecayStep& step,
                 Epochs epochs) noexcept;

/// Decays one value like a cell, rounding down or up; a lower bound for stochastic rounding. Cost: one step per epoch
/// until the value no longer changes.
[[nodiscard]] std::uint32_t decay_value(std::uint32_t value, const DecayStep& step, std::uint64_t epochs) noexcept;

}  // namespace mankai::kernel
