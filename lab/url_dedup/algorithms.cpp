#include "lab/url_dedup/algorithms.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

#include "mankai/hash/hasher.hpp"

namespace mankai::lab::dedup {
namespace {

template <class IsSet>
bool all_probes(std::uint32_t k, const IsSet& is_set) {
  for (std::uint32_t j = 0; j < k; ++j) {
    if (!is_set(j)) {
      return false;
    }
  }
  return true;
}

}  // namespace

ArrayShape ArrayShape::of(std::uint64_t keys, double fpr, const Context& context) noexcept {
  const auto n = static_cast<double>(keys);
  const double cells = std::floor(-n * std::log(fpr) / (std::numbers::ln2 * std::numbers::ln2));
  return {.cells = static_cast<std::uint64_t>(cells),
          .k = static_cast<std::uint32_t>(cells / n * std::numbers::ln2),
          .seed = context.seed};
}

std::uint64_t ArrayShape::address(Digest key, std::uint32_t j) const noexcept {
  return fastrange(mix_integer(key.value, mix_integer(seed, j).value).value, cells);
}

void ClassicAlgorithm::insert(const Urls& urls) {
  for (std::size_t i = 0; i < urls.size(); ++i) {
    const Digest url = whole(urls[i]);
    for (std::uint32_t j = 0; j < shape_.k; ++j) {
      cells_.set(shape_.address(url, j));
    }
  }
}

bool ClassicAlgorithm::contains(Digest url) const {
  return all_probes(shape_.k, [&](std::uint32_t j) { return cells_.is_set(shape_.address(url, j)); });
}

void ClassicAlgorithm::may_contain(const Urls& urls, std::span<bool> outcomes) const {
  for (std::size_t i = 0; i < urls.size(); ++i) {
    outcomes[i] = contains(whole(urls[i]));
  }
}

std::uint64_t LayeredAlgorithm::last_address(std::span<const Digest> url, std::uint32_t j) const noexcept {
  return std::accumulate(url.begin(), url.end(), std::uint64_t{0},
                         [&](std::uint64_t address, Digest segment) { return address ^ shape_.address(segment, j); });
}

void LayeredAlgorithm::insert(const Urls& urls) {
  for (std::size_t i = 0; i < urls.size(); ++i) {
    const std::span<const Digest> url = urls[i];
    while (layers_.size() < url.size()) {
      layers_.emplace_back(shape_.cells);
    }
    for (std::uint32_t j = 0; j < shape_.k; ++j) {
      for (std::size_t layer = 0; layer < url.size(); ++layer) {
        layers_[layer].set(shape_.address(url[layer], j));
      }
      last_.set(last_address(url, j) % shape_.cells);
    }
  }
}

bool LayeredAlgorithm::layers_contain(std::span<const Digest> url) const {
  if (url.size() > layers_.size()) {
    return false;
  }
  for (std::size_t layer = 0; layer < url.size(); ++layer) {
    if (!all_probes(shape_.k, [&](std::uint32_t j) { return layers_[layer].is_set(shape_.address(url[layer], j)); })) {
      return false;
    }
  }
  return true;
}

bool LayeredAlgorithm::contains(std::span<const Digest> url) const {
  return layers_contain(url) &&
         all_probes(shape_.k, [&](std::uint32_t j) { return last_.is_set(last_address(url, j) % shape_.cells); });
}

void LayeredAlgorithm::may_contain(const Urls& urls, std::span<bool> outcomes) const {
  for (std::size_t i = 0; i < urls.size(); ++i) {
    outcomes[i] = contains(urls[i]);
  }
}

double LayeredAlgorithm::last_fill(std::size_t segments) const {
  constexpr std::uint64_t kDraws = 1 << 20;
  std::vector<Digest> url(segments);
  const std::uint64_t set = count_of(0, kDraws, [&](std::uint64_t draw) {
    for (std::size_t level = 0; level < segments; ++level) {
      url[level] = mix_integer(draw * segments + level, ~shape_.seed);
    }
    return last_.is_set(last_address(url, 0) % shape_.cells);
  });
  return static_cast<double>(set) / kDraws;
}

std::uint64_t LayeredAlgorithm::touched() const noexcept {
  return std::accumulate(layers_.begin(), layers_.end(), last_.touched(),
                         [](std::uint64_t sum, const CountedCells& layer) { return sum + layer.touched(); });
}

void SegmentsAlgorithm::insert(std::span<const Digest> url) {
  for (const Digest segment : url) {
    for (std::uint32_t j = 0; j < shape_.k; ++j) {
      cells_.set(shape_.address(segment, j));
    }
  }
}

bool SegmentsAlgorithm::contains(std::span<const Digest> url) const {
  return std::ranges::all_of(url, [this](Digest segment) {
    return all_probes(shape_.k, [&](std::uint32_t j) { return cells_.is_set(shape_.address(segment, j)); });
  });
}

}  // namespace mankai::lab::dedup
