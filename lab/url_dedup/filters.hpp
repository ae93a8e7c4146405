#pragma once

/// The filters that are compared, each with the context's fault.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lab/under_test.hpp"
#include "lab/url_dedup/urls.hpp"
#include "mankai/filter/bloom/bloom.hpp"
#include "mankai/filter/layered_url_bloom/layered_url_bloom.hpp"

namespace mankai::lab::dedup {

/// The classic filter of whole URLs: what the source's own program has as its baseline.
class FlatUrls {
 public:
  explicit FlatUrls(Bloom filter) noexcept : filter_(std::move(filter)) {}
  void insert(const Urls& urls);
  void may_contain(const Urls& urls, std::span<bool> outcomes) const;
  [[nodiscard]] const Bloom& filter() const noexcept { return filter_; }

 private:
  Bloom filter_;
};

/// The source's Algorithms 1 and 2, which it calls a Bloom filter: the segments, each a key, in one classic filter. It
/// is not a filter of URLs, since it does not know which segments belong together. Only in this lab.
class SegmentsInOneFilter {
 public:
  explicit SegmentsInOneFilter(Bloom filter) noexcept : filter_(std::move(filter)) {}
  void insert(const Urls& urls) { filter_.insert(std::span<const Digest>(urls.segments)); }
  void may_contain(const Urls& urls, std::span<bool> outcomes) const;
  [[nodiscard]] const Bloom& filter() const noexcept { return filter_; }

 private:
  Bloom filter_;
};

/// The multi-layer filter, in both modes.
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

/// A filter of URLs with the context's fault.
template <class Inner>
class UrlsUnderTest {
 public:
  using Filter = Inner;

  UrlsUnderTest(Inner inner, Fault fault) noexcept : inner_(std::move(inner)), fault_(fault) {}

  void insert(const Urls& urls) {
    if (fault_ != Fault::forgets_keys) {
      inner_.insert(urls);
      return;
    }
    Urls kept;
    for (std::size_t i = 0; i < urls.size(); ++i) {
      if (!loses_insert(fault_, whole(urls[i]).value)) {
        kept.add(urls[i]);
      }
    }
    inner_.insert(kept);
  }
  /// Returns how many of the URLs are answered yes.
  [[nodiscard]] std::uint64_t count_yes(const Urls& urls) const {
    const auto outcomes = std::make_unique<bool[]>(urls.size());
    inner_.may_contain(urls, {outcomes.get(), urls.size()});
    std::uint64_t yes = 0;
    for (std::size_t i = 0; i < urls.size(); ++i) {
      yes += static_cast<std::uint64_t>(outcomes[i] || invents_yes(fault_, whole(urls[i]).value));
    }
    return yes;
  }
  /// Returns the share of the URLs that is answered yes.
  [[nodiscard]] Estimate rate(const Urls& urls) const { return share(count_yes(urls), urls.size()); }
  /// Returns how many members are denied.
  [[nodiscard]] std::uint64_t count_missed(const Urls& members) const { return members.size() - count_yes(members); }

  [[nodiscard]] const auto& filter() const noexcept { return inner_.filter(); }

 private:
  Inner inner_;
  Fault fault_;
};

using Flat = UrlsUnderTest<FlatUrls>;
using Segments = UrlsUnderTest<SegmentsInOneFilter>;
using Layered = UrlsUnderTest<LayeredUrls>;

/// What the source takes for its filters: a target rate and the probes that it rounds down to.
struct Setting {
  double fpr = 0.05;
  std::uint32_t k = 4;
};
/// The repository's setting, and the conference paper's.
inline constexpr Setting kRepository{.fpr = 0.05, .k = 4};
inline constexpr Setting kConference{.fpr = 0.1, .k = 3};

/// Returns how many URLs an array of a power of two cells is made for, so that the faithful filter wastes none.
[[nodiscard]] std::uint64_t keys_for(std::uint64_t cells, const Setting& setting) noexcept;

/// Makes a classic filter of about `cells` cells, in whole lines; k of 0 for the best. Errors: out_of_space.
[[nodiscard]] Result<Bloom> make_bloom(std::uint64_t keys, std::uint64_t cells, std::uint32_t k,
                                       const Context& context);
/// Makes a `Flat` or `Segments` of such a filter. Errors: out_of_space.
template <class UnderTest>
[[nodiscard]] Result<UnderTest> make_urls(std::uint64_t keys, std::uint64_t cells, std::uint32_t k,
                                          const Context& context) {
  MANKAI_ASSIGN(auto filter, make_bloom(keys, cells, k, context));
  return UnderTest(typename UnderTest::Filter(std::move(filter)), context.fault);
}
[[nodiscard]] Result<Layered> make_layered(std::uint64_t keys, double fpr, UrlLayering layering,
                                           const Context& context);

/// Returns the rate of level `level`'s array, and of the last one, as their cells are.
[[nodiscard]] double level_rate(const LayeredUrlBloom& filter, std::size_t level) noexcept;
[[nodiscard]] double last_rate(const LayeredUrlBloom& filter) noexcept;

/// Returns the rate for a class: the product of the rates of those arrays that can say no.
[[nodiscard]] double corrected_rate(const LayeredUrlBloom& filter, QueryClass query) noexcept;
/// Returns the printed formula, (1 - e^(-kn/m))^(kL).
[[nodiscard]] double printed_rate(double keys, double cells, std::uint32_t k, std::size_t levels) noexcept;

/// Returns a / b, where a may be 0 and b is not; errors taken over to first order.
[[nodiscard]] Estimate over(const Estimate& a, const Estimate& b) noexcept;

}  // namespace mankai::lab::dedup
