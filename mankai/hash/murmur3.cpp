#include "mankai/hash/murmur3.hpp"

#include <bit>
#include <cstddef>
#include <cstring>

#include "mankai/hash/hasher.hpp"

namespace mankai {
namespace {

/// Mixes one half of the state with its half of a block. Constants: [Appleby2011].
struct Lane {
  std::uint64_t before;  ///< the multipliers around the word's rotation
  std::uint64_t after;
  int word_rotation;
  int state_rotation;
  std::uint64_t added;
};

constexpr std::uint64_t kOne = 0x87c37b91114253d5U;
constexpr std::uint64_t kTwo = 0x4cf5ad432745937fU;
constexpr Lane kFirst{.before = kOne, .after = kTwo, .word_rotation = 31, .state_rotation = 27, .added = 0x52dce729U};
constexpr Lane kSecond{.before = kTwo, .after = kOne, .word_rotation = 33, .state_rotation = 31, .added = 0x38495ab5U};
constexpr std::size_t kBlockBytes = 16;

struct Block {
  std::uint64_t first;
  std::uint64_t second;
};

// The rest of a partial block is zeros, which mix to zero.
Block load(const char* data, std::size_t bytes) noexcept {
  Block block{};
  std::memcpy(&block, data, bytes);
  return block;
}

constexpr std::uint64_t mix_word(std::uint64_t word, const Lane& lane) noexcept {
  return std::rotl(word * lane.before, lane.word_rotation) * lane.after;
}

constexpr std::uint64_t mix_state(std::uint64_t state, std::uint64_t other, const Lane& lane) noexcept {
  return (std::rotl(state, lane.state_rotation) + other) * 5 + lane.added;
}

constexpr std::uint64_t finish(std::uint64_t state) noexcept {
  constexpr unsigned kShift = 33;
  state = (state ^ (state >> kShift)) * kMixFirst;
  state = (state ^ (state >> kShift)) * kMixSecond;
  return state ^ (state >> kShift);
}

}  // namespace

std::array<std::uint64_t, 2> murmur3_x64_128(std::string_view key, std::uint32_t seed) noexcept {
  std::uint64_t first = seed;
  std::uint64_t second = seed;
  std::string_view rest = key;
  for (; rest.size() >= kBlockBytes; rest.remove_prefix(kBlockBytes)) {
    const Block block = load(rest.data(), kBlockBytes);
    first = mix_state(first ^ mix_word(block.first, kFirst), second, kFirst);
    second = mix_state(second ^ mix_word(block.second, kSecond), first, kSecond);
  }
  if (!rest.empty()) {
    const Block block = load(rest.data(), rest.size());
    first ^= mix_word(block.first, kFirst);
    second ^= mix_word(block.second, kSecond);
  }
  first ^= key.size();
  second ^= key.size();
  first += second;
  second += first;
  first = finish(first);
  second = finish(second);
  first += second;
  return {first, second + first};
}

}  // namespace mankai
