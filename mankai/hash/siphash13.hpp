#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace mankai {

/// SipHash with one round per word and three at the end, word by word.
///
/// Threads: distinct objects only.
/// Source:  [Aumasson2012].
class SipHash13 {
 public:
  using State = std::array<std::uint64_t, 4>;
  using Key = std::array<std::uint64_t, 2>;

  /// The last word of a message has its length in bytes, modulo 256, in its highest byte.
  static constexpr unsigned kLengthShift = 56;
  static constexpr std::uint64_t kFinal = 0xff;
  static constexpr int kFinalRounds = 3;

  /// The state before the first word: the key and "somepseudorandomlygeneratedbytes".
  [[nodiscard]] static constexpr State initial_state(const Key& key) noexcept {
    return {key[0] ^ 0x736f6d6570736575U, key[1] ^ 0x646f72616e646f6dU, key[0] ^ 0x6c7967656e657261U,
            key[1] ^ 0x7465646279746573U};
  }

  explicit SipHash13(const State& state) noexcept : v0_(state[0]), v1_(state[1]), v2_(state[2]), v3_(state[3]) {}

  void absorb(std::uint64_t word) noexcept {
    v3_ ^= word;
    round();
    v0_ ^= word;
  }
  /// Absorbs the last word, which has the length, and returns the hash.
  [[nodiscard]] std::uint64_t finish(std::uint64_t last) noexcept {
    absorb(last);
    v2_ ^= kFinal;
    for (int i = 0; i < kFinalRounds; ++i) {
      round();
    }
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void round() noexcept {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_;
  std::uint64_t v1_;
  std::uint64_t v2_;
  std::uint64_t v3_;
};

/// Absorbs the bytes after `bytes_before`, a multiple of 8 that the hash has absorbed, and returns the hash of all.
[[nodiscard]] inline std::uint64_t siphash13_rest(SipHash13 hash, std::string_view bytes,
                                                  std::size_t bytes_before = 0) noexcept {
  std::uint64_t word = 0;
  std::string_view rest = bytes;
  for (; rest.size() >= sizeof(word); rest.remove_prefix(sizeof(word))) {
    std::memcpy(&word, rest.data(), sizeof(word));
    hash.absorb(word);
  }
  word = 0;
  if (!rest.empty()) {
    std::memcpy(&word, rest.data(), rest.size());
  }
  return hash.finish(word | static_cast<std::uint64_t>(bytes_before + bytes.size()) << SipHash13::kLengthShift);
}

/// SipHash-1-3 of bytes. Cost: about 1 ns per word. Threads: pure.
[[nodiscard]] inline std::uint64_t siphash13(std::string_view bytes, const SipHash13::Key& key) noexcept {
  return siphash13_rest(SipHash13(SipHash13::initial_state(key)), bytes);
}

/// SipHash-1-3 of the length as 64 bits and the bytes, as Rust's standard library hashes a slice. Threads: pure.
[[nodiscard]] inline std::uint64_t siphash13_of_slice(std::string_view bytes, const SipHash13::Key& key) noexcept {
  SipHash13 hash(SipHash13::initial_state(key));
  hash.absorb(bytes.size());
  return siphash13_rest(hash, bytes, sizeof(std::uint64_t));
}

}  // namespace mankai
