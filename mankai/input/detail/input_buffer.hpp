#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "mankai/input/source.hpp"

namespace mankai::detail {

/// The unconsumed bytes of a source, contiguous in memory.
class InputBuffer {
 public:
  /// A block of realloc: it moves the pages of a large block, so a long line is in memory once.
  class Memory {
   public:
    /// Returns false if there is no memory.
    [[nodiscard]] bool reallocate(std::size_t capacity) noexcept {
      char* const larger = static_cast<char*>(std::realloc(data_.get(), capacity));
      if (larger == nullptr) {
        return false;
      }
      static_cast<void>(data_.release());
      data_.reset(larger);
      capacity_ = capacity;
      return true;
    }
    [[nodiscard]] char* data() const noexcept { return data_.get(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

   private:
    struct Free {
      void operator()(char* data) const noexcept { std::free(data); }
    };

    std::unique_ptr<char, Free> data_;
    std::size_t capacity_ = 0;
  };

  explicit InputBuffer(Source source) noexcept : source_(std::move(source)) {}

  /// Returns false if there is no memory.
  [[nodiscard]] bool reallocate(std::size_t capacity) noexcept { return memory_.reallocate(capacity); }

  /// Continues with the unconsumed bytes in `other`, enlarged to at least `least` bytes, which gets the memory used so
  /// far. Returns false if there is no memory.
  [[nodiscard]] bool exchange(Memory& other, std::size_t least) noexcept {
    const std::size_t needed = std::max(least, end_ - begin_);
    if (other.capacity() < needed && !other.reallocate(needed)) {
      return false;
    }
    std::memcpy(other.data(), begin(), end_ - begin_);
    std::swap(memory_, other);
    forget_consumed();
    return true;
  }

  /// Moves the unconsumed bytes to the front and doubles a full buffer; returns false if there is no memory.
  [[nodiscard]] bool make_room() noexcept {
    std::memmove(memory_.data(), begin(), end_ - begin_);
    forget_consumed();
    return end_ < memory_.capacity() || reallocate(memory_.capacity() * 2);
  }

  /// Reads once and appends. Errors: as Source::read.
  [[nodiscard]] Result<void> read() {
    MANKAI_ASSIGN(const std::size_t got, source_.read({memory_.data() + end_, memory_.capacity() - end_}));
    end_ += got;
    is_ended_ = got == 0;
    return {};
  }

  [[nodiscard]] const char* begin() const noexcept { return memory_.data() + begin_; }
  [[nodiscard]] const char* scanned() const noexcept { return memory_.data() + scanned_; }
  [[nodiscard]] const char* end() const noexcept { return memory_.data() + end_; }
  [[nodiscard]] std::string_view bytes() const noexcept { return {begin(), end_ - begin_}; }
  /// Consumes the bytes before `begin`, and marks those before `scanned` as searched.
  void consume(const char* begin, const char* scanned) noexcept {
    begin_ = static_cast<std::size_t>(begin - memory_.data());
    scanned_ = static_cast<std::size_t>(scanned - memory_.data());
  }

  /// The offset of the first unconsumed byte in the decompressed input.
  [[nodiscard]] std::uint64_t offset() const noexcept { return data_offset_ + begin_; }
  [[nodiscard]] bool is_ended() const noexcept { return is_ended_; }
  [[nodiscard]] const Source& source() const noexcept { return source_; }

 private:
  void forget_consumed() noexcept {
    data_offset_ += begin_;
    end_ -= begin_;
    scanned_ -= begin_;
    begin_ = 0;
  }

  Source source_;
  Memory memory_;
  std::size_t begin_ = 0;
  std::size_t scanned_ = 0;
  std::size_t end_ = 0;
  std::uint64_t data_offset_ = 0;  // of the first byte of memory_ in the decompressed input
  bool is_ended_ = false;
};

}  // namespace mankai::detail
