#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>

#include "apps/mankai/output.hpp"

namespace mankai::command {

/// Keys that wait until they are on the disk, and are then printed, one a line, in the order in which they came.
class Acks {
 public:
  /// Takes keys whose last change has this number; numbers rise.
  void wait_for(std::uint64_t sequence, std::span<const std::string_view> keys);
  /// Prints the keys whose changes are on the disk, up to this number, at once.
  void print(std::uint64_t durable_sequence, Output& output);

  /// How much memory the keys that wait take.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Batch {
    std::uint64_t sequence;
    std::string lines;
  };

  std::deque<Batch> waiting_;
  std::size_t bytes_ = 0;
};

}  // namespace mankai::command
