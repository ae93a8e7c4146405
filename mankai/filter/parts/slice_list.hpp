#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/filter/parts/sliced_image.hpp"

namespace mankai {

/// An append-only list of at most kMaxSlices elements that never move: segment s holds 2^s of them. The first element,
/// often the only one, is inside the list and moves with it.
///
/// Threads: any number of readers beside one writer that appends. The count is published after the element.
template <class T>
class SliceList {
 public:
  SliceList() noexcept = default;
  SliceList(SliceList&& other) noexcept
      : first_(std::move(other.first_)),
        segments_(std::move(other.segments_)),
        count_(other.count_.exchange(0, std::memory_order_relaxed)) {}
  SliceList& operator=(SliceList&& other) noexcept {
    first_ = std::move(other.first_);
    segments_ = std::move(other.segments_);
    count_.store(other.count_.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
    return *this;
  }
  SliceList(const SliceList&) = delete;
  SliceList& operator=(const SliceList&) = delete;
  ~SliceList() = default;

  [[nodiscard]] std::size_t size() const noexcept { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] const T& operator[](std::size_t index) const noexcept {
    return index == 0 ? *first_ : *(*segments_)[segment_of(index)][place_in_segment(index)];
  }
  [[nodiscard]] T& operator[](std::size_t index) noexcept {
    return index == 0 ? *first_ : *(*segments_)[segment_of(index)][place_in_segment(index)];
  }
  [[nodiscard]] const T& back() const noexcept { return (*this)[size() - 1]; }
  [[nodiscard]] T& back() noexcept { return (*this)[size() - 1]; }

  /// Makes room for `count` elements in total. Errors: std::bad_alloc.
  void reserve(std::size_t count) {
    MANKAI_ASSERT(count <= kMaxSlices);
    if (count > 1 && segments_ == nullptr) {
      segments_ = std::make_unique<Segments>();
    }
    for (std::size_t segment = 1; count > 1 && segment <= segment_of(count - 1); ++segment) {
      if ((*segments_)[segment] == nullptr) {
        (*segments_)[segment] = std::make_unique<std::optional<T>[]>(std::size_t{1} << segment);
      }
    }
  }
  /// Errors: std::bad_alloc if there is no room, with nothing changed.
  void append(T element) {
    const std::size_t index = size();
    reserve(index + 1);
    if (index == 0) {
      first_.emplace(std::move(element));
    } else {
      (*segments_)[segment_of(index)][place_in_segment(index)].emplace(std::move(element));
    }
    count_.store(index + 1, std::memory_order_release);
  }

  /// Threads: not beside readers.
  void move_to_end(std::size_t index) noexcept {
    for (; index + 1 < size(); ++index) {
      std::swap((*this)[index], (*this)[index + 1]);
    }
  }
  /// Pre: more than one element. Threads: not beside readers.
  void drop_last() noexcept {
    const std::size_t last = size() - 1;
    MANKAI_ASSERT(last != 0);
    count_.store(last, std::memory_order_relaxed);
    (*segments_)[segment_of(last)][place_in_segment(last)].reset();
  }
  /// Threads: not beside readers.
  void keep_first() noexcept {
    count_.store(1, std::memory_order_relaxed);
    segments_.reset();
  }

 private:
  static constexpr std::size_t kSegments = std::bit_width(kMaxSlices);

  static std::size_t segment_of(std::size_t index) noexcept { return std::bit_width(index + 1) - 1U; }
  static std::size_t place_in_segment(std::size_t index) noexcept {
    return index + 1 - (std::size_t{1} << segment_of(index));
  }

  // Segments 1 and up; segment 0 is `first_`.
  using Segments = std::array<std::unique_ptr<std::optional<T>[]>, kSegments>;

  std::optional<T> first_;
  std::unique_ptr<Segments> segments_;
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace mankai
