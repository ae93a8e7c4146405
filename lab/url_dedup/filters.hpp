#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lab/under_test.hpp"
#include "lab/url_dedup/urls.hpp"
#include "mankai/base/region.hpp"
#include "mankai/filter/bloom/bloom.hpp"
#include "mankai/filter/layered_url_bloom/layered_url_bloom.hpp"

namespace mankai::lab::dedup {

/// The classic filter of whole URLs, the baseline in the source's program.
class FlatUrls {
 public:
  explicit FlatUrls(Bloom filter) noexcept : filter_(std::move(filter)) {}
  void insert(const Urls& urls);
  void may_contain(const Urls& urls, std::span<bool> outcomes) const;
  [[nodiscard]] const Bloom& filter() const noexcept { return filter_; }

 private:
  Bloom filter_;
};

/// The source's Algorithms 1 and 2, which it calls a Bloom filter: every segment is a key of one classic filter. This
/// is not a filter of URLs, since it does not store which segments belong together. Only in this lab.
class SegmentsInOneFilter {
 public:
  explicit SegmentsInOneFilter(Bloom filter) noexcept : filter_(std::move(filter)) {}
  void insert(const Urls& urls) { filter_.insert(std::span<const Digest>(urls.segments)); }
  void may_contain(const Urls& urls, std::span<bool> outcomes) const;
  [[nodiscard]] const Bloom& filter() const noexcept { return filter_; }

 private:
  Bloom filter_;
};

class LayeredUrls {
 public:
  explicit LayeredUrls(LayeredUrlBloom filter) noexcept : filter_(std::move(filter)) {}
  void insert(const Urls& urls) { filter_.insert(urls.segments, urls.ends); }
  void may_contain(const Urls& urls, std::span<bool> outcomes) const {
    filter_.may_contain(urls.segments, urls.ends, outcomes);
  }
  [[nodiscard]] const LayeredUrlBloom& filter() const noexcept { return filter_; }

 private:
  LayeredUrlBloom filter_;
};

template <class Inner>
class UrlsUnderTest {
 public:
  using Filter = Inner;

  UrlsUnderTest(Inner inner, Fault fault) noexcept : inner_(std::move(inner)), fault_(fault) {}

  void insert(const Urls& urls) {
    if (fault_ != Fault::forgets_keys && fault_ != Fault::crowds_cells) {
      inner_.insert(urls);
      return;
    }
    Urls kept;
    for (std::size_t i = 0; i < urls.size(); ++i) {
      if (!loses_insert(fault_, whole(urls[i]).value)) {
        kept.add(urls[i]);
      }
    }
    insert_crowd(fault_, {}, [&](Digest other) {
      Urls crowd = kept;
      for (Digest& segment : crowd.segments) {
        segment.value ^= other.value;
      }
      inner_.insert(crowd);
    });
  }
  /// 1 for each URL that is answered present, and 0 for the others.
  [[nodiscard]] std::vector<double> answers(const Urls& urls) const {
    const auto outcomes = std::make_unique<bool[]>(urls.size());
    inner_.may_contain(urls, {outcomes.get(), urls.size()});
    std::vector<double> answers;
    answers.reserve(urls.size());
    for (std::size_t i = 0; i < urls.size(); ++i) {
      answers.push_back(outcomes[i] || invents_yes(fault_, whole(urls[i]).value) ? 1 : 0);
    }
    return answers;
  }
  [[nodiscard]] std::uint64_t count_yes(const Urls& urls) const {
    return static_cast<std::uint64_t>(std::ranges::count(answers(urls), 1.0));
  }
  [[nodiscard]] Estimate rate(const Urls& urls) const { return share(count_yes(urls), urls.size()); }
  [[nodiscard]] std::uint64_t count_missed(const Urls& members) const { return members.size() - count_yes(members); }

  [[nodiscard]] const auto& filter() const noexcept { return inner_.filter(); }

 private:
  Inner inner_;
  Fault fault_;
};

using Flat = UrlsUnderTest<FlatUrls>;
using Segments = UrlsUnderTest<SegmentsInOneFilter>;
using Layered = UrlsUnderTest<LayeredUrls>;

/// The source's parameters: a target rate, and the number of probes, which it rounds down.
struct Setting {
  double fpr = 0.05;
  std::uint32_t k = 4;
};
inline constexpr Setting kRepository{.fpr = 0.05, .k = 4};
inline constexpr Setting kConference{.fpr = 0.1, .k = 3};

/// Returns the capacity of an array of `cells` cells, a power of two, so that the faithful filter wastes none.
[[nodiscard]] std::uint64_t keys_for(std::uint64_t cells, const Setting& setting) noexcept;

/// Makes a classic filter of about `cells` cells, in whole lines; k of 0 means optimal. Errors: out_of_space.
[[nodiscard]] Result<Bloom> make_bloom(std::uint64_t keys, std::uint64_t cells, std::uint32_t k, const Context& context,
                                       const Memory& memory = system_memory());
template <class UnderTest>
[[nodiscard]] Result<UnderTest> make_urls(std::uint64_t keys, std::uint64_t cells, std::uint32_t k,
                                          const Context& context) {
  MANKAI_ASSIGN(auto filter, make_bloom(keys, cells, k, context));
  return UnderTest(typename UnderTest::Filter(std::move(filter)), context.fault);
}
[[nodiscard]] Result<Layered> make_layered(std::uint64_t keys, double fpr, UrlLayering layering, const Context& context,
                                           const Memory& memory = system_memory());

/// Returns the rate of one level's array, and of the last array, from their actual cells.
[[nodiscard]] double level_rate(const LayeredUrlBloom& filter, std::size_t level) noexcept;
[[nodiscard]] double last_rate(const LayeredUrlBloom& filter) noexcept;

/// Returns the rate for a class: the product of the rates of those arrays that can answer no.
[[nodiscard]] double corrected_rate(const LayeredUrlBloom& filter, QueryClass query) noexcept;
/// Returns the printed formula, (1 - e^(-kn/m))^(kL).
[[nodiscard]] double printed_rate(double keys, double cells, std::uint32_t k, std::size_t levels) noexcept;

/// Returns the standard deviation of one array's rate from the formula, of which the array is a draw.
[[nodiscard]] double array_deviation(double keys, double cells, std::uint32_t k) noexcept;

/// Counts the bytes that are allocated through it. Must outlive what it allocates.
class CountedMemory {
 public:
  [[nodiscard]] Memory memory() noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  Memory inner_ = system_memory();
  std::uint64_t bytes_ = 0;
};

/// Returns a / b with the error to first order; a may be 0. Pre: b is not.
[[nodiscard]] Estimate over(const Estimate& a, const Estimate& b) noexcept;

}  // namespace mankai::lab::dedup
