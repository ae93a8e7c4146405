#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "lab/random.hpp"
#include "lab/under_test.hpp"
#include "mankai/filter/bloom/bloom.hpp"

namespace mankai::lab::basket {

using Gate = UnderTest<Bloom>;

/// 128 KiB; the paper gives no size for its array.
inline constexpr std::uint64_t kCells = std::uint64_t{1} << 20;
/// The share of customers who have a basket.
inline constexpr double kFilled = 0.05;
/// The paper's "about 5 to 20".
inline constexpr std::array<std::uint32_t, 4> kPhases = {5, 10, 15, 20};
inline constexpr std::array<BloomAddressing, 2> kAddressings = {BloomAddressing::range, BloomAddressing::fields};

struct GateShape {
  std::uint64_t cells = kCells;  ///< a power of two
  std::uint32_t phase = 10;
  BloomAddressing addressing = BloomAddressing::range;
};

/// Returns the number of keys that set half of the cells: N ln 2 / phase.
[[nodiscard]] double capacity_at_half(const GateShape& shape) noexcept;

/// Errors: out_of_space.
[[nodiscard]] Result<Gate> make_gate(const GateShape& shape, const Context& context);

/// Inserts absent keys up to a saturation and returns their number. Exceeds it by one key at most.
std::uint64_t fill_to(Gate& gate, double saturation, Random& random);
void insert_absent(Gate& gate, std::uint64_t count, Random& random);

/// Returns the false-positive rate.
[[nodiscard]] inline Estimate absent_let_through(const Gate& gate, std::uint64_t trials, Random& random) {
  return rate_of_yes(gate, trials, [&random](std::uint64_t /*number*/) { return Digest{random.next()}; });
}

/// Returns (1 - (1 - 1/N)^(phase n))^phase; the error is the standard deviation of a single array's rate.
[[nodiscard]] Estimate formula_rate(double keys, const GateShape& shape) noexcept;

[[nodiscard]] std::string percent(double share);
[[nodiscard]] std::string_view shown(BloomAddressing addressing) noexcept;

}  // namespace mankai::lab::basket
