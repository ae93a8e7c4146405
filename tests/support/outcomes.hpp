#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "mankai/hash/digest.hpp"

namespace mankai::test {

/// Room for the answers of a batch: std::vector<bool> has no addressable bools.
class Outcomes {
 public:
  explicit Outcomes(std::size_t count) : bools_(std::make_unique<bool[]>(count)), count_(count) {}

  [[nodiscard]] std::span<bool> span() noexcept { return {bools_.get(), count_}; }
  [[nodiscard]] std::vector<bool> vector() const { return std::vector<bool>(bools_.get(), bools_.get() + count_); }
  [[nodiscard]] std::size_t yes() const noexcept {
    return static_cast<std::size_t>(std::count(bools_.get(), bools_.get() + count_, true));
  }

 private:
  std::unique_ptr<bool[]> bools_;
  std::size_t count_;
};

/// The answers of one batch call; Keys are Digests or integer keys.
template <class F, class Keys>
std::vector<bool> batch_answers(const F& filter, const Keys& keys) {
  Outcomes outcomes(keys.size());
  filter.may_contain(std::span(keys), outcomes.span());
  return outcomes.vector();
}

/// The answers of single calls, in order.
template <class F>
std::vector<bool> single_answers(const F& filter, std::span<const Digest> digests) {
  std::vector<bool> answers;
  for (const Digest digest : digests) {
    answers.push_back(filter.may_contain(digest));
  }
  return answers;
}

}  // namespace mankai::test
