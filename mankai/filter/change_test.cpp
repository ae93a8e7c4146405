// Changes must do what the functions of keys.hpp do, byte for byte, the first time and every other time; and bytes that
// are no change must do nothing.

#include "mankai/filter/change.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/image_edit.hpp"
#include "tests/support/requests.hpp"

namespace mankai {
namespace {

using test::AlignedBytes;
using test::Answers;
using test::filter_of;
using test::image_of;
using test::Random;
using test::Request;
using test::RequestMaker;

/// A change that owns its bytes, aligned to 64 and not one byte longer.
class KeptChange {
 public:
  explicit KeptChange(const Change& change) : change_(change), bytes_(change.payload) {}
  [[nodiscard]] Change change() {
    return {.operation = change_.operation, .keys = change_.keys, .payload = bytes_.span()};
  }

 private:
  Change change_;
  AlignedBytes bytes_;
};

void insert_directly(AnyFilter& filter, const Request& request) {
  if (request.operation == Operation::insert) {
    EXPECT_TRUE(filter.insert(request.views()));
  } else {
    static_cast<void>(test::done_directly(filter, request));
  }
}

class ChangesOf : public testing::TestWithParam<std::string> {
 protected:
  // Enough for growing kinds to grow again and again; some calls fill more than one window.
  static constexpr int kRequests = 60;
  static std::vector<Request> requests(std::uint64_t seed) {
    RequestMaker maker(filter_of(GetParam()), seed);
    std::vector<Request> made;
    for (int i = 0; i < kRequests; ++i) {
      made.push_back(maker.next(i % 20 == 19 ? ChangeEncoder::kMaxKeys : 150));
    }
    return made;
  }
};

TEST(Changes, every_kind_has_an_example) {
  for (const KindDescription* kind : kinds()) {
    EXPECT_FALSE(kind->examples.empty()) << kind->name;
  }
}

TEST_P(ChangesOf, an_applied_change_is_what_the_direct_call_does_and_answers) {
  AnyFilter direct = filter_of(GetParam());
  AnyFilter inserted = filter_of(GetParam());
  AnyFilter changed = filter_of(GetParam());
  ChangeEncoder encoder(changed);
  for (const Request& request : requests(1)) {
    const Answers expected = test::done_directly(direct, request);
    insert_directly(inserted, request);
    const auto change = test::encoded(encoder, request);
    ASSERT_TRUE(change.has_value()) << change.error().message();
    ASSERT_EQ(change->payload.size() % 8, 0U);
    const auto answers = test::applied(changed, *change);
    ASSERT_TRUE(answers.has_value()) << answers.error().message();
    EXPECT_EQ(*answers, expected) << name(request.operation);
    ASSERT_EQ(image_of(changed), image_of(direct)) << name(request.operation);
    ASSERT_EQ(image_of(changed), image_of(inserted)) << name(request.operation);
  }
}

TEST_P(ChangesOf, replay_without_answers_makes_an_equal_filter) {
  AnyFilter live = filter_of(GetParam());
  ChangeEncoder encoder(live);
  std::vector<KeptChange> journal;
  for (const Request& request : requests(2)) {
    journal.emplace_back(test::encoded(encoder, request).value());
    ASSERT_TRUE(test::applied(live, journal.back().change()).has_value());
  }
  AnyFilter replayed = filter_of(GetParam());
  for (KeptChange& kept : journal) {
    const auto done = replayed.apply(kept.change());
    ASSERT_TRUE(done.has_value()) << done.error().message();
  }
  EXPECT_EQ(image_of(replayed), image_of(live));
}

TEST_P(ChangesOf, batches_may_be_cut_anywhere) {
  AnyFilter whole = filter_of(GetParam());
  AnyFilter cut = filter_of(GetParam());
  ChangeEncoder whole_encoder(whole);
  ChangeEncoder cut_encoder(cut);
  Random random(3);
  for (const Request& request : requests(3)) {
    ASSERT_TRUE(whole.apply(test::encoded(whole_encoder, request).value()).has_value());
    if (request.operation == Operation::advance) {
      ASSERT_TRUE(cut.apply(test::encoded(cut_encoder, request).value()).has_value());
    }
    for (std::size_t begin = 0; begin < request.keys.size();) {
      const std::size_t count = std::min<std::size_t>(request.keys.size() - begin, 1 + random.below(200));
      const auto part = test::encoded(cut_encoder, request.part(begin, count));
      ASSERT_TRUE(random.below(2) == 0 ? cut.apply(*part).has_value() : test::applied(cut, *part).has_value());
      begin += count;
    }
  }
  EXPECT_EQ(image_of(cut), image_of(whole));
}

TEST_P(ChangesOf, a_change_of_no_keys_changes_nothing) {
  AnyFilter filter = filter_of(GetParam());
  const auto before = image_of(filter);
  ChangeEncoder encoder(filter);
  const RequestMaker maker(filter, 1);
  for (const Operation operation : maker.operations()) {
    if (operation == Operation::advance) {
      continue;
    }
    const auto change = test::encoded(encoder, {.operation = operation});
    ASSERT_TRUE(change.has_value()) << change.error().message();
    EXPECT_EQ(change->keys, 0U);
    EXPECT_TRUE(filter.apply(*change).has_value()) << name(operation);
  }
  EXPECT_EQ(image_of(filter), before);
}

TEST_P(ChangesOf, an_encoder_reuses_its_memory) {
  AnyFilter filter = filter_of(GetParam());
  ChangeEncoder encoder(filter);
  RequestMaker maker(filter, 4);
  for (const Operation operation : maker.operations()) {
    const Request request = maker.of(operation, 500);
    if (operation == Operation::advance) {
      ASSERT_TRUE(filter.advance(request.time)) << "times to live count from there";
    }
    const std::byte* const first = test::encoded(encoder, request).value().payload.data();
    EXPECT_EQ(test::encoded(encoder, request).value().payload.data(), first) << name(operation);
  }
}

// What the functions of keys.hpp refuse, the encoder refuses with the same words.
TEST_P(ChangesOf, what_a_kind_cannot_do_is_refused_by_the_encoder) {
  AnyFilter filter = filter_of(GetParam());
  ChangeEncoder encoder(filter);
  const std::array<std::string_view, 1> keys{"http://a.example/"};
  const std::array<std::uint64_t, 1> ids{5000};
  const std::array<std::uint32_t, 1> values{7};
  const Time time{std::chrono::hours(1)};
  const KindDescription& kind = filter.kind();
  const auto expect = [&](const Result<Change>& change, bool can) {
    ASSERT_EQ(change.has_value(), can);
    if (!can) {
      EXPECT_EQ(change.error().code, ErrorCode::invalid_argument);
      EXPECT_NE(change.error().detail.find(kind.name), std::string::npos) << change.error().detail;
    }
  };
  expect(encoder.insert(keys, ids), kind.key_shape == KeyShape::numbered);
  const RequestMaker maker(filter, 1);
  const auto can = [&](Operation operation) { return std::ranges::count(maker.operations(), operation) != 0; };
  expect(encoder.erase(keys), can(Operation::erase));
  expect(encoder.erase(keys, ids), kind.key_shape == KeyShape::numbered);
  expect(encoder.put(keys, values, 0.5), kind.key_shape == KeyShape::valued);
  expect(encoder.advance(time), can(Operation::advance));
  expect(encoder.insert_until(keys, std::span(&time, 1)), can(Operation::insert_until));
  EXPECT_EQ(encoder.insert(keys, std::span(&time, 1)).has_value(), test::info_of(filter).key_shape == KeyShape::named);
}

// Beyond the near caches the kernels of an insertion with answers and of one without take other ways.
TEST(Changes, answers_make_no_difference_to_large_filters_either) {
  constexpr std::uint64_t kFarBytes = std::uint64_t{3} << 20;
  for (const KindDescription* kind : kinds()) {
    FilterSpec spec{.kind = kind->kind, .keys = 50'000, .seed = std::array<std::uint64_t, 2>{1, 0}};
    AnyFilter silent = create_filter(spec).value();
    for (; silent.image_bytes() < kFarBytes; silent = create_filter(spec).value()) {
      spec.keys *= 2;
    }
    AnyFilter answering = create_filter(spec).value();
    ChangeEncoder encoder(silent);
    RequestMaker maker(silent, 8);
    for (int i = 0; i < 6; ++i) {
      KeptChange kept(test::encoded(encoder, maker.of(Operation::insert, ChangeEncoder::kMaxKeys)).value());
      ASSERT_TRUE(silent.apply(kept.change()).has_value());
      ASSERT_TRUE(test::applied(answering, kept.change()).has_value());
    }
    EXPECT_EQ(image_of(silent), image_of(answering)) << kind->name;
  }
}

// ---- bytes that are no change

void expect_refused(AnyFilter& filter, const Change& change, const std::string& what) {
  const auto done = filter.apply(change);
  ASSERT_FALSE(done.has_value()) << what;
  ASSERT_EQ(done.error().code, ErrorCode::corrupt) << what;
  ASSERT_NE(done.error().detail.find("keys in"), std::string::npos) << done.error().detail;
}

TEST_P(ChangesOf, every_truncation_and_every_extension_of_a_payload_is_refused_and_changes_nothing) {
  AnyFilter filter = filter_of(GetParam());
  RequestMaker maker(filter, 5);
  insert_directly(filter, maker.of(Operation::insert, 100));
  const auto before = image_of(filter);
  ChangeEncoder encoder(filter);
  for (const Operation operation : maker.operations()) {
    if (operation == Operation::insert_until) {
      continue;  // it needs a filter that was advanced: below
    }
    for (const std::size_t keys : {1U, 2U, 5U}) {
      KeptChange kept(test::encoded(encoder, maker.of(operation, keys)).value());
      const Change whole = kept.change();
      std::vector<std::byte> longer(whole.payload.begin(), whole.payload.end());
      for (std::size_t size = 0; size < whole.payload.size(); ++size) {
        AlignedBytes cut(whole.payload.first(size));
        expect_refused(filter, {.operation = operation, .keys = whole.keys, .payload = cut.span()},
                       "cut to " + std::to_string(size));
      }
      for (std::size_t more = 1; more <= 16; ++more) {
        longer.emplace_back();
        AlignedBytes bytes(longer);
        expect_refused(filter, {.operation = operation, .keys = whole.keys, .payload = bytes.span()},
                       std::to_string(more) + " more bytes");
      }
      for (const std::uint32_t wrong : {whole.keys - 1, whole.keys + 1, 4097U, ~0U}) {
        expect_refused(filter, {.operation = operation, .keys = wrong, .payload = whole.payload},
                       std::to_string(wrong) + " keys");
      }
    }
  }
  EXPECT_EQ(image_of(filter), before);
}

TEST_P(ChangesOf, an_operation_of_another_kind_or_of_none_is_refused) {
  AnyFilter filter = filter_of(GetParam());
  const auto before = image_of(filter);
  const RequestMaker maker(filter, 6);
  const auto operations = maker.operations();
  AlignedBytes zeros(std::vector<std::byte>(64));
  for (std::uint16_t number = 0; number < 20; ++number) {
    const auto operation = static_cast<Operation>(number);
    const bool inserts_names = test::info_of(filter).key_shape == KeyShape::named && operation == Operation::insert;
    if (!inserts_names && std::ranges::find(operations, operation) != operations.end()) {
      continue;
    }
    for (std::size_t size = 0; size <= 64; size += 8) {
      for (std::uint32_t keys = 0; keys < 5; ++keys) {
        expect_refused(filter, {.operation = operation, .keys = keys, .payload = zeros.span().first(size)},
                       "operation " + std::to_string(number));
      }
    }
  }
  EXPECT_EQ(image_of(filter), before);
}

// Random payloads, and changes with bytes altered: refused, or done, and then the filter is still one.
TEST_P(ChangesOf, whatever_the_bytes_the_filter_stays_one_or_says_corrupt) {
  AnyFilter filter = filter_of(GetParam());
  // Encoded for a filter that stays where it is: the other one's time runs away.
  const AnyFilter empty = filter_of(GetParam());
  RequestMaker maker(empty, 7);
  ChangeEncoder encoder(empty);
  Random random(7);
  const auto operations = maker.operations();
  int done = 0;
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Operation operation = operations[random.below(operations.size())];
    if (operation == Operation::insert_until) {
      operation = Operation::insert;  // the empty filter is never advanced
    }
    KeptChange kept(test::encoded(encoder, maker.of(operation, 1 + random.below(6))).value());
    std::vector<std::byte> bytes(kept.change().payload.begin(), kept.change().payload.end());
    for (std::uint64_t edits = random.below(4); edits-- > 0;) {
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.number());
    }
    if (random.below(8) == 0) {
      std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random.number()); });
    }
    AlignedBytes hostile(bytes);
    const auto applied =
        test::applied(filter, {.operation = operation, .keys = kept.change().keys, .payload = hostile.span()});
    ASSERT_TRUE(applied.has_value() || applied.error().code == ErrorCode::corrupt);
    (applied ? done : refused) += 1;
    if (round % 100 == 0) {
      const auto image = image_of(filter);
      auto region = Region::allocate(system_memory(), image.size()).value();
      std::ranges::copy(image, region.bytes().begin());
      const auto opened = filter_from_region(std::move(region), Trust::checked);
      ASSERT_TRUE(opened.has_value()) << opened.error().message();
    }
  }
  EXPECT_GT(done, 0);
  EXPECT_EQ(done + refused, 3000);
}

INSTANTIATE_TEST_SUITE_P(every_example, ChangesOf, testing::ValuesIn(test::example_specs()), test::SpecNames{});

// ---- single kinds

void expect_wrong(AnyFilter& filter, Operation operation, std::uint32_t keys, std::span<const std::uint64_t> words) {
  AlignedBytes payload(std::as_bytes(words));
  expect_refused(filter, {.operation = operation, .keys = keys, .payload = payload.span()},
                 std::string(name(operation)));
}

TEST(Changes, ids_below_the_first_and_above_the_greatest_are_refused) {
  AnyFilter filter = filter_of("scalable-counting-bloom:keys=100,first-id=1000,seed=1");
  const auto before = image_of(filter);
  ChangeEncoder encoder(filter);
  const std::array<std::string_view, 2> keys{"a", "b"};
  for (const std::uint64_t wrong : {std::uint64_t{999}, std::uint64_t{0}, ~std::uint64_t{0}}) {
    const std::array<std::uint64_t, 2> ids{1000, wrong};
    const auto change = encoder.insert(keys, ids);
    ASSERT_FALSE(change.has_value());
    EXPECT_EQ(change.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(change.error().detail.find(std::to_string(wrong)), std::string::npos);
    expect_wrong(filter, Operation::insert_with_ids, 2, std::array<std::uint64_t, 4>{1, 2, 1000, wrong});
  }
  EXPECT_EQ(image_of(filter), before);
}

TEST(Changes, impossible_strengths_are_refused) {
  AnyFilter filter = filter_of("recent-values:keys=100,seed=1");
  const auto before = image_of(filter);
  ChangeEncoder encoder(filter);
  const std::array<std::string_view, 1> keys{"a"};
  const std::array<std::uint32_t, 1> values{7};
  for (const double wrong : {0.0, -0.5, 1.0000001, HUGE_VAL, std::numeric_limits<double>::quiet_NaN()}) {
    const auto change = encoder.put(keys, values, wrong);
    ASSERT_FALSE(change.has_value()) << wrong;
    EXPECT_EQ(change.error().code, ErrorCode::invalid_argument);
    expect_wrong(filter, Operation::put, 1, std::array<std::uint64_t, 3>{1, 7, std::bit_cast<std::uint64_t>(wrong)});
  }
  EXPECT_EQ(image_of(filter), before);
}

TEST(Changes, time_does_not_go_back) {
  for (const char* spec : {"rotating-bloom:keys=100,window=3h,seed=1", "decayed-top:keys=100,seed=1"}) {
    AnyFilter filter = filter_of(spec);
    ASSERT_TRUE(filter.advance(Time(std::chrono::hours(10000))).has_value());
    const auto before = image_of(filter);
    ChangeEncoder encoder(filter);
    EXPECT_FALSE(encoder.advance(Time(std::chrono::hours(9990))).has_value());
    expect_wrong(filter, Operation::advance, 1, std::array<std::uint64_t, 1>{0});
    expect_wrong(filter, Operation::advance, 1, std::array<std::uint64_t, 1>{kMaxTick + 1});
    expect_wrong(filter, Operation::advance, 2, std::array<std::uint64_t, 2>{kMaxTick, kMaxTick});
    EXPECT_EQ(image_of(filter), before);
  }
}

TEST(Changes, a_path_has_segments) {
  AnyFilter filter = filter_of("layered-url-bloom:keys=100,seed=1");
  const auto before = image_of(filter);
  expect_wrong(filter, Operation::insert, 1, std::array<std::uint64_t, 1>{0});
  // Two paths that end at 1, and one digest; two that end at 2 and 1.
  expect_wrong(filter, Operation::insert, 2, std::array<std::uint64_t, 2>{0x1'0000'0001, 77});
  expect_wrong(filter, Operation::insert, 2, std::array<std::uint64_t, 2>{0x1'0000'0002, 77});
  EXPECT_EQ(image_of(filter), before);
}

TEST(Changes, paths_of_too_many_segments_are_refused) {
  AnyFilter filter = filter_of("layered-url-bloom:keys=100,seed=1");
  ChangeEncoder encoder(filter);
  for (const std::size_t more : {0U, 1U}) {
    // The authority is the first.
    const std::string url = "http://a.example" + [&] {
      std::string path;
      for (std::size_t i = 1; i < ChangeEncoder::kMaxSegments + more; ++i) {
        path += "/x";
      }
      return path;
    }();
    const std::array<std::string_view, 1> keys{url};
    const auto change = encoder.insert(keys);
    ASSERT_EQ(change.has_value(), more == 0);
    if (change) {
      EXPECT_EQ(change->payload.size(), 8 + 8 * ChangeEncoder::kMaxSegments);
    } else {
      EXPECT_EQ(change.error().code, ErrorCode::invalid_argument);
    }
  }
}

TEST(Changes, names_have_their_digests_and_no_more_than_what_is_kept_of_them_stands_in_a_change) {
  AnyFilter filter = filter_of("decayed-top:keys=100,seed=1");
  ChangeEncoder encoder(filter);
  const std::string longest(DecayedTop::kMostKeyBytes, 'a');
  const std::string longer(1'000'000, 'b');
  const std::array<std::string_view, 2> keys{longest, longer};
  KeptChange kept(encoder.insert(keys).value());
  const Change change = kept.change();
  constexpr std::size_t kNamesAt = 16 + 16 + 8;
  EXPECT_EQ(change.payload.size(), kNamesAt + 1024 + 1025 + 7);
  // A name altered in one byte has another digest; of a name that is cut nobody can tell.
  for (const std::size_t at : {kNamesAt, kNamesAt + 1023}) {
    std::vector<std::byte> bytes(change.payload.begin(), change.payload.end());
    bytes[at] = std::byte{'z'};
    AlignedBytes altered(bytes);
    expect_refused(filter, {.operation = change.operation, .keys = 2, .payload = altered.span()}, "altered");
  }
  ASSERT_TRUE(filter.apply(change).has_value());
  AnyFilter direct = filter_of("decayed-top:keys=100,seed=1");
  ASSERT_TRUE(direct.insert(keys));
  EXPECT_EQ(image_of(filter), image_of(direct));
}

// Times to live are checked against the filter's time, when they are encoded and when they are applied.
TEST(Changes, an_impossible_time_to_live_is_refused_and_changes_nothing) {
  AnyFilter filter = filter_of("cuckoo:keys=60,max-ttl=13h,seed=1");
  const Time now{std::chrono::hours(100'000)};
  ASSERT_TRUE(filter.advance(now));
  const auto before = image_of(filter);
  ChangeEncoder encoder(filter);
  const std::array<std::string_view, 1> key{"a"};
  for (const Time expiry : {now, now - std::chrono::hours(1), now + std::chrono::hours(15), Time::max(), Time::min()}) {
    EXPECT_FALSE(encoder.insert_until(key, std::span(&expiry, 1)).has_value()) << expiry.time_since_epoch().count();
  }
  const Time expiry = now + std::chrono::hours(2);
  KeptChange kept(encoder.insert_until(key, std::span(&expiry, 1)).value());
  for (const std::uint64_t until :
       {std::uint64_t{0}, std::uint64_t{100'000}, std::uint64_t{100'015}, ~std::uint64_t{0}}) {
    std::vector<std::byte> forged(kept.change().payload.begin(), kept.change().payload.end());
    std::memcpy(forged.data() + sizeof(Digest), &until, sizeof(until));
    AlignedBytes payload(forged);
    expect_refused(filter, {.operation = Operation::insert_until, .keys = 1, .payload = payload.span()}, "until");
  }
  for (std::size_t size = 0; size < kept.change().payload.size(); ++size) {
    AlignedBytes cut(kept.change().payload.first(size));
    expect_refused(filter, {.operation = Operation::insert_until, .keys = 1, .payload = cut.span()}, "cut");
  }
  EXPECT_EQ(image_of(filter), before);
  const auto contains = [&] {
    bool found = false;
    filter.may_contain(key, std::span(&found, 1));
    return found;
  };
  ASSERT_TRUE(filter.apply(kept.change()));
  ASSERT_TRUE(filter.advance(expiry - std::chrono::seconds(1)));
  EXPECT_TRUE(contains());
  ASSERT_TRUE(filter.advance(expiry + std::chrono::hours(1)));
  EXPECT_FALSE(contains());
}

TEST(Changes, operations_have_names) {
  EXPECT_EQ(name(Operation::insert), "insert");
  EXPECT_EQ(name(Operation::advance), "advance");
  EXPECT_EQ(name(static_cast<Operation>(0)), "unknown");
  EXPECT_EQ(name(static_cast<Operation>(9)), "unknown");
}

}  // namespace
}  // namespace mankai
