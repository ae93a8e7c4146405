#pragma once

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
  explicit InputBuffer(Source source) noexcept : source_(std::move(source)) {}

  /// Returns false if there is no memory. realloc moves the pages of a large block, so a long line is in memory once.
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

  /// Moves the unconsumed bytes to the front and doubles a full buffer; returns false if there is no memory.
  [[nodiscard]] bool make_room() noexcept {
    std::memmove(data_.get(), data_.get() + begin_, end_ - begin_);
    data_offset_ += begin_;
    end_ -= begin_;
    scanned_ -= begin_;
    begin_ = 0;
    return end_ < capacity_ || reallocate(capacity_ * 2);
  }

  /// Reads once and appends. Errors: as Source::read.
  [[nodiscard]] Result<void> read() {
    MANKAI_ASSIGN(const std::size_t got, source_.read({data_.get() + end_, capacity_ - end_}));
    end_ += got;
    is_ended_ = got == 0;
    return {};
  }

  [[nodiscard]] const char* begin() const noexcept { return data_.get() + begin_; }
  [[nodiscard]] const char* scanned() const noexcept { return data_.get() + scanned_; }
  [[nodiscard]] const char* end() const noexcept { return data_.get() + end_; }
  [[nodiscard]] std::string_view bytes() const noexcept { return {begin(), end_ - begin_}; }
  /// Consumes the bytes before `begin`, and marks those before `scanned` as searched.
  void consume(const char* begin, const char* scanned) noexcept {
    begin_ = static_cast<std::size_t>(begin - data_.get());
    scanned_ = static_cast<std::size_t>(scanned - data_.get());
  }

  /// The offset of the first unconsumed byte in the decompressed input.
  [[nodiscard]] std::uint64_t offset() const noexcept { return data_offset_ + begin_; }
  [[nodiscard]] bool is_ended() const noexcept { return is_ended_; }
  [[nodiscard]] const Source& source() const noexcept { return source_; }

 private:
  struct Free {
    void operator()(char* data) const noexcept { std::free(data); }
  };

  Source source_;
  std::unique_ptr<char, Free> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t scanned_ = 0;
  std::size_t end_ = 0;
  std::uint64_t data_offset_ = 0;  // of data_[0] in the decompressed input
  bool is_ended_ = false;
};

}  // namespace mankai::detail
