#pragma once

/// Files as dablooms 0.9.1 writes them, for tests of the import: written from a description of the format and of what
/// its functions do, it shares nothing with the importer but the hash.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "mankai/hash/murmur3.hpp"

namespace mankai::test {

/// A file, and the program that has it open.
class DabloomsFile {
 public:
  using Bytes = std::vector<std::byte>;

  struct Filter {
    std::size_t offset = 0;  ///< of its header
    std::uint64_t cells = 0;
    unsigned k = 0;
  };

  /// What new_scaling_bloom makes.
  static DabloomsFile scaling(std::uint32_t capacity, double fpr) {
    DabloomsFile file(capacity, fpr);
    file.bytes_.resize(kScalingHeader);
    file.open_filter();
    file.put(kMemorySequence, std::uint64_t{1});
    return file;
  }
  /// What new_counting_bloom makes.
  static DabloomsFile counting(std::uint32_t capacity, double fpr) {
    DabloomsFile file(capacity, fpr);
    file.append_filter(fpr);
    return file;
  }

  /// scaling_bloom_add.
  void add(std::string_view key, std::uint64_t id) {
    const std::uint64_t sequence = begin_change();
    std::size_t chosen = filter_of(id);
    if (id > get<std::uint64_t>(0) && count(chosen) + 1 >= capacity_) {
      open_filter();
      chosen = filters_.size() - 1;
      put(filters_[chosen].offset, get<std::uint64_t>(0) + 1);
    }
    if (get<std::uint64_t>(0) < id) {
      put(0, id);
    }
    add_to(chosen, key);
    put(kMemorySequence, sequence + 1);
  }
  /// scaling_bloom_remove.
  void remove(std::string_view key, std::uint64_t id) {
    const std::uint64_t sequence = begin_change();
    remove_from(filter_of(id), key);
    put(kMemorySequence, sequence + 1);
  }
  /// counting_bloom_add and counting_bloom_remove.
  void add(std::string_view key) { add_to(0, key); }
  void remove(std::string_view key) { remove_from(0, key); }
  /// scaling_bloom_check and counting_bloom_check.
  [[nodiscard]] bool may_contain(std::string_view key) const {
    for (std::size_t i = 0; i < filters_.size(); ++i) {
      bool is_in = true;
      for_each_counter(filters_[i], key, [&](std::uint64_t cell) { is_in = is_in && counter(i, cell) != 0; });
      if (is_in) {
        return true;
      }
    }
    return false;
  }
  /// scaling_bloom_flush.
  void flush() { put(kDiskSequence, get<std::uint64_t>(kMemorySequence)); }

  /// As add() that is cut off before its last step.
  void tear() { put(kMemorySequence, std::uint64_t{0}); }
  /// As add() that is cut off when it has lengthened the file.
  void tear_growing() {
    begin_change();
    open_filter();
  }

  [[nodiscard]] const Bytes& bytes() const noexcept { return bytes_; }
  [[nodiscard]] Bytes& bytes() noexcept { return bytes_; }
  [[nodiscard]] const std::vector<Filter>& filters() const noexcept { return filters_; }
  [[nodiscard]] std::uint32_t count(std::size_t filter) const {
    return get<std::uint32_t>(filters_[filter].offset + 8);
  }

  template <class T>
  [[nodiscard]] T get(std::size_t offset) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(value));
    return value;
  }
  template <class T>
  void put(std::size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(value));
  }

  static constexpr std::size_t kScalingHeader = 24;
  static constexpr std::size_t kFilterHeader = 16;
  static constexpr std::size_t kMemorySequence = 8;
  static constexpr std::size_t kDiskSequence = 16;

 private:
  DabloomsFile(std::uint32_t capacity, double fpr) : capacity_(capacity), fpr_(fpr) {}

  void append_filter(double fpr) {
    unsigned k = 1;
    while (std::ldexp(1.0, -static_cast<int>(k)) > fpr) {
      ++k;
    }
    const double ln2 = std::log(2.0);
    const auto cells = static_cast<std::uint64_t>(std::ceil(-std::log(fpr) / ln2 / ln2 * capacity_ / k));
    filters_.push_back({.offset = bytes_.size(), .cells = cells, .k = k});
    bytes_.resize(bytes_.size() + kFilterHeader + (cells * k + 1) / 2);
  }
  void open_filter() { append_filter(fpr_ * std::pow(0.5, static_cast<double>(filters_.size() + 1))); }

  std::uint64_t begin_change() {
    const auto sequence = get<std::uint64_t>(kMemorySequence);
    put(kDiskSequence, std::uint64_t{0});
    put(kMemorySequence, std::uint64_t{0});
    return sequence;
  }
  [[nodiscard]] std::size_t filter_of(std::uint64_t id) const {
    std::size_t chosen = filters_.size() - 1;
    while (chosen > 0 && id < get<std::uint64_t>(filters_[chosen].offset)) {
      --chosen;
    }
    return chosen;
  }

  template <class Visit>
  static void for_each_counter(const Filter& filter, std::string_view key, const Visit& visit) {
    const std::uint64_t hash = murmur3_x64_128(key, 0x97c29b3aU).front();
    std::uint64_t place = hash & 0xffffffffU;
    for (unsigned i = 0; i < filter.k; ++i) {
      visit(i * filter.cells + place % filter.cells);
      place = (place + (hash >> 32U)) & 0xffffffffU;
    }
  }
  [[nodiscard]] static std::size_t byte_of(const Filter& filter, std::uint64_t cell) {
    return filter.offset + kFilterHeader + static_cast<std::size_t>(cell / 2);
  }
  [[nodiscard]] unsigned counter(std::size_t filter, std::uint64_t cell) const {
    const auto byte = std::to_integer<unsigned>(bytes_[byte_of(filters_[filter], cell)]);
    return cell % 2 == 0 ? byte / 16 : byte % 16;
  }
  void set_counter(std::size_t filter, std::uint64_t cell, unsigned value) {
    std::byte& byte = bytes_[byte_of(filters_[filter], cell)];
    const auto other = std::to_integer<unsigned>(byte);
    byte = std::byte(cell % 2 == 0 ? value * 16 + other % 16 : other / 16 * 16 + value);
  }
  // Counters at an end stay there.
  void add_to(std::size_t filter, std::string_view key) {
    for_each_counter(filters_[filter], key, [&](std::uint64_t cell) {
      const unsigned value = counter(filter, cell);
      set_counter(filter, cell, value == 15 ? 15 : value + 1);
    });
    put(filters_[filter].offset + 8, count(filter) + 1);
  }
  void remove_from(std::size_t filter, std::string_view key) {
    for_each_counter(filters_[filter], key, [&](std::uint64_t cell) {
      const unsigned value = counter(filter, cell);
      set_counter(filter, cell, value == 0 ? 0 : value - 1);
    });
    put(filters_[filter].offset + 8, count(filter) - 1);
  }

  std::uint32_t capacity_;
  double fpr_;
  Bytes bytes_;
  std::vector<Filter> filters_;
};

}  // namespace mankai::test
