#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "mankai/base/assert.hpp"
#include "mankai/filter/change.hpp"

namespace mankai::detail {

/// Insertions of one key each, oldest first, that are made as one batch: alone, each would wait for the line of its
/// cells, which the caller has requested. The newest half stays until its lines have arrived, too.
class PendingChanges {
 public:
  static constexpr std::size_t kMost = 32;
  /// Changes per batch.
  static constexpr std::size_t kBatch = kMost / 2;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Whether the change is one of a single digest, or of a digest and an id, and all are of that sort.
  [[nodiscard]] bool can_add(const Change& change) const noexcept {
    const std::size_t words = words_of(change.operation);
    return change.keys == 1 && words != 0 && change.payload.size() == words * sizeof(std::uint64_t) &&
           (size_ == 0 || change.operation == operation_);
  }
  /// Of the change's key. Pre: can_add.
  [[nodiscard]] static std::optional<std::uint64_t> id_of(const Change& change) noexcept {
    if (change.operation != Operation::insert_with_ids) {
      return std::nullopt;
    }
    std::uint64_t id = 0;
    std::memcpy(&id, change.payload.data() + sizeof(std::uint64_t), sizeof(id));
    return id;
  }
  /// Pre: can_add; fewer than kMost.
  void add(const Change& change) noexcept {
    MANKAI_DCHECK(can_add(change) && size_ < kMost);
    operation_ = change.operation;
    for (std::size_t word = 0; word < words_of(operation_); ++word) {
      std::memcpy(&columns_[word][size_], change.payload.data() + word * sizeof(std::uint64_t), sizeof(std::uint64_t));
    }
    ++size_;
  }
  /// Removes the oldest ones, at most kBatch, and returns them as one change, which is valid until the next call.
  [[nodiscard]] Change take() noexcept {
    const std::size_t keys = std::min(size_, kBatch);
    const std::size_t words = words_of(operation_);
    for (std::size_t word = 0; word < words; ++word) {
      const auto column = std::span(columns_[word]);
      std::ranges::copy(column.first(keys), batch_.begin() + static_cast<std::ptrdiff_t>(word * keys));
      std::ranges::copy(column.subspan(kBatch), column.begin());
    }
    size_ -= keys;
    return {.operation = operation_,
            .keys = static_cast<std::uint32_t>(keys),
            .payload = std::as_bytes(std::span(batch_).first(words * keys))};
  }

 private:
  static constexpr std::size_t kMostWords = 2;

  static constexpr std::size_t words_of(Operation operation) noexcept {
    return operation == Operation::insert ? 1 : operation == Operation::insert_with_ids ? 2 : 0;
  }

  std::size_t size_ = 0;
  Operation operation_{};
  std::array<std::array<std::uint64_t, kMost>, kMostWords> columns_;
  std::array<std::uint64_t, kMostWords * kBatch> batch_;
};

}  // namespace mankai::detail
