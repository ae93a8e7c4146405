#include "mankai/takeover/valkey_bloom.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "mankai/takeover/dump.hpp"
#include "mankai/takeover/takeover_test_support.hpp"
#include "tests/support/moving_memory.hpp"
#include "tests/support/random.hpp"

namespace mankai::takeover {
namespace {

using test::bytes_of;
using test::Items;
using test::Json;

Result<ValkeyBloom> loaded_valkey(std::span<const std::byte> payload) {
  MANKAI_ASSIGN(const DumpReader dump, DumpReader::open(payload));
  return dump.read([&](FieldReader& fields) { return ValkeyBloom::load(fields, dump.type().encver); });
}

ByteBuffer dumped_valkey(const ValkeyBloom& bloom) {
  DumpWriter writer(ValkeyBloom::kTypeName, ValkeyBloom::kEncver);
  bloom.save(writer);
  return writer.finish();
}

char letter_of_valkey(AddResult result) {
  return result == AddResult::fresh ? '1' : result == AddResult::known ? '0' : 'f';
}

ValkeyBloom::Options options_of(const Json& each) {
  ValkeyBloom::Options options{.keys = each["capacity"].get<std::uint64_t>(),
                               .fpr = each["error"].get<double>(),
                               .tightening = each["tightening"].get<double>(),
                               .expansion = each["expansion"].get<std::uint32_t>()};
  const std::string seed = test::from_hex(each["seed"].get<std::string>());
  std::memcpy(options.seed.data(), seed.data(), options.seed.size());
  return options;
}

TEST(ValkeyBloom, does_what_valkey_bloom_did_with_every_filter_of_the_fixture) {
  const auto path = mankai::test::shared_data("redisbloom/valkey-bloom.json.gz");
  MANKAI_SKIP_WITHOUT(path);
  std::size_t checked = 0;
  for (const Json& each : test::read_fixture(path)) {
    SCOPED_TRACE(checked);
    ValkeyBloom bloom = ValkeyBloom::create(options_of(each)).value();
    std::string answers;
    const Items items(each["items"]);
    for (const std::string_view item : items.views()) {
      answers.push_back(letter_of_valkey(bloom.add(item)));
    }
    EXPECT_EQ(answers, each["answers"].get<std::string>());
    const std::string blob = test::unpacked(each["load"]);
    EXPECT_TRUE(std::ranges::equal(bloom.to_blob(), bytes_of(blob)));
    const std::string payload = test::unpacked(each["dump"]);
    const auto restored = loaded_valkey(bytes_of(payload));
    ASSERT_TRUE(restored.has_value()) << restored.error().message();
    EXPECT_EQ(dumped_valkey(*restored), dumped_valkey(bloom));
    const auto decoded = ValkeyBloom::from_blob(bytes_of(blob));
    ASSERT_TRUE(decoded.has_value()) << decoded.error().message();
    EXPECT_EQ(decoded->to_blob(), bloom.to_blob());
    for (const ValkeyBloom* filter : {static_cast<const ValkeyBloom*>(&bloom), &*restored, &*decoded}) {
      EXPECT_EQ(test::answers_of(*filter, Items(each["probes"]).views()), each["exists"].get<std::string>());
    }
    ++checked;
  }
  EXPECT_EQ(checked, 7U);
}

TEST(ValkeyPositions, agree_with_their_definition_beyond_the_prime) {
  constexpr std::uint64_t kPrime = 0xffffffffffffffc5U;
  mankai::test::Random random(18);
  for (int round = 0; round < 2000; ++round) {
    const Modulus modulus((random.number() >> (1 + random.below(62))) + 1);
    // Every other key reaches a sum near 2^64.
    const std::uint64_t second = random.number();
    const KeyHashes key{.first = round % 2 == 0 ? random.number() : random.below(100) - 60 - 2 * second,
                        .second = second};
    ValkeyPositions positions(key, modulus);
    for (std::uint64_t i = 0; i < 20; ++i) {
      const std::uint64_t sum = key.first + i * key.second;
      const std::uint64_t expected = i == 0 ? key.first : i == 1 ? key.second : sum % kPrime;
      ASSERT_EQ(positions.next(), expected % modulus.bits());
    }
  }
}

TEST(ValkeyBloom, series_of_additions_agree_with_a_set) {
  mankai::test::Random random(2);
  for (int round = 0; round < 40; ++round) {
    ValkeyBloom::Options options{.keys = 1 + random.below(50),
                                 .fpr = std::pow(0.5, static_cast<double>(1 + random.below(12))),
                                 .tightening = 0.3,
                                 .expansion = static_cast<std::uint32_t>(random.below(4))};
    if (random.below(2) == 0) {
      options.seed[random.below(32)] ^= 1;
    }
    ValkeyBloom bloom = ValkeyBloom::create(options).value();
    std::set<std::string, std::less<>> keys;
    for (int i = 0; i < 300; ++i) {
      std::string key = random.bytes(random.below(20));
      const AddResult result = bloom.add(key);
      if (result == AddResult::fresh || result == AddResult::known) {
        keys.insert(std::move(key));
      } else {
        EXPECT_EQ(result, AddResult::full);
        EXPECT_TRUE(bloom.is_nonscaling());
      }
    }
    EXPECT_EQ(bloom.clone().value().to_blob(), bloom.to_blob());
    EXPECT_EQ(ValkeyBloom::from_blob(bloom.to_blob()).value().to_blob(), bloom.to_blob());
    EXPECT_EQ(loaded_valkey(dumped_valkey(bloom)).value().to_blob(), bloom.to_blob());
    EXPECT_EQ(bloom.create_like().value().to_blob(), ValkeyBloom::create(options).value().to_blob());
    int moves = 0;
    for (std::size_t piece = 0; piece < bloom.memory_pieces(); ++piece) {
      bloom.relocate(piece, {.move = mankai::test::move_away, .context = &moves});
    }
    for (const std::string& key : keys) {
      ASSERT_TRUE(bloom.may_contain(key));
    }
  }
}

TEST(ValkeyBloom, rates_that_degrade_to_0_end_the_growth) {
  ValkeyBloom bloom = ValkeyBloom::create({.keys = 1, .fpr = 0.5, .tightening = 1e-150, .expansion = 1}).value();
  AddResult result = AddResult::fresh;
  for (int i = 0; result == AddResult::fresh || result == AddResult::known; ++i) {
    result = bloom.add(std::to_string(i));
  }
  EXPECT_EQ(result, AddResult::exhausted);
  EXPECT_EQ(bloom.slice_count(), 3U);
}

TEST(ValkeyBloom, impossible_options_and_changed_blobs_are_refused) {
  EXPECT_FALSE(ValkeyBloom::create({.keys = 0}).has_value());
  EXPECT_FALSE(ValkeyBloom::create({.keys = std::uint64_t{1} << 63U}).has_value());
  EXPECT_FALSE(ValkeyBloom::create({.keys = 1, .tightening = 2}).has_value());
  EXPECT_FALSE(ValkeyBloom::create({.keys = std::uint64_t{1} << 62U}).has_value());
  ValkeyBloom bloom = ValkeyBloom::create({.keys = 10}).value();
  for (int i = 0; i < 40; ++i) {
    static_cast<void>(bloom.add(std::to_string(i)));
  }
  const ByteBuffer blob = bloom.to_blob();
  for (std::size_t size = 0; size < blob.size(); ++size) {
    EXPECT_FALSE(ValkeyBloom::from_blob(std::span(blob).first(size)).has_value());
  }
  // Versions, rates, the kind of seed, numbers of filters, bytes and probes.
  for (const std::size_t at : {0U, 12U, 20U, 21U, 22U, 30U, 38U, 39U, 47U, 51U, 82U}) {
    ByteBuffer changed = blob;
    changed[at] ^= std::byte{0x84};
    EXPECT_FALSE(ValkeyBloom::from_blob(changed).has_value()) << at;
  }
}

}  // namespace
}  // namespace mankai::takeover
