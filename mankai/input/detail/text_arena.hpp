#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace mankai::detail {

/// Memory for texts of a batch that its lines do not contain; reused for the next batch.
class TextArena {
 public:
  void reset() noexcept {
    block_ = 0;
    used_ = 0;
  }

  /// Returns memory that is valid until `reset`.
  [[nodiscard]] std::span<char> allocate(std::size_t bytes) {
    while (block_ < blocks_.size() && blocks_[block_].size - used_ < bytes) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size()) {
      const std::size_t size = std::max(bytes, kBlockBytes);
      blocks_.push_back({.data = std::make_unique_for_overwrite<char[]>(size), .size = size});
    }
    char* const begin = blocks_[block_].data.get() + used_;
    used_ += bytes;
    return {begin, bytes};
  }

  [[nodiscard]] std::string_view copy(std::string_view text) {
    const std::span<char> room = allocate(text.size());
    std::ranges::copy(text, room.begin());
    return {room.data(), room.size()};
  }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
  struct Block {
    std::unique_ptr<char[]> data;
    std::size_t size;
  };
  std::vector<Block> blocks_;
  std::size_t block_ = 0;
  std::size_t used_ = 0;
};

}  // namespace mankai::detail
