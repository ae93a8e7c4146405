#pragma once

/// The report's algorithms as its program runs them: arrays of exactly m cells, which count how often they are touched.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "lab/url_dedup/filters.hpp"

namespace mankai::lab::dedup {

/// Parameters of all arrays, as the program computes them: m = -n ln p / (ln 2)^2 and k = (m / n) ln 2, rounded down.
struct ArrayShape {
  std::uint64_t cells = 0;
  std::uint32_t k = 0;
  std::uint64_t seed = 0;

  static ArrayShape of(std::uint64_t keys, double fpr, const Context& context) noexcept;
  /// H_j: independent for every j, below m.
  [[nodiscard]] std::uint64_t address(Digest key, std::uint32_t j) const noexcept;
  [[nodiscard]] double expected_rate(std::uint64_t keys) const noexcept {
    return printed_rate(static_cast<double>(keys), static_cast<double>(cells), k, 1);
  }
};

class CountedCells {
 public:
  explicit CountedCells(std::uint64_t count) : cells_(count) {}
  void set(std::uint64_t cell) {
    ++touched_;
    cells_[cell] = true;
  }
  [[nodiscard]] bool is_set(std::uint64_t cell) const {
    ++touched_;
    return cells_[cell];
  }
  void clear() { cells_.assign(cells_.size(), false); }
  [[nodiscard]] std::uint64_t touched() const noexcept { return touched_; }
  [[nodiscard]] double fill() const {
    return static_cast<double>(std::ranges::count(cells_, true)) / static_cast<double>(cells_.size());
  }

 private:
  std::vector<bool> cells_;
  mutable std::uint64_t touched_ = 0;
};

/// The classic filter of whole URLs, the baseline of the program.
class ClassicAlgorithm {
 public:
  explicit ClassicAlgorithm(const ArrayShape& shape) : shape_(shape), cells_(shape.cells) {}

  void insert(const Urls& urls);
  void may_contain(const Urls& urls, std::span<bool> outcomes) const;
  [[nodiscard]] std::uint64_t touched() const noexcept { return cells_.touched(); }
  [[nodiscard]] const ClassicAlgorithm& filter() const noexcept { return *this; }

 private:
  [[nodiscard]] bool contains(Digest url) const;

  ArrayShape shape_;
  CountedCells cells_;
};

/// Algorithms 3 and 4. Layers are created on demand, deeper URLs are absent, and an address beyond m is folded by % m.
class LayeredAlgorithm {
 public:
  explicit LayeredAlgorithm(const ArrayShape& shape) : shape_(shape), last_(shape.cells) {}

  void insert(const Urls& urls);
  void may_contain(const Urls& urls, std::span<bool> outcomes) const;
  /// The answer without the last array.
  [[nodiscard]] bool layers_contain(std::span<const Digest> url) const;
  [[nodiscard]] std::uint64_t touched() const noexcept;
  [[nodiscard]] std::size_t arrays() const noexcept { return layers_.size() + 1; }
  /// The probability that a cell of a layer, from 0, is set.
  [[nodiscard]] double layer_fill(std::size_t layer) const { return layers_[layer].fill(); }
  /// The same of the last array for a URL of so many segments. From addresses that are drawn, because folding by % m
  /// makes some cells more likely than others.
  [[nodiscard]] double last_fill(std::size_t segments) const;
  /// LAddr[j] before it is folded.
  [[nodiscard]] std::uint64_t last_address(std::span<const Digest> url, std::uint32_t j) const noexcept;
  [[nodiscard]] const LayeredAlgorithm& filter() const noexcept { return *this; }

 private:
  [[nodiscard]] bool contains(std::span<const Digest> url) const;

  ArrayShape shape_;
  std::vector<CountedCells> layers_{};
  CountedCells last_;
};

/// Algorithms 1 and 2: every segment is a key of one array.
class SegmentsAlgorithm {
 public:
  explicit SegmentsAlgorithm(const ArrayShape& shape) : shape_(shape), cells_(shape.cells) {}

  /// Algorithm 1 without its first line.
  void insert(std::span<const Digest> url);
  /// Algorithm 1 word for word.
  void initialize_and_insert(std::span<const Digest> url) {
    cells_.clear();
    insert(url);
  }
  [[nodiscard]] bool contains(std::span<const Digest> url) const;

 private:
  ArrayShape shape_;
  CountedCells cells_;
};

using Classic = UrlsUnderTest<ClassicAlgorithm>;
using Layers = UrlsUnderTest<LayeredAlgorithm>;

}  // namespace mankai::lab::dedup
