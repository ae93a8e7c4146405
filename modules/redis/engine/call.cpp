#include "modules/redis/engine/call.hpp"

#include <algorithm>

namespace mankai::redis {
namespace {

// ASCII only, whatever the locale.
char upper(char letter) noexcept {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

}  // namespace

bool equal_words(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, [](char x, char y) { return upper(x) == upper(y); });
}

Result<void> must_be_once(const Call& call, std::size_t first, std::size_t index) {
  for (std::size_t i = first; i < index; ++i) {
    if (equal_words(call.text(i), call.text(index)) && call.is_from_client()) {
      return refuse("ERR the option '" + std::string(call.text(index)) + "' is given twice");
    }
  }
  return {};
}

bool Call::is(std::size_t index, std::string_view word) const noexcept { return equal_words(text(index), word); }

std::optional<long long> Call::integer(std::size_t index) const noexcept {
  long long value = 0;
  return engine.string_to_long_long(arguments_[index], &value) == kOk ? std::optional(value) : std::nullopt;
}

std::optional<double> Call::real(std::size_t index) const noexcept {
  double value = 0;
  return engine.string_to_double(arguments_[index], &value) == kOk ? std::optional(value) : std::nullopt;
}

void KeyBatch::read_many(const Call& call, std::size_t first) {
  const std::size_t count = call.size() - first;
  many_keys_.resize(count);
  many_answers_ = std::make_unique<bool[]>(count);
  for (std::size_t i = 0; i < count; ++i) {
    many_keys_[i] = call.text(first + i);
  }
  keys_ = many_keys_;
  answers_ = {many_answers_.get(), count};
}

bool Call::is_from_client() const noexcept {
  return (static_cast<unsigned>(engine.get_context_flags(context_)) & (kContextReplicated | kContextLoading)) == 0;
}

bool Call::is_resp3() const noexcept {
  return (static_cast<unsigned>(engine.get_context_flags(context_)) & kContextResp3) != 0;
}

int Call::error(const char* text) const noexcept { return engine.reply_with_error(context_, text); }
int Call::ok() const noexcept { return engine.reply_with_simple_string(context_, "OK"); }
int Call::wrong_arity() const noexcept { return engine.wrong_arity(context_); }
int Call::number(std::uint64_t number) const noexcept {
  return engine.reply_with_long_long(context_, static_cast<long long>(number));
}
int Call::real_number(double number) const noexcept { return engine.reply_with_double(context_, number); }
int Call::bytes(std::string_view text) const noexcept {
  return engine.reply_with_string_buffer(context_, text.data(), text.size());
}
int Call::truth(bool value) const noexcept { return engine.reply_with_bool(context_, static_cast<int>(value)); }
int Call::array(std::size_t size) const noexcept { return engine.reply_with_array(context_, static_cast<long>(size)); }
int Call::truths(std::span<const bool> values) const noexcept {
  array(values.size());
  for (const bool value : values) {
    truth(value);
  }
  return kOk;
}

void Call::key_changed(const char* event) const noexcept {
  engine.signal_modified_key(context_, key());
  engine.notify_keyspace_event(context_, kNotifyModule, event, key());
}

int reply_facts(const Call& call, std::initializer_list<Fact> facts) noexcept {
  engine.reply_with_map(call.context(), static_cast<long>(facts.size()));
  for (const Fact& fact : facts) {
    engine.reply_with_simple_string(call.context(), fact.name);
    if (const auto* number = std::get_if<std::uint64_t>(&fact.value); number != nullptr) {
      call.number(*number);
    } else if (const auto* real = std::get_if<double>(&fact.value); real != nullptr) {
      call.real_number(*real);
    } else {
      call.bytes(std::get<std::string_view>(fact.value));
    }
  }
  return kOk;
}

}  // namespace mankai::redis
