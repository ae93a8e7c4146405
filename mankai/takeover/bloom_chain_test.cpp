#include "mankai/takeover/bloom_chain.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
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
using test::Chunks;
using test::Items;
using test::Json;
using test::sha256_of;

Result<BloomChain> loaded(std::span<const std::byte> payload) {
  MANKAI_ASSIGN(const DumpReader dump, DumpReader::open(payload));
  if (dump.type().name != BloomChain::kTypeName) {
    return fail(ErrorCode::invalid_argument, "another type");
  }
  return dump.read([&](FieldReader& fields) { return BloomChain::load(fields, dump.type().encver); });
}

ByteBuffer dumped(const BloomChain& chain) {
  DumpWriter writer(BloomChain::kTypeName, BloomChain::kEncver);
  chain.save(writer);
  return writer.finish();
}

Chunks chunks_of(const BloomChain& chain) {
  Chunks chunks{{1, chain.header()}};
  for (std::uint64_t iterator = 1;;) {
    const auto chunk = chain.chunk(iterator);
    iterator = chunk.iterator;
    if (iterator == 0) {
      EXPECT_TRUE(chunk.bytes.empty());
      return chunks;
    }
    chunks.emplace_back(iterator, ByteBuffer(chunk.bytes.begin(), chunk.bytes.end()));
  }
}

BloomChain from_chunks(const Chunks& chunks) {
  BloomChain chain = BloomChain::from_header(chunks.front().second).value();
  for (std::size_t i = chunks.size(); i-- > 1;) {  // any order, and twice
    EXPECT_EQ(chain.load_chunk(chunks[i].first, chunks[i].second), BloomChain::ChunkStatus::copied);
    EXPECT_EQ(chain.load_chunk(chunks[i].first, chunks[i].second), BloomChain::ChunkStatus::copied);
  }
  return chain;
}

char letter_of(AddResult result) { return result == AddResult::fresh ? '1' : result == AddResult::known ? '0' : 'x'; }

// Adds as BF.MADD does, `size` items per command, each of which ends at its first error.
std::string added_in_batches(BloomChain& chain, std::span<const std::string_view> keys, std::size_t size) {
  std::string answers;
  for (std::size_t start = 0; start < keys.size(); start += size) {
    const auto some = keys.subspan(start, std::min(size, keys.size() - start));
    const auto fresh = std::make_unique<bool[]>(some.size());
    const AddedKeys added = chain.add(some, std::span(fresh.get(), some.size()));
    for (std::size_t i = 0; i < added.done; ++i) {
      answers.push_back(fresh[i] ? '1' : '0');
    }
    if (added.stop != AddResult::fresh) {
      EXPECT_LT(added.done, some.size());
      EXPECT_EQ(chain.add(some[added.done]), added.stop);
      answers.push_back('a');
    }
  }
  return answers;
}

void do_step(BloomChain& chain, const Json& step) {
  if (step.contains("many")) {
    const Items items(step["items"]);
    EXPECT_EQ(added_in_batches(chain, items.views(), step["size"].get<std::size_t>()),
              step["answers"].get<std::string>());
  } else if (step.contains("each")) {
    const Items items(step["items"]);
    std::string answers;
    for (const std::string_view item : items.views()) {
      answers.push_back(letter_of(chain.add(item)));
    }
    EXPECT_EQ(answers, step["answers"].get<std::string>());
  }
}

void check_facts(const BloomChain& chain, const Json& facts) {
  EXPECT_EQ(sha256_of(chunks_of(chain)), facts["chunks_sha256"].get<std::string>());
  EXPECT_EQ(chain.keys_inserted(), facts["card"].get<std::uint64_t>());
  for (const Json& probes : facts["probes"]) {
    EXPECT_EQ(test::answers_of(chain, Items(probes["items"]).views()), probes["exists"].get<std::string>());
  }
  if (facts.contains("dump")) {
    const auto from_dump = loaded(bytes_of(test::unpacked(facts["dump"])));
    ASSERT_TRUE(from_dump.has_value()) << from_dump.error().message();
    EXPECT_EQ(chunks_of(*from_dump), chunks_of(chain));
  }
}

// A filter as the first step makes it: BF.RESERVE, BF.LOADCHUNK, or by default.
BloomChain created(const Json& step) {
  if (!step.contains("do")) {
    return BloomChain::create({}).value();
  }
  const Json& words = step["do"];
  if (words[0] == "BF.LOADCHUNK") {
    return BloomChain::from_header(bytes_of(test::from_hex(words[3]["hex"].get<std::string>()))).value();
  }
  BloomChain::Options options{.keys = std::stoull(words[3].get<std::string>()),
                              .fpr = std::stod(words[2].get<std::string>())};
  for (std::size_t i = 4; i < words.size(); ++i) {
    options.is_nonscaling = options.is_nonscaling || words[i] == "NONSCALING";
    if (words[i] == "EXPANSION") {
      options.expansion = static_cast<std::uint32_t>(std::stoul(words[i + 1].get<std::string>()));
    }
  }
  return BloomChain::create(options).value();
}

TEST(BloomChain, does_what_redisbloom_did_with_every_key_of_the_fixture) {
  const auto path = mankai::test::shared_data("redisbloom/keys.json.gz");
  MANKAI_SKIP_WITHOUT(path);
  std::size_t checked = 0;
  const Json fixture = test::read_fixture(path);
  for (const Json& key : fixture["keys"]) {
    if (key["family"] != "bf" && key["family"] != "BF") {
      continue;
    }
    SCOPED_TRACE(key["key"].get<std::string>());
    BloomChain chain = created(key["setup"][0]);
    for (const Json& step : key["setup"]) {
      do_step(chain, step);
    }
    check_facts(chain, key["facts"]);
    BloomChain restored = loaded(dumped(chain)).value();
    BloomChain copied = from_chunks(chunks_of(chain));
    for (const Json& step : key["then"]) {
      do_step(chain, step);
      do_step(restored, step);
      do_step(copied, step);
    }
    check_facts(chain, key["facts_then"]);
    check_facts(restored, key["facts_then"]);
    check_facts(copied, key["facts_then"]);
    ++checked;
  }
  EXPECT_EQ(checked, 16U);
}

TEST(BloomChain, takes_over_every_older_encoding) {
  const auto path = mankai::test::shared_data("redisbloom/older.json.gz");
  MANKAI_SKIP_WITHOUT(path);
  for (const Json& each : test::read_fixture(path)) {
    if (each["type"] != "MBbloom--") {
      continue;
    }
    SCOPED_TRACE(each["note"].get<std::string>() + each["encver"].dump());
    const std::string payload = test::unpacked(each["payload"]);
    const auto chain = loaded(bytes_of(payload));
    if (each["encver"] == 5) {
      ASSERT_FALSE(chain.has_value());
      EXPECT_EQ(chain.error().code, ErrorCode::unsupported_version);
      continue;
    }
    ASSERT_TRUE(chain.has_value()) << chain.error().message();
    const BloomChain again = loaded(dumped(*chain)).value();
    const BloomChain copied = from_chunks(chunks_of(*chain));
    for (const BloomChain* filter : {&*chain, &again, &copied}) {
      EXPECT_EQ(test::answers_of(*filter, Items(each["items"]).views()) +
                    test::answers_of(*filter, Items(each["probes"]).views()),
                each["expected_exists"].get<std::string>());
    }
  }
}

TEST(BloomChain, forged_bytes_are_refused) {
  const auto path = mankai::test::shared_data("redisbloom/forged.json.gz");
  MANKAI_SKIP_WITHOUT(path);
  std::size_t checked = 0;
  for (const Json& each : test::read_fixture(path)) {
    const auto name = each["name"].get<std::string>();
    const bool is_header = each["command"][0] == "BF.LOADCHUNK";
    if (!is_header && !name.starts_with("restore: bf")) {
      continue;
    }
    SCOPED_TRACE(name);
    const std::string bytes = test::unpacked(each["data"]);
    constexpr std::uint64_t kBytesMax = 1U << 20U;
    auto chain = is_header ? BloomChain::from_header(bytes_of(bytes), kBytesMax) : loaded(bytes_of(bytes));
    const auto ask = each["ask"].get<std::string>();
    if (!ask.starts_with("accept or")) {
      EXPECT_EQ(chain.has_value(), ask.starts_with("accept")) << (chain ? "" : chain.error().message());
    }
    if (chain) {
      static_cast<void>(chain->add("item"));
    }
    ++checked;
  }
  EXPECT_EQ(checked, 43U);
}

TEST(SteppedPositions, agree_with_their_definition_where_sums_wrap) {
  mankai::test::Random random(18);
  for (int round = 0; round < 2000; ++round) {
    const Modulus modulus((random.number() >> (1 + random.below(62))) + 1);
    const KeyHashes key{.first = random.number(), .second = random.number()};
    SteppedPositions positions(key, modulus);
    for (std::uint64_t i = 0; i < 20; ++i) {
      ASSERT_EQ(positions.next(), (key.first + i * key.second) % modulus.bits());
    }
  }
}

TEST(BloomChain, series_of_additions_agree_with_a_set) {
  mankai::test::Random random(1);
  for (int round = 0; round < 60; ++round) {
    BloomChain chain = BloomChain::create({.keys = 1 + random.below(50),
                                           .fpr = std::pow(0.5, static_cast<double>(1 + random.below(12))) * 0.9,
                                           .expansion = static_cast<std::uint32_t>(1 + random.below(4)),
                                           .is_nonscaling = random.below(4) == 0})
                           .value();
    std::set<std::string, std::less<>> keys;
    std::uint64_t fresh = 0;
    for (int i = 0; i < 400; ++i) {
      std::string key = random.bytes(random.below(20));
      const bool was_known = chain.may_contain(key);
      const AddResult result = chain.add(key);
      ASSERT_EQ(was_known, result == AddResult::known);
      if (result == AddResult::full) {
        EXPECT_TRUE(chain.is_nonscaling());
        EXPECT_EQ(fresh, chain.capacity_keys());
        continue;
      }
      fresh += static_cast<std::uint64_t>(result == AddResult::fresh);
      keys.insert(std::move(key));
    }
    EXPECT_EQ(chain.keys_inserted(), fresh);
    const BloomChain copy = chain.clone().value();
    EXPECT_EQ(dumped(copy), dumped(chain));
    EXPECT_EQ(dumped(loaded(dumped(chain)).value()), dumped(chain));
    EXPECT_EQ(dumped(from_chunks(chunks_of(chain))), dumped(chain));
    int moves = 0;
    for (std::size_t piece = 0; piece < chain.memory_pieces(); ++piece) {
      chain.relocate(piece, {.move = mankai::test::move_away, .context = &moves});
    }
    EXPECT_EQ(static_cast<std::size_t>(moves), chain.slice_count());
    for (const std::string& key : keys) {
      ASSERT_TRUE(chain.may_contain(key));
      ASSERT_TRUE(copy.may_contain(key));
    }
    const BloomChain empty = chain.create_like().value();
    EXPECT_EQ(empty.keys_inserted(), 0U);
    EXPECT_EQ(empty.slice_count(), 1U);
    EXPECT_EQ(empty.cells_bytes(), chain.slice(0).cells_bytes());
    EXPECT_FALSE(empty.may_contain("key"));
    EXPECT_EQ(empty.fpr_estimate(), 0);
  }
}

TEST(BloomChain, the_present_rate_is_that_of_absent_keys) {
  BloomChain chain = BloomChain::create({.keys = 2000, .fpr = 0.05}).value();
  for (int i = 0; i < 5000; ++i) {
    static_cast<void>(chain.add("key" + std::to_string(i)));
  }
  constexpr int kAbsent = 100000;
  int found = 0;
  for (int i = 0; i < kAbsent; ++i) {
    found += static_cast<int>(chain.may_contain("absent" + std::to_string(i)));
  }
  // Binomial with a rate of about 0.03: six standard deviations are 0.0033.
  EXPECT_NEAR(static_cast<double>(found) / kAbsent, chain.fpr_estimate(), 0.0034);
}

TEST(BloomChain, filters_that_cannot_grow_say_why) {
  BloomChain without_growth = BloomChain::create({.keys = 1, .fpr = 0.01, .expansion = 0}).value();
  EXPECT_EQ(without_growth.add("a"), AddResult::fresh);
  EXPECT_EQ(without_growth.add("a"), AddResult::known);
  EXPECT_EQ(without_growth.add("b"), AddResult::exhausted);
  BloomChain huge = BloomChain::create({.keys = 1, .fpr = 0.01, .expansion = 0xffffffffU}).value();
  EXPECT_EQ(huge.add("a"), AddResult::fresh);
  EXPECT_EQ(huge.slice_count(), 1U);
  EXPECT_FALSE(BloomChain::create({.keys = std::uint64_t{1} << 63U, .fpr = 0.01}).has_value());
  EXPECT_FALSE(BloomChain::create({.keys = 0, .fpr = 0.01}).has_value());
  EXPECT_FALSE(BloomChain::create({.keys = 1, .fpr = NAN}).has_value());
  EXPECT_FALSE(BloomChain::create({.keys = 1, .fpr = 5e-324}).has_value());
}

TEST(BloomChain, halving_rates_end_a_chain) {
  BloomChain chain = BloomChain::create({.keys = 1, .fpr = 0.9, .expansion = 1}).value();
  AddResult result = AddResult::fresh;
  for (int i = 0; result == AddResult::fresh || result == AddResult::known; ++i) {
    result = chain.add(std::to_string(i));
  }
  EXPECT_EQ(result, AddResult::exhausted);
  EXPECT_EQ(chain.slice_count(), 1074U);
  EXPECT_EQ(dumped(loaded(dumped(chain)).value()), dumped(chain));
}

TEST(BloomChain, older_headers_are_told_by_their_length) {
  BloomChain chain = BloomChain::create({.keys = 3, .fpr = 0.01}).value();
  for (int i = 0; i < 20; ++i) {
    static_cast<void>(chain.add(std::to_string(i)));
  }
  const ByteBuffer header = chain.header();
  constexpr std::size_t kStart = 20;
  constexpr std::size_t kLink = 53;
  for (const std::size_t start : {kStart, kStart - 4}) {
    ByteBuffer older(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(start));
    for (std::size_t at = kStart; at < header.size(); at += kLink) {
      const auto link = std::span(header).subspan(at, kLink);
      append(older, link.first(kLink - 5));  // without the upper half of the capacity
      append(older, link.last(1));
    }
    const auto read = BloomChain::from_header(older);
    ASSERT_TRUE(read.has_value()) << read.error().message();
    EXPECT_EQ(read->header(), header);
    older.pop_back();
    EXPECT_FALSE(BloomChain::from_header(older).has_value());
  }
  for (std::size_t size = 0; size < header.size(); ++size) {
    EXPECT_FALSE(BloomChain::from_header(std::span(header).first(size)).has_value());
  }
  EXPECT_TRUE(BloomChain::from_header(header, chain.cells_bytes()).has_value());
  const auto too_large = BloomChain::from_header(header, chain.cells_bytes() - 1);
  ASSERT_FALSE(too_large.has_value());
  EXPECT_EQ(too_large.error().code, ErrorCode::out_of_space);
}

TEST(BloomChain, chunks_outside_of_links_are_told_apart) {
  using enum BloomChain::ChunkStatus;
  BloomChain chain = BloomChain::create({.keys = 100, .fpr = 0.01}).value();
  const std::uint64_t bytes = chain.cells_bytes();
  const ByteBuffer some(8);
  EXPECT_EQ(chain.load_chunk(0, {}), bad_iterator);
  EXPECT_EQ(chain.load_chunk(7, some), bad_iterator);
  EXPECT_EQ(chain.load_chunk(8, some), no_link);
  EXPECT_EQ(chain.load_chunk(9, some), copied);
  EXPECT_EQ(chain.load_chunk(1, {}), copied);
  EXPECT_EQ(chain.load_chunk(bytes, {}), copied);
  EXPECT_EQ(chain.load_chunk(bytes + 1, {}), no_link);
  EXPECT_EQ(chain.load_chunk(bytes + 1, some), copied);
  EXPECT_EQ(chain.load_chunk(bytes + 2, some), too_big);
  EXPECT_EQ(chain.load_chunk(bytes + 9, some), no_link);
  EXPECT_EQ(chain.load_chunk(UINT64_MAX, some), no_link);
}

/// The header of an empty filter of a link of 16 MiB and one of twice as much.
ByteBuffer large_header() {
  BloomChain chain = BloomChain::create({.keys = 10'000'000, .fpr = 0.01}).value();
  ByteBuffer header = chain.header();
  ByteBuffer link(header.begin() + 20, header.end());
  header[8] = std::byte{2};
  append(header, link);
  return header;
}

/// Counts what is allocated, and refuses more than `most`.
struct CountedMemory {
  std::uint64_t used = 0;
  std::uint64_t most = UINT64_MAX;

  Memory memory() {
    return {.allocate = [](void* context, std::size_t bytes) noexcept -> void* {
              auto& self = *static_cast<CountedMemory*>(context);
              if (bytes > self.most - self.used) {
                return nullptr;
              }
              self.used += bytes;
              return system_memory().allocate(nullptr, bytes);
            },
            .release =
                [](void* context, void* data, std::size_t bytes) noexcept {
                  static_cast<CountedMemory*>(context)->used -= bytes;
                  system_memory().release(nullptr, data, bytes);
                },
            .context = this};
  }
};

TEST(BloomChain, memory_of_arriving_cells_is_at_most_twice_of_them) {
  using enum BloomChain::ChunkStatus;
  CountedMemory counted;
  BloomChain chain =
      BloomChain::from_header(large_header(), BloomChain::kNoLimit, counted.memory(), CellsOfHeader::arriving).value();
  const std::uint64_t bytes = chain.slice(0).cells_bytes();
  EXPECT_EQ(counted.used, 0U);
  EXPECT_EQ(chain.cells_bytes(), 2 * bytes);
  EXPECT_FALSE(chain.may_contain("absent"));
  EXPECT_EQ(chain.chunk(1).iterator, 0U);
  const ByteBuffer ones(100'000, std::byte{0xff});
  EXPECT_EQ(chain.load_chunk(bytes + 1, ones), too_early);
  EXPECT_EQ(counted.used, 0U);
  EXPECT_EQ(chain.load_chunk(1 + ones.size(), ones), copied);
  EXPECT_LE(counted.used, 2 * ones.size());
  EXPECT_EQ(chain.load_chunk(1 + ones.size(), ones), copied);
  EXPECT_EQ(chain.load_chunk(2 + 2 * ones.size(), ones), too_early);
  // The first cells of the second link, too: what never arrived between is left out.
  EXPECT_EQ(chain.load_chunk(1 + bytes + ones.size(), ones), copied);
  EXPECT_LE(counted.used, 4 * ones.size());
  EXPECT_EQ(chain.chunk(chain.chunk(1).iterator).bytes.data(), chain.slice(1).cells().present().data());
  counted.most = counted.used;
  EXPECT_EQ(chain.load_chunk(1 + 3 * ones.size(), ByteBuffer(200'000)), out_of_memory);
  EXPECT_EQ(chain.add("new"), AddResult::out_of_memory);
  counted.most = UINT64_MAX;
  const BloomChain copy = chain.clone().value();
  EXPECT_EQ(dumped(copy), dumped(chain));
  EXPECT_EQ(chain.add("new"), AddResult::fresh);
  EXPECT_TRUE(chain.may_contain("new"));
}

TEST(BloomChain, arriving_cells_make_the_filter) {
  BloomChain chain = BloomChain::create({.keys = 100'000, .fpr = 0.01}).value();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_NE(chain.add(std::to_string(i)), AddResult::full);
  }
  BloomChain loaded =
      BloomChain::from_header(chain.header(), BloomChain::kNoLimit, system_memory(), CellsOfHeader::arriving).value();
  const auto cells = chain.slice(0).cells().present();
  for (std::size_t start = 0; start < cells.size(); start += 999) {
    const auto part = cells.subspan(start, std::min<std::size_t>(999, cells.size() - start));
    EXPECT_EQ(loaded.load_chunk(1 + start + part.size(), part), BloomChain::ChunkStatus::copied);
  }
  EXPECT_EQ(dumped(loaded), dumped(chain));
}

}  // namespace
}  // namespace mankai::takeover
