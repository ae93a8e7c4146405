#pragma once

#if __cplusplus < 202100L
#error "Mankai needs C++23: compile with -std=c++23"
#endif

/// Everything a program needs: filters, catalog, files, and the questions as classes.

#include "mankai/base/duration.hpp"
#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"
#include "mankai/catalog/catalog.hpp"
#include "mankai/catalog/changes.hpp"
#include "mankai/catalog/keys.hpp"
#include "mankai/catalog/plan.hpp"
#include "mankai/durable/filter_file.hpp"
#include "mankai/durable/filter_pool.hpp"
#include "mankai/filter/blocked_bloom.hpp"
#include "mankai/filter/bloom.hpp"
#include "mankai/filter/counting_bloom.hpp"
#include "mankai/filter/decayed_top.hpp"
#include "mankai/filter/fading_fingerprints.hpp"
#include "mankai/filter/fading_size.hpp"
#include "mankai/filter/keyed_batch.hpp"
#include "mankai/filter/layered_url_bloom.hpp"
#include "mankai/filter/recent_values.hpp"
#include "mankai/filter/rotating_bloom.hpp"
#include "mankai/filter/scalable_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom.hpp"
#include "mankai/filter/time_decaying_counts.hpp"
#include "mankai/filter/time_decaying_pooled_counts.hpp"
#include "mankai/filter/time_decaying_tiered_counts.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/service/hot.hpp"
#include "mankai/service/seen.hpp"
#include "mankai/url/canonical_url.hpp"
#include "mankai/url/ladders.hpp"
#include "mankai/url/path_digests.hpp"
#include "mankai/url/segments.hpp"
