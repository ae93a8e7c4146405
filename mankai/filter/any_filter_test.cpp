#include "mankai/filter/any_filter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/cuckoo/cuckoo.hpp"
#include "mankai/filter/decayed_top/decayed_top.hpp"
#include "mankai/filter/layered_url_bloom/layered_url_bloom.hpp"
#include "mankai/filter/plan.hpp"
#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"
#include "mankai/filter/time_decaying_pooled_counts/time_decaying_pooled_counts.hpp"
#include "tests/support/image_edit.hpp"

namespace mankai {
namespace {

TEST(Spec, reads_what_it_writes) {
  for (const char* text :
       {"blocked-bloom", "bloom", "blocked-bloom:keys=1e7,fpr=0.001", "bloom:keys=10M,k=7,addressing=fields,fpr=1%",
        "keys=5,hash=siphash,seed=000102030405060708090a0b0c0d0e0f", "blocked-bloom:seed=0xff"}) {
    const auto spec = parse_spec(text);
    ASSERT_TRUE(spec.has_value()) << text << ": " << spec.error().message();
    const auto again = parse_spec(to_string(*spec));
    ASSERT_TRUE(again.has_value()) << to_string(*spec);
    EXPECT_EQ(to_string(*again), to_string(*spec));
  }
  EXPECT_EQ(parse_spec("keys=2.5e6")->keys, 2'500'000U);
  EXPECT_EQ(option_of(*parse_spec("bloom:k=7"), "k"), "7");
}

TEST(Spec, malformed_text_is_an_error_that_names_it) {
  for (const char* text : {"",
                           ":",
                           "blom",
                           "blocked-bloom:",
                           "blocked-bloom:keys",
                           "blocked-bloom:keys=",
                           "keys=-1",
                           "keys=1.5",
                           "keys=1e99",
                           "fpr=0",
                           "fpr=1",
                           "fpr=nan",
                           "fpr=inf",
                           "fpr=100%",
                           "hash=md5",
                           "seed=xyz",
                           "seed=0x",
                           "bloom:k=0",
                           "bloom:k=65",
                           "k=7",
                           "color=red",
                           "addressing=fields",
                           "counting-bloom:growth=3",
                           "scalable-bloom:growth=0",
                           "scalable-bloom:growth=1.5",
                           "scalable-bloom:tightening=1",
                           "scalable-bloom:tightening=nan",
                           "scalable-bloom:bound=none",
                           "scalable-counting-bloom:first-id=18446744073709551615",
                           "layered-url-bloom:layering=both",
                           "bloom:addressing=x",
                           "fading-fingerprints:keys=5,slots=0",
                           "decayed-top:bytes=0",
                           "time-decaying-pooled-counts:counters=0",
                           "keys=5,,fpr=0.1",
                           "keys=5,",
                           "bloom:,",
                           "keys=5,keys=5",
                           "bloom:k=7,fpr=0.1,k=8",
                           "keys=18446744073709551616"}) {
    const auto spec = parse_spec(text);
    if (std::string_view(text) == "blocked-bloom:") {
      EXPECT_TRUE(spec.has_value()) << "no options is no error";
      continue;
    }
    ASSERT_FALSE(spec.has_value()) << text;
    EXPECT_FALSE(spec.error().detail.empty());
    EXPECT_TRUE(spec.error().code == ErrorCode::invalid_argument || spec.error().code == ErrorCode::not_found);
  }
}

TEST(Counts, are_read_in_every_usual_form) {
  EXPECT_EQ(parse_count("0"), 0U);
  EXPECT_EQ(parse_count("18446744073709551615"), ~std::uint64_t{0});
  EXPECT_EQ(parse_count("1e7"), 10'000'000U);
  EXPECT_EQ(parse_count("10k"), 10'000U);
  EXPECT_EQ(parse_count("2.3M"), 2'300'000U);
  EXPECT_EQ(parse_count("1G"), 1'000'000'000U);
  EXPECT_EQ(parse_count("0.1k"), 100U);
  EXPECT_FALSE(parse_count("0.01k1").has_value());
  EXPECT_FALSE(parse_count("M").has_value());
  EXPECT_FALSE(parse_count("1 000").has_value());
  EXPECT_FALSE(parse_count("1.0001k").has_value());
}

TEST(Kinds, every_kind_is_created_described_and_planned) {
  for (const KindDescription* each : kinds()) {
    const KindDescription& kind = *each;
    EXPECT_EQ(parse_kind(kind.name), kind.kind);
    const auto filter = create_filter({.kind = kind.kind, .keys = 5000, .fpr = 0.01});
    ASSERT_TRUE(filter.has_value());
    const FilterInfo info = filter->describe();
    EXPECT_EQ(info.kind, kind.kind);
    EXPECT_EQ(info.capacity_keys, 5000U);
    EXPECT_EQ(info.keys_inserted, 0U);
    EXPECT_EQ(info.fill_ratio, 0.0);
    EXPECT_EQ(info.fpr_estimate, 0.0);
    EXPECT_FALSE(std::signbit(info.fpr_estimate)) << kind.name;
    EXPECT_EQ(info.keys_estimate, 0.0);
    EXPECT_EQ(&filter->kind(), &kind);
  }
}

TEST(Kinds, the_error_for_a_wrong_count_names_the_kinds_that_have_it) {
  const std::array<std::string_view, 1> keys{"a"};
  std::array<KeyCount, 1> counts{};
  for (const KindDescription* each : kinds()) {
    const auto filter = create_filter({.kind = each->kind, .keys = 100});
    const auto counted = filter->count(keys, counts);
    EXPECT_EQ(counted.has_value(), each->can_count && !each->counts_decay) << each->name;
    if (!counted) {
      const std::string able = counted.error().detail.substr(counted.error().detail.find(';'));
      EXPECT_EQ(able, "; supported by: counting-bloom, scalable-counting-bloom, cuckoo") << each->name;
    }
  }
}

TEST(Kinds, a_spec_of_a_filter_makes_one_that_merges_with_it) {
  for (const char* text : {"blocked-bloom:keys=3000",
                           "bloom:keys=3000,k=5",
                           "bloom:keys=3000,addressing=fields",
                           "counting-bloom:keys=3000",
                           "counting-bloom:keys=3000,k=5,layout=partitioned",
                           "scalable-bloom:keys=30,growth=1,tightening=0.9,bound=first",
                           "scalable-counting-bloom:keys=30,layout=partitioned,growth=4,first-id=17",
                           "layered-url-bloom:keys=3000,levels=3,layering=faithful",
                           "time-decaying-counts:keys=3000,half-life=1h",
                           "time-decaying-counts:bytes=4096,lambda=0.9,epoch=10m,policy=ceil,width=8,rule=minimum,k=3",
                           "time-decaying-counts:keys=3000,lambda=0.99,epoch=1s,fraction-bits=3,forced=yes",
                           "time-decaying-pooled-counts:keys=3000,lookup=links,overflow=all,gate=yes,pool-share=0.25",
                           "time-decaying-pooled-counts:keys=3000,when-empty=saturate,policy=ceil",
                           "time-decaying-tiered-counts:keys=3000,width=8,shrink-bits=1,remainder=downwards",
                           "fading-fingerprints:keys=3000,slots=307,k=2,width=8,min-matches=2",
                           "fading-fingerprints:keys=3000,fpr=0.01",
                           "recent-values:keys=3000,k=8",
                           "recent-values:slots=4000",
                           "rotating-bloom:keys=3000,window=90m,generations=7",
                           "decayed-top:bytes=65536,half-life=30m,names=64"}) {
    auto first = create_filter(*parse_spec(text));
    auto second = first->create_like();
    EXPECT_EQ(to_string(second->spec()), to_string(first->spec()));
    EXPECT_EQ(to_string(*parse_spec(to_string(first->spec()))), to_string(first->spec()));
    EXPECT_EQ(create_filter(first->spec())->image_bytes(), first->image_bytes()) << text;
    EXPECT_EQ(first->merge(*second).has_value(), first->kind().can_merge) << text;
  }
  auto blocked = create_filter(*parse_spec("keys=3000"));
  const auto classic = create_filter(*parse_spec("bloom:keys=3000"));
  const auto other_seed = create_filter(*parse_spec("keys=3000"));
  EXPECT_FALSE(blocked->merge(*classic).has_value());
  EXPECT_FALSE(blocked->merge(*other_seed).has_value());
}

TEST(Plan, keeps_the_rate_and_says_what_a_created_filter_takes) {
  const auto rows = plan({.keys = 100'000, .fpr = 0.001});
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->size(), 17U);
  for (const PlanRow& row : *rows) {
    EXPECT_LE(row.fpr, 0.001);
    const auto filter = create_filter(row.spec);
    ASSERT_TRUE(filter.has_value());
    EXPECT_EQ(filter->describe().image_bytes, row.image_bytes);
    EXPECT_EQ(filter->describe().probes_per_key, row.probes_per_key);
  }
  EXPECT_LE(rows->front().bits_per_key, 15.9);
}

TEST(Plan, has_each_shape_of_a_kind_that_reaches_the_rate) {
  const auto rows = plan({.keys = 100'000, .fpr = 1e-6});
  ASSERT_TRUE(rows.has_value());
  const auto cuckoos =
      std::ranges::count_if(*rows, [](const PlanRow& row) { return row.spec.kind == Kind{Cuckoo::kKind}; });
  EXPECT_EQ(cuckoos, 5) << "all but the one that grows and has a time to live";
  for (const PlanRow& row : *rows) {
    EXPECT_LE(row.fpr, 1e-6);
    const auto filter = create_filter(row.spec);
    ASSERT_TRUE(filter.has_value());
    EXPECT_EQ(filter->describe().image_bytes, row.image_bytes);
    EXPECT_EQ(filter->describe().probes_per_key, row.probes_per_key);
  }
}

TEST(Plan, a_memory_of_events_is_as_long_as_asked_and_no_larger_than_said) {
  const auto rows = plan_forgetting({.events = 50'000, .survival = 0.9, .fpr = 0.01});
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->size(), 7U);
  for (const PlanRow& row : *rows) {
    EXPECT_LE(row.fpr, 0.01);
    EXPECT_GE(row.survival, 0.9);
    const auto filter = create_filter(row.spec);
    ASSERT_TRUE(filter.has_value());
    EXPECT_EQ(filter->image_bytes(), row.image_bytes);
  }
  EXPECT_FALSE(plan_forgetting({.events = 0}).has_value());
  EXPECT_FALSE(plan_forgetting({.events = 10, .survival = 1.5}).has_value());
}

TEST(Spec, a_decay_is_a_half_life_or_a_lambda_with_its_epoch) {
  const Duration hour = std::chrono::hours(1);
  const auto created = [](const char* text) { return create_filter(parse_spec(text).value()); };
  EXPECT_EQ(created("decayed-top:keys=100")->as<DecayedTop>()->decay(), Decay::of_half_life(hour).value());
  EXPECT_EQ(created("time-decaying-pooled-counts:keys=9")->as<TimeDecayingPooledCounts>()->decay(),
            Decay::of_half_life(hour, hour).value());
  EXPECT_EQ(created("time-decaying-counts:keys=9,policy=floor")->as<TimeDecayingCounts>()->decay().lambda(), 0.5);
  EXPECT_EQ(created("time-decaying-counts:keys=9")->as<TimeDecayingCounts>()->decay(),
            Decay::of_half_life(hour).value());
  EXPECT_TRUE(created("time-decaying-counts:keys=9,lambda=0.9,epoch=10m"));
  EXPECT_FALSE(created("time-decaying-counts:keys=9,lambda=0.9"));
  EXPECT_FALSE(created("time-decaying-counts:keys=9,lambda=0.9,epoch=10m,half-life=1h"));
  EXPECT_FALSE(parse_spec("time-decaying-counts:lambda=1.5"));
  EXPECT_FALSE(parse_spec("time-decaying-counts:half-life=soon"));
  EXPECT_FALSE(parse_spec("blocked-bloom:half-life=1h"));
}

TEST(Plan, for_bytes_stays_within_them) {
  for (const std::uint64_t bytes : {208ULL, 1000ULL, 65'536ULL + 200, 10'000'000ULL}) {
    const auto rows = plan_for_bytes(1000, bytes);
    ASSERT_TRUE(rows.has_value());
    for (const PlanRow& row : *rows) {
      EXPECT_LE(row.image_bytes, bytes);
      EXPECT_GT(row.fpr, 0.0);
    }
    EXPECT_GT(rows->front().image_bytes + 128, bytes) << "room for another line was left";
  }
  EXPECT_FALSE(plan_for_bytes(1000, 100).has_value());
  EXPECT_FALSE(plan_for_bytes(0, 1000).has_value());
  EXPECT_FALSE(plan_for_bytes(1'000'000'000, 1000).has_value()) << "every rate is 1";
}

TEST(Plan, a_filter_of_a_row_for_bytes_fits_into_them) {
  for (std::uint64_t bytes = 500; bytes < 6000; bytes += 100) {
    const auto rows = plan_for_bytes(1000, bytes).value();
    for (const PlanRow& row : rows) {
      EXPECT_LE(create_filter(row.spec).value().image_bytes(), bytes) << to_string(row.spec);
    }
  }
}

TEST(Kinds, a_seed_of_128_bits_needs_the_hash_that_uses_it) {
  EXPECT_FALSE(create_filter(*parse_spec("keys=10,hash=xxh3,seed=00000000000000010000000000000002")).has_value());
  EXPECT_TRUE(create_filter(*parse_spec("keys=10,hash=siphash,seed=00000000000000010000000000000002")).has_value());
  EXPECT_TRUE(create_filter(*parse_spec("keys=10,seed=00000000000000010000000000000002")).has_value());
}

// Keys come from anywhere unless somebody says otherwise: every kind's filter is keyed by a secret of its own.
TEST(Kinds, every_kind_is_created_with_the_keyed_hash) {
  for (const KindDescription* kind : kinds()) {
    const auto spec = parse_spec(std::string(kind->name) + ":keys=10");
    ASSERT_TRUE(spec.has_value()) << kind->name;
    const auto first = create_filter(*spec);
    const auto second = create_filter(*spec);
    ASSERT_TRUE(first.has_value() && second.has_value()) << kind->name;
    const auto hash_of = [](const AnyFilter& filter) { return filter.hasher().spec(); };
    EXPECT_EQ(hash_of(*first).kind, HashKind::nh_siphash) << kind->name;
    EXPECT_NE(hash_of(*first).seed[1], 0U) << kind->name;
    EXPECT_NE(hash_of(*first), hash_of(*second)) << kind->name;
  }
}

TEST(Plan, answers_at_once_however_odd_the_request) {
  EXPECT_TRUE(plan({.keys = 200'000'000'000'000, .fpr = 0.9999999999999999}).has_value());
  EXPECT_TRUE(plan({.keys = 1'000'000'000'000, .fpr = 0.999}).has_value());
}

TEST(Kinds, an_image_of_an_unknown_kind_asks_for_a_newer_library) {
  auto image =
      Image::create(999, {.capacity_keys = 1, .fpr_target = 0.5, .hash = {}, .cells_bytes = 64}, system_memory());
  const auto bytes = image->seal();
  const auto filter =
      filter_from_region(Region::borrow({const_cast<std::byte*>(bytes.data()), bytes.size()}), Trust::checked);
  ASSERT_FALSE(filter.has_value());
  EXPECT_EQ(filter.error().code, ErrorCode::unsupported_version);
}

// Large enough for the checks of several threads.
TEST(Kinds, the_first_corrupt_chunk_of_a_large_image_is_named) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  auto image =
      Image::create(1, {.capacity_keys = 1, .fpr_target = 0.5, .hash = {}, .cells_bytes = kBytes}, system_memory());
  ASSERT_TRUE(image.has_value());
  auto region = Region::allocate(system_memory(), image_bytes_for(kBytes));
  ASSERT_TRUE(region.has_value());
  std::ranges::copy(image->seal(), region->bytes().begin());
  EXPECT_TRUE(Image::adopt(Region::borrow(region->bytes()), Trust::checked).has_value());
  for (const std::size_t at : {kBytes - 1, kBytes / 2 + 1, kBytes / 2 - 1, std::size_t{0}}) {  // the first one last
    region->bytes()[sizeof(ImageHeader) + at] ^= std::byte{1};
    const auto opened = Image::adopt(Region::borrow(region->bytes()), Trust::checked);
    ASSERT_FALSE(opened.has_value());
    const std::size_t chunk = sizeof(ImageHeader) + at / kChunkBytes * kChunkBytes;
    EXPECT_NE(opened.error().detail.find("at offset " + std::to_string(chunk) + " "), std::string::npos)
        << opened.error().detail;
  }
}

TEST(Kinds, keys_canonicalized_by_other_rules_ask_for_the_library_that_has_them) {
  for (const KindDescription* kind : kinds()) {
    const auto filter = create_filter({.kind = kind->kind, .keys = 100}).value();
    auto region = Region::allocate(system_memory(), filter.image_bytes());
    std::ranges::copy(filter.to_bytes(), region->bytes().begin());
    ImageHeader header = test::header_of(region->bytes());
    header.canonical_version = 200;
    test::set_header(region->bytes(), header);
    test::fix_header_checksum(region->bytes());
    const auto opened = filter_from_region(std::move(*region), Trust::checked);
    ASSERT_FALSE(opened.has_value()) << kind->name;
    EXPECT_EQ(opened.error().code, ErrorCode::unsupported_version) << opened.error().detail;
    EXPECT_NE(opened.error().detail.find("200"), std::string::npos) << opened.error().detail;
  }
}

template <class... Filters>
void set_version(AnyFilter& filter, unsigned version) {
  const auto set = [version](auto* known) {
    if (known != nullptr) {
      known->set_canonical_version(static_cast<std::uint8_t>(version));
    }
  };
  (set(filter.as<Filters>()), ...);
}

// What a state of an older release recognized must stay recognized: its keys keep the rules by which they were made.
TEST(Kinds, a_filter_keeps_the_url_rules_that_it_was_made_with) {
  const std::string_view spelling = "http://h.example/a%2Fb";
  const std::string_view other = "http://h.example/a/b";  // the same key by version 1, and another by version 2
  for (const std::string_view name : {"blocked-bloom", "scalable-bloom", "layered-url-bloom"}) {
    const KindDescription& kind = description_of(parse_kind(name).value());
    for (const unsigned version : {1U, 2U}) {
      const bool is_path = kind.key_shape == KeyShape::path;  // canonical anyway
      auto made = create_filter({.kind = kind.kind, .keys = 100, .fpr = 1e-6, .seed = {{1, 0}}, .canonical = !is_path});
      ASSERT_TRUE(made.has_value()) << made.error().detail;
      ASSERT_EQ(made->canonical_version(), 2U);
      set_version<BlockedBloom, ScalableBloom, LayeredUrlBloom>(*made, version);
      auto region = Region::allocate(system_memory(), made->image_bytes());
      std::ranges::copy(made->to_bytes(), region->bytes().begin());
      auto opened = filter_from_region(std::move(*region), Trust::checked);
      ASSERT_TRUE(opened.has_value()) << opened.error().detail;
      ASSERT_TRUE(opened->insert(std::span(&spelling, 1)));
      std::array<bool, 2> found{};
      const std::array asked{spelling, other};
      opened->may_contain(asked, found);
      EXPECT_TRUE(found[0]) << name;
      EXPECT_EQ(found[1], version == 1) << name;
    }
  }
}

TEST(Spec, seed_of_decimal_digits_only_is_read_back_as_it_was_written) {
  const auto spec = parse_spec("keys=1,seed=99");
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(parse_spec(to_string(*spec))->seed, spec->seed);
}

}  // namespace
}  // namespace mankai
