#pragma once

/// The option that the counting kinds share.

#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/kind_options.hpp"

namespace mankai {

inline constexpr std::array kCountingLayouts = {CountingLayout::blocked, CountingLayout::partitioned,
                                                CountingLayout::dablooms};

template <class Options>
constexpr OptionOf<Options> layout_option() {
  return choice_option<Options, &Options::layout, kCountingLayouts>(
      "layout", "LAYOUT",
      "Where the counters of a key are: blocked, all in one cache line; partitioned, the classic layout, which takes "
      "fewer bits and several times as long; dablooms, which `mankai import dablooms` creates, not for new filters "
      "[default: blocked].");
}

}  // namespace mankai
