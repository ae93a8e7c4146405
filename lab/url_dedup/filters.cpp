#include "lab/url_dedup/filters.hpp"

#include <algorithm>
#include <cmath>

#include "mankai/filter/parts/sizing.hpp"

namespace mankai::lab::dedup {
namespace {

std::vector<Digest> wholes(const Urls& urls) {
  std::vector<Digest> digests;
  digests.reserve(urls.size());
  for (std::size_t i = 0; i < urls.size(); ++i) {
    digests.push_back(whole(urls[i]));
  }
  return digests;
}

}  // namespace

void FlatUrls::insert(const Urls& urls) {
  const std::vector<Digest> digests = wholes(urls);
  filter_.insert(std::span(digests));
}

void FlatUrls::may_contain(const Urls& urls, std::span<bool> outcomes) const {
  filter_.may_contain(wholes(urls), outcomes);
}

void SegmentsInOneFilter::may_contain(const Urls& urls, std::span<bool> outcomes) const {
  for (std::size_t i = 0; i < urls.size(); ++i) {
    outcomes[i] = std::ranges::all_of(urls[i], [this](Digest segment) { return filter_.may_contain(segment); });
  }
}

std::uint64_t keys_for(std::uint64_t cells, const Setting& setting) noexcept {
  // The capacity for the rate, less 0.2%, so that rounding to whole lines stays within the power of two.
  constexpr double kRoom = 0.998;
  const double fill = std::pow(setting.fpr, 1.0 / setting.k);
  return static_cast<std::uint64_t>(-kRoom * static_cast<double>(cells) * std::log1p(-fill) / setting.k);
}

Result<Bloom> make_bloom(std::uint64_t keys, std::uint64_t cells, std::uint32_t k, const Context& context,
                         const Memory& memory) {
  const BloomSize size{.cell_count = cells, .k = k == 0 ? best_probes(keys, cells) : k};
  return Bloom::create(
      {.keys = keys, .fpr = bloom_fpr(keys, size), .k = size.k, .hash = context.hash(), .memory = memory});
}

Result<Layered> make_layered(std::uint64_t keys, double fpr, UrlLayering layering, const Context& context,
                             const Memory& memory) {
  // An array per level, as in the source: real URLs are deeper than the default.
  MANKAI_ASSIGN(auto filter, LayeredUrlBloom::create({.keys = keys,
                                                      .fpr = fpr,
                                                      .layering = layering,
                                                      .max_levels = LayeredUrlBloom::kMaxLevels,
                                                      .hash = context.hash(),
                                                      .memory = memory}));
  return Layered(LayeredUrls(std::move(filter)), context.fault);
}

double level_rate(const LayeredUrlBloom& filter, std::size_t level) noexcept {
  return filter.slice(level + 1).fpr_estimate();
}

double last_rate(const LayeredUrlBloom& filter) noexcept { return filter.slice(0).fpr_estimate(); }

double corrected_rate(const LayeredUrlBloom& filter, QueryClass query) noexcept {
  const double last = last_rate(filter);
  switch (query) {
    case QueryClass::all_new: {
      double rate = last;
      for (std::size_t level = 0; level < Site::kLevels; ++level) {
        rate *= level_rate(filter, level);
      }
      return rate;
    }
    case QueryClass::new_last: return level_rate(filter, Site::kLevels - 1) * last;
    case QueryClass::recombined:
    case QueryClass::prefix: return last;
    case QueryClass::swapped:
    case QueryClass::canceled: return filter.layering() == UrlLayering::faithful ? 1 : last;
  }
  return 1;
}

double printed_rate(double keys, double cells, std::uint32_t k, std::size_t levels) noexcept {
  const double probes = k;
  return std::pow(-std::expm1(-probes * keys / cells), probes * static_cast<double>(levels));
}

double array_deviation(double keys, double cells, std::uint32_t k) noexcept {
  const double probes = k;
  const double fill = -std::expm1(-probes * keys / cells);
  return printed_rate(keys, cells, k, 1) * probes * fill_deviation(probes * keys / cells, cells) / fill;
}

Memory CountedMemory::memory() noexcept {
  return {.allocate = [](void* context, std::size_t bytes) noexcept -> void* {
            auto& counted = *static_cast<CountedMemory*>(context);
            counted.bytes_ += bytes;
            return counted.inner_.allocate(counted.inner_.context, bytes);
          },
          .release =
              [](void* context, void* data, std::size_t bytes) noexcept {
                auto& counted = *static_cast<CountedMemory*>(context);
                counted.bytes_ -= bytes;
                counted.inner_.release(counted.inner_.context, data, bytes);
              },
          .context = this};
}

Estimate over(const Estimate& a, const Estimate& b) noexcept {
  const double value = a.value / b.value;
  return {.value = value, .error = std::hypot(a.error, value * b.error) / b.value};
}

}  // namespace mankai::lab::dedup
