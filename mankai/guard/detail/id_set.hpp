#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mankai::detail {

/// The ids that hold a rule: nearly always one, which takes no memory of its own.
class IdSet {
 public:
  [[nodiscard]] bool is_empty() const noexcept { return !has_one_ && !more_; }
  /// In rising order.
  [[nodiscard]] std::span<const std::uint64_t> ids() const noexcept {
    return more_ ? std::span<const std::uint64_t>(*more_) : std::span(&one_, has_one_ ? 1 : 0);
  }
  [[nodiscard]] bool contains(std::uint64_t id) const noexcept { return std::ranges::binary_search(ids(), id); }

  /// Returns false when it was there.
  bool insert(std::uint64_t id) {
    if (is_empty()) {
      one_ = id;
      has_one_ = true;
      return true;
    }
    if (contains(id)) {
      return false;
    }
    if (!more_) {
      more_ = std::make_unique<std::vector<std::uint64_t>>(1, one_);
    }
    more_->insert(std::ranges::upper_bound(*more_, id), id);
    return true;
  }
  /// Returns false when it was not there.
  bool erase(std::uint64_t id) noexcept {
    if (!contains(id)) {
      return false;
    }
    if (!more_) {
      has_one_ = false;
      return true;
    }
    more_->erase(std::ranges::lower_bound(*more_, id));
    if (more_->size() == 1) {
      one_ = more_->front();
      has_one_ = true;
      more_.reset();
    }
    return true;
  }
  void clear() noexcept {
    has_one_ = false;
    more_.reset();
  }

 private:
  std::unique_ptr<std::vector<std::uint64_t>> more_;
  std::uint64_t one_ = 0;
  bool has_one_ = false;
};

}  // namespace mankai::detail
