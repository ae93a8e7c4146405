#pragma once

#include "modules/redis/bloom/type.hpp"
#include "modules/redis/image/lookup.hpp"

namespace mankai::redis {

/// A key that should hold a filter.
using BloomLookup = ImageLookup<BloomValue>;

}  // namespace mankai::redis
