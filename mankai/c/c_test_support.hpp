#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/c/mankai.h"
#include "tests/support/temporary_folder.hpp"

namespace mankai::c {

/// A handle that the test does not close itself.
template <class T, int (*close)(T*)>
struct Close {
  void operator()(T* handle) const noexcept { EXPECT_EQ(close(handle), MANKAI_OK); }
};
template <class T, int (*close)(T*)>
using Closed = std::unique_ptr<T, Close<T, close>>;
using Handle = Closed<mankai_filter, mankai_close>;

using Folder = test::TemporaryFolder;

/// A struct of the interface with its size set.
template <class Struct>
Struct sized() {
  Struct made{};
  made.size = sizeof(made);
  return made;
}

inline Handle create(const std::string& spec) {
  mankai_filter* filter = nullptr;
  EXPECT_EQ(mankai_create(spec.c_str(), &filter), MANKAI_OK) << mankai_last_error();
  return Handle(filter);
}

inline mankai_key key_of(std::string_view text) { return {text.data(), text.size()}; }

/// Keys "NAME 0", "NAME 1", …, and what C sees of them.
class Keys {
 public:
  Keys(const std::string& name, std::size_t count) : texts_(count), keys_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      texts_[i] = name + ' ' + std::to_string(i);
      keys_[i] = key_of(texts_[i]);
    }
  }
  [[nodiscard]] const mankai_key* data() const noexcept { return keys_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }
  [[nodiscard]] const std::string& operator[](std::size_t index) const noexcept { return texts_[index]; }

 private:
  std::vector<std::string> texts_;
  std::vector<mankai_key> keys_;
};

/// Says of each key whether it may be in.
inline std::vector<bool> ask(const mankai_filter* filter, const Keys& keys) {
  const auto outcomes = std::make_unique<bool[]>(keys.size());
  EXPECT_EQ(mankai_may_contain(filter, keys.data(), keys.size(), outcomes.get()), MANKAI_OK) << mankai_last_error();
  return std::vector<bool>(outcomes.get(), outcomes.get() + keys.size());
}

inline std::size_t count_of(const mankai_filter* filter, const Keys& keys) {
  const std::vector<bool> answers = ask(filter, keys);
  return static_cast<std::size_t>(std::count(answers.begin(), answers.end(), true));
}

}  // namespace mankai::c
