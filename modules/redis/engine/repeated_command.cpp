#include "modules/redis/engine/repeated_command.hpp"

#include <bit>
#include <charconv>

#include "mankai/base/assert.hpp"
#include "modules/redis/engine/reserve.hpp"

namespace mankai::redis {

RepeatedCommand& RepeatedCommand::set(Word word, std::string_view text) noexcept {
  MANKAI_ASSERT(count_ < kMostWords);
  String*& string = strings_[count_];
  if (string != nullptr) {
    engine.free_string(nullptr, string);
  }
  string = engine.create_string(nullptr, text.data(), text.size());
  word.text = text_of(string);
  words_[count_] = word;
  return keep();
}

RepeatedCommand& RepeatedCommand::add(long long number) noexcept {
  const Word word{.kind = Kind::integer, .bits = static_cast<std::uint64_t>(number)};
  if (is_kept(word)) {
    return keep();
  }
  std::array<char, 24> text;  // the longest has 20 characters
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return set(word, {text.data(), static_cast<std::size_t>(end - text.data())});
}

RepeatedCommand& RepeatedCommand::add(double number) noexcept {
  const Word word{.kind = Kind::real, .bits = std::bit_cast<std::uint64_t>(number)};
  return is_kept(word) ? keep() : set(word, number_text(number).data());
}

RepeatedCommand& RepeatedCommand::add(const HashSpec& hash) noexcept {
  return add("HASH").add(name(hash.kind)).add("SEED").add(hash_text(hash).seed.data());
}

}  // namespace mankai::redis
