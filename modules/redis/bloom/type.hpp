#pragma once

#include "modules/redis/bloom/value.hpp"
#include "modules/redis/image/lookup.hpp"

namespace mankai::redis {

/// The native type of BF.* keys, and what one holds.
using BloomType = ImageType<BloomValue>;
using BloomKey = ImageKey<BloomValue>;

}  // namespace mankai::redis
