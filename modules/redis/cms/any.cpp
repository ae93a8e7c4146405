#include "modules/redis/cms/any.hpp"

#include <algorithm>
#include <vector>

namespace mankai::redis {

using takeover::CountMin;

AnySketch::Shape AnySketch::shape() const noexcept {
  return theirs() != nullptr ? theirs()->shape() : Shape{.width = ours()->width(), .depth = ours()->depth()};
}

std::uint64_t AnySketch::total() const noexcept { return theirs() != nullptr ? theirs()->total() : ours()->total(); }

void AnySketch::add(std::span<const std::string_view> items, std::span<const std::int64_t> increments,
                    std::span<Count> counts) noexcept {
  if (CountMin* const sketch = theirs(); sketch != nullptr) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      // A primary that sends a negative one has the rule of the versions that take it.
      counts[i] = sketch->increment(items[i], increments[i],
                                    increments[i] < 0 ? CountMin::Rule::exact : sketch->default_rule());
    }
    return;
  }
  std::array<std::uint64_t, kWindow> amounts;
  std::array<std::uint32_t, kWindow> results;
  std::ranges::transform(increments, amounts.begin(), [](std::int64_t by) { return static_cast<std::uint64_t>(by); });
  ours()->add(items, std::span(amounts).first(items.size()), std::span(results).first(items.size()));
  std::ranges::transform(std::span(results).first(items.size()), counts.begin(), [](std::uint32_t count) {
    return count == Sketch::kMaxCount ? Count(std::unexpect, CountMin::Fault::overflow) : Count(count);
  });
}

void AnySketch::count(std::span<const std::string_view> items, std::span<Count> counts) const noexcept {
  if (theirs() != nullptr) {
    std::ranges::transform(items, counts.begin(), [&](std::string_view item) { return theirs()->estimate(item); });
    return;
  }
  std::array<std::uint32_t, kWindow> results;
  ours()->count(items, std::span(results).first(items.size()));
  std::ranges::copy(std::span(results).first(items.size()), counts.begin());
}

const char* AnySketch::difference_from(const AnySketch& other) const noexcept {
  if (shape().width != other.shape().width || shape().depth != other.shape().depth) {
    return "CMS: width/depth is not equal";
  }
  if ((theirs() != nullptr) != (other.theirs() != nullptr)) {
    return "CMS: layout is not equal: one of the sketches was taken over from RedisBloom";
  }
  if (shape().cell_bytes != other.shape().cell_bytes) {
    return "CMS: cell size is not equal";
  }
  return ours() != nullptr && ours()->hash() != other.ours()->hash() ? "CMS: hash/seed is not equal" : nullptr;
}

bool AnySketch::assign_sum(std::span<const Term> terms) {
  if (ours() != nullptr) {
    std::vector<Sketch::Term> sources;
    for (const Term& term : terms) {
      sources.push_back({.sketch = term.sketch->ours(), .weight = term.weight});
    }
    return ours()->assign_sum(sources);
  }
  std::vector<const CountMin*> sources;
  std::vector<std::int64_t> weights;
  for (const Term& term : terms) {
    sources.push_back(term.sketch->theirs());
    weights.push_back(term.weight);
  }
  return theirs()->merge(sources, weights);
}

}  // namespace mankai::redis
