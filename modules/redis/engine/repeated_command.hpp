#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mankai/hash/hasher.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// A command that is replicated for each new key, with nearly the same words each time. Making and freeing a string per
/// word took a third of the time of a creation. The engine counts references to its strings, so this object keeps them,
/// and makes only those anew that differ from the words of the last time. Must live as long as the module. Threads: the
/// engine's main thread.
class RepeatedCommand {
 public:
  explicit constexpr RepeatedCommand(const char* name) noexcept : name_(name) {}

  /// Begins the words after the key.
  RepeatedCommand& begin() noexcept {
    count_ = 0;
    return *this;
  }
  RepeatedCommand& add(std::string_view word) noexcept {
    const Word& kept = words_[count_];
    return kept.kind == Kind::text && kept.text == word ? keep() : set({.kind = Kind::text}, word);
  }
  RepeatedCommand& add(long long number) noexcept;
  /// Exact.
  RepeatedCommand& add(double number) noexcept;
  /// HASH name SEED hex32.
  RepeatedCommand& add(const HashSpec& hash) noexcept;

  /// Makes replicas and AOF files run it with the key of a call.
  void replicate(const Call& call) const noexcept {
    engine.replicate(call.context(), name_, "sv", call.key(), strings_.data(), count_);
  }

 private:
  static constexpr std::size_t kMostWords = 20;
  enum class Kind : std::uint8_t { none, text, integer, real };
  struct Word {
    Kind kind{};
    std::uint64_t bits = 0;   ///< of a number
    std::string_view text{};  ///< in the string
  };

  [[nodiscard]] bool is_kept(const Word& number) const noexcept {
    return words_[count_].kind == number.kind && words_[count_].bits == number.bits;
  }
  RepeatedCommand& keep() noexcept {
    ++count_;
    return *this;
  }
  RepeatedCommand& set(Word word, std::string_view text) noexcept;

  const char* name_;
  std::size_t count_ = 0;
  std::array<String*, kMostWords> strings_{};
  std::array<Word, kMostWords> words_{};
};

}  // namespace mankai::redis
