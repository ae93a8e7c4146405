#include "mankai/takeover/rdb_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/takeover/bloom_chain.hpp"
#include "mankai/takeover/cuckoo_chain.hpp"
#include "mankai/takeover/takeover_survey.hpp"
#include "mankai/takeover/takeover_test_support.hpp"

namespace mankai::takeover {
namespace {

using test::bytes_of;

constexpr std::string_view kLarge = "0123456789abcdef";

// Reads `bytes` in parts of at most `part`.
RdbFileReader::Read reader_of(std::span<const std::byte> bytes, std::size_t part) {
  return [bytes, part](std::span<std::byte> into) mutable -> Result<std::size_t> {
    const std::size_t count = std::min({part, into.size(), bytes.size()});
    std::ranges::copy(bytes.first(count), into.begin());
    bytes = bytes.subspan(count);
    return count;
  };
}

struct Walked {
  std::vector<RdbKey> keys;
  RdbFacts facts;
  std::optional<Error> error;
};

Walked walk(std::span<const std::byte> bytes, std::size_t part = 7) {
  RdbFileReader file(reader_of(bytes, part));
  Walked walked;
  for (;;) {
    auto key = file.next();
    if (!key) {
      walked.error = key.error();
      EXPECT_EQ(file.next().error().detail, walked.error->detail);
      break;
    }
    if (!*key) {
      EXPECT_EQ(file.offset(), bytes.size());
      EXPECT_FALSE(file.next().value().has_value());
      break;
    }
    walked.keys.push_back(std::move(**key));
  }
  walked.facts = file.facts();
  return walked;
}

/// Composes a file.
class File {
 public:
  explicit File(std::string_view header = "REDIS0012") { raw(header); }

  File& byte(unsigned byte) {
    bytes_.push_back(static_cast<std::byte>(byte));
    return *this;
  }
  File& raw(std::string_view text) {
    append(bytes_, bytes_of(text));
    return *this;
  }
  File& length(std::uint64_t number) {
    append_length(bytes_, number);
    return *this;
  }
  File& text(std::string_view text) {
    append_string(bytes_, bytes_of(text));
    return *this;
  }
  File& key(unsigned type, std::string_view name) { return byte(type).text(name); }
  ByteBuffer end(bool has_checksum = true) {
    byte(255);
    append_number(bytes_, has_checksum ? crc64(bytes_) : 0);
    return bytes_;
  }

 private:
  ByteBuffer bytes_;
};

// Every type and opcode, once.
ByteBuffer file_of_all() {
  File file;
  file.byte(250).text("redis-ver").text("7.4.1").byte(250).text("redis-bits").raw("\xc0\x40");
  file.byte(245).text("#!lua name=lib");
  file.byte(247).length(module_id("some-aux0", 3)).length(2).length(1).length(5).text("of a module").length(0);
  file.byte(254).length(0).byte(251).length(20).length(1);
  file.byte(244).length(1).length(20).length(1);
  file.byte(252).raw(kLarge.substr(0, 8)).byte(248).length(77).key(0, "string").raw("\xc2").raw("\1\2\3\4");
  file.byte(253).raw(std::string_view("\1\0\0\0", 4)).byte(249).byte(5).key(1, "list").length(2).text("a").text("b");
  file.key(2, "set").length(1).text("a");
  file.key(3, "zset").length(3).text("a").byte(3).raw("1.5").text("b").byte(254).text("c").byte(253);
  file.key(4, "hash").length(1).text("f").text("v");
  file.key(5, "zset 2").length(1).text("a").raw(kLarge.substr(0, 8));
  file.key(7, "module").length(module_id("unknown-t", 9)).length(1).length(5).length(2).length(6).length(3);
  file.raw(kLarge.substr(0, 4)).length(4).raw(kLarge.substr(0, 8)).length(5).text("bytes").length(0);
  for (const unsigned type : {9U, 10U, 11U, 12U, 13U, 16U, 17U, 20U}) {
    file.key(type, "packed").text(kLarge);
  }
  file.key(14, "quicklist").length(1).text("ziplist");
  file.byte(254).length(3);
  for (const unsigned version : {1U, 2U, 3U}) {
    file.key(version == 1 ? 15U : 15U + 2 * version, "stream");
    file.length(1).text(kLarge).text("listpack");
    for (unsigned i = 0; i < (version >= 2 ? 8U : 3U); ++i) {
      file.length(i);
    }
    file.length(1).text("group").length(1).length(2);
    if (version >= 2) {
      file.length(3);
    }
    file.length(1).raw(kLarge).raw(kLarge.substr(0, 8)).length(1);
    file.length(1).text("consumer").raw(version >= 3 ? kLarge : kLarge.substr(0, 8)).length(1).raw(kLarge);
  }
  file.key(18, "quicklist 2").length(1).length(2).text("listpack");
  file.key(24, "hash with times").raw(kLarge.substr(0, 8)).length(1).length(9).text("f").text("v");
  file.byte(243).length(1).raw(kLarge.substr(0, 4)).length(2).length(9).length(0);
  file.key(25, "packed hash with times").raw(kLarge.substr(0, 8)).text("listpack");
  return file.end();
}

TEST(RdbFile, every_type_and_opcode_is_walked_in_reads_of_any_size) {
  const ByteBuffer bytes = file_of_all();
  for (const std::size_t part : {std::size_t{1}, std::size_t{5}, bytes.size()}) {
    const Walked walked = walk(bytes, part);
    ASSERT_FALSE(walked.error) << walked.error->message();
    ASSERT_EQ(walked.keys.size(), 22U);
    EXPECT_EQ(walked.keys[0].name, "string");
    EXPECT_EQ(walked.keys[0].expires_ms, 0x3736353433323130);
    EXPECT_EQ(walked.keys[1].expires_ms, 1000);
    EXPECT_EQ(walked.keys[2].expires_ms, std::nullopt);
    EXPECT_EQ(walked.keys[6].module, (ModuleType{.name = "unknown-t", .encver = 9}));
    EXPECT_EQ(walked.keys[6].database, 0U);
    EXPECT_EQ(walked.keys.back().database, 3U);
    EXPECT_EQ(walked.keys.back().kind, RdbKind::hash);
    EXPECT_EQ(walked.facts.engine, "redis 7.4.1");
    EXPECT_EQ(walked.facts.version, 12U);
    EXPECT_TRUE(walked.facts.has_checksum);
    EXPECT_TRUE(walked.facts.has_redis_only);
    EXPECT_EQ(walked.facts.aux_modules, (std::set<std::string>{"some-aux0"}));
  }
}

TEST(RdbFile, truncated_files_and_changed_bytes_are_errors) {
  const ByteBuffer bytes = file_of_all();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_TRUE(walk(std::span(bytes).first(i)).error) << i;
    ByteBuffer changed = bytes;
    changed[i] ^= std::byte{1};
    // A version with the same types is no less valid, but the checksum includes it.
    EXPECT_TRUE(walk(changed).error) << i;
  }
  ByteBuffer longer = bytes;
  longer.push_back(std::byte{'*'});
  EXPECT_NE(walk(longer).error->detail.find("AOF"), std::string::npos);
}

TEST(RdbFile, changed_bytes_without_a_checksum_end_in_keys_or_an_error) {
  ByteBuffer bytes = file_of_all();
  std::fill(bytes.end() - 8, bytes.end(), std::byte{0});
  EXPECT_FALSE(walk(bytes).facts.has_checksum);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const unsigned byte : {0U, 1U, 63U, 64U, 127U, 128U, 129U, 195U, 255U}) {
      ByteBuffer changed = bytes;
      changed[i] = static_cast<std::byte>(byte);
      RdbFileReader file(reader_of(changed, 64));
      static_cast<void>(survey_rdb(file));
    }
  }
}

TEST(RdbFile, valkey_and_redis_give_one_number_two_meanings) {
  File valkey("VALKEY080");
  valkey.byte(243).text("an import of slots").length(1).length(0).length(99);
  valkey.key(22, "hash").length(1).text("f").text("v").raw(kLarge.substr(0, 8));
  const Walked walked = walk(valkey.end());
  ASSERT_FALSE(walked.error) << walked.error->message();
  EXPECT_EQ(walked.keys.at(0).kind, RdbKind::hash);
  EXPECT_TRUE(walked.facts.is_valkey);

  File redis;
  redis.key(22, "hash").length(0);
  const Walked refused = walk(redis.end());
  EXPECT_EQ(refused.error->code, ErrorCode::unsupported_version);
  EXPECT_EQ(refused.error->detail, "unknown object type 22 at offset 9");
}

TEST(RdbFile, what_is_not_a_file_of_a_known_version_is_refused) {
  for (const std::string_view header : {"", "REDIS", "SQLite format", "REDIS00x1", "REDIS0000", "VALKEY0-1"}) {
    EXPECT_EQ(walk(File(header).end()).error->code, ErrorCode::corrupt) << header;
  }
  for (const std::string_view header : {"REDIS0014", "VALKEY081", "VALKEY079"}) {
    EXPECT_EQ(walk(File(header).end()).error->code, ErrorCode::unsupported_version) << header;
  }
  EXPECT_FALSE(walk(File("REDIS0011").end()).error);
  // Before version 5 there is no checksum.
  EXPECT_FALSE(walk(bytes_of("REDIS0004\xff")).error);
}

TEST(RdbFile, memory_follows_the_bytes_that_are_there) {
  File file;
  file.key(7, "k").length(module_id("MBbloomCF", 4));
  file.length(2).length(1).length(2).length(1).length(5).byte(0x81).raw("\x10").raw(kLarge.substr(0, 7));
  const ByteBuffer bytes = file.end();
  RdbFileReader reader(reader_of(bytes, 1000));
  const auto survey = survey_rdb(reader);
  ASSERT_FALSE(survey.has_value());
  EXPECT_EQ(survey.error().code, ErrorCode::corrupt);
}

// A field's type is a length, of which engines write the shortest form.
TEST(RdbFile, fields_are_read_whole_whatever_the_form_of_their_types) {
  for (const std::string_view type :
       {std::string_view("\x05"), std::string_view("\x40\x05"), std::string_view("\x80\0\0\0\x05", 5)}) {
    File file;
    file.key(7, "k").length(module_id("unknown-t", 0)).raw(type).text(std::string(1000, 'x')).length(0);
    const ByteBuffer bytes = file.end();
    for (const std::size_t part : {std::size_t{1}, std::size_t{40}, bytes.size()}) {
      RdbFileReader reader(reader_of(bytes, part));
      ASSERT_TRUE(reader.next().value().has_value());
      const auto size = reader.read([](FieldReader& fields) -> Result<std::size_t> {
        MANKAI_ASSIGN(const auto string, fields.string());
        return string.size();
      });
      EXPECT_EQ(size.value_or(0), 1000U);
      EXPECT_FALSE(reader.next().value().has_value());
    }
  }
}

std::string setup_file(std::string_view name) {
  std::ifstream file(mankai::test::shared_data("redisbloom") / (std::string(name) + ".rdb.gz"), std::ios::binary);
  return test::inflated(std::string((std::istreambuf_iterator<char>(file)), {}));
}

TEST(TakeoverSurvey, a_file_of_redisbloom_is_taken_over_whole) {
  MANKAI_SKIP_WITHOUT(mankai::test::shared_data("redisbloom/setup.rdb.gz"));
  const std::string file = setup_file("setup");
  RdbFileReader reader(reader_of(bytes_of(file), 4096));
  const auto survey = survey_rdb(reader);
  ASSERT_TRUE(survey.has_value()) << survey.error().message();
  const auto keys = [&](const char* type) { return survey->types.at(type).keys; };
  EXPECT_EQ(keys("MBbloom--"), 16U);
  EXPECT_EQ(keys("MBbloomCF"), 13U);
  EXPECT_EQ(keys("CMSk-TYPE"), 9U);
  EXPECT_EQ(keys("TopK-TYPE"), 8U);
  EXPECT_EQ(survey->refused(), 0U) << survey->findings.at(0).reason;
  for (const SurveyFinding& finding : survey->findings) {
    ADD_FAILURE() << finding.key << ": " << finding.reason;
  }
  EXPECT_EQ(survey->databases, (std::set<std::uint64_t>{0, 1}));
  EXPECT_EQ(survey->bytes, file.size());
  EXPECT_EQ(survey->engines(), "Redis 7.0 and later, Valkey 7.2 and later");
}

TEST(TakeoverSurvey, t_digests_are_refused_with_their_name) {
  MANKAI_SKIP_WITHOUT(mankai::test::shared_data("redisbloom/tdigest.rdb.gz"));
  const std::string file = setup_file("tdigest");
  RdbFileReader reader(reader_of(bytes_of(file), 4096));
  const auto survey = survey_rdb(reader);
  ASSERT_TRUE(survey.has_value()) << survey.error().message();
  EXPECT_EQ(survey->refused(), 1U);
  EXPECT_EQ(survey->keys[static_cast<std::size_t>(RdbKind::string)], 1U);
  ASSERT_EQ(survey->findings.size(), 1U);
  EXPECT_TRUE(survey->findings[0].is_refused);
  EXPECT_EQ(survey->findings[0].type.name, "TDIS-TYPE");
}

// A DUMP payload is the value's type and bytes, and a footer of 10.
ByteBuffer file_of(std::string_view payload) {
  return File()
      .byte(static_cast<unsigned char>(payload.front()))
      .text("key")
      .raw(payload.substr(1, payload.size() - 11))
      .end();
}

Result<TakeoverSurvey> survey_of(const ByteBuffer& bytes) {
  RdbFileReader reader(reader_of(bytes, 100));
  return survey_rdb(reader);
}

TEST(TakeoverSurvey, forged_values_are_refused_and_the_next_key_is_read) {
  const auto path = mankai::test::shared_data("redisbloom/forged.json.gz");
  MANKAI_SKIP_WITHOUT(path);
  std::size_t payloads = 0;
  for (const test::Json& forged : test::read_fixture(path)) {
    if (forged["command"][0] != "RESTORE") {
      continue;
    }
    ++payloads;
    const auto survey = survey_of(file_of(test::unpacked(forged["data"])));
    // A value that breaks off takes the rest of the file with it.
    EXPECT_EQ(survey && survey->refused() == 0, forged["ask"].get<std::string>().starts_with("accept"))
        << forged["name"];
  }
  EXPECT_GT(payloads, 0U);
}

TEST(TakeoverSurvey, older_encodings_are_told_apart) {
  const auto path = mankai::test::shared_data("redisbloom/older.json.gz");
  MANKAI_SKIP_WITHOUT(path);
  for (const test::Json& older : test::read_fixture(path)) {
    const auto survey = survey_of(file_of(test::unpacked(older["payload"])));
    ASSERT_TRUE(survey.has_value()) << survey.error().message();
    const auto encver = older["encver"].get<unsigned>();
    EXPECT_EQ(survey->types.at(older["type"]).encvers, (std::map<unsigned, std::uint64_t>{{encver, 1}}));
    const bool is_refused = encver > 4 || (older["type"] == "MBbloomCF" && encver < 4);
    EXPECT_EQ(survey->refused(), is_refused ? 1U : 0U) << older["note"];
    EXPECT_EQ(survey->doubtful(), 0U) << older["note"];
  }
}

TEST(TakeoverSurvey, filters_of_valkey_bloom_are_taken_over) {
  const auto path = mankai::test::shared_data("redisbloom/valkey-bloom.json.gz");
  MANKAI_SKIP_WITHOUT(path);
  for (const test::Json& filter : test::read_fixture(path)) {
    const auto survey = survey_of(file_of(test::unpacked(filter["dump"])));
    ASSERT_TRUE(survey.has_value()) << survey.error().message();
    EXPECT_EQ(survey->refused() + survey->doubtful(), 0U);
    EXPECT_EQ(survey->types.at("bloomfltr").encvers, (std::map<unsigned, std::uint64_t>{{1, 1}}));
  }
}

template <class Filter>
Result<TakeoverSurvey> survey_of(std::string_view type, const Filter& filter) {
  DumpWriter writer(type, 4);
  filter.save(writer);
  const ByteBuffer payload = writer.finish();
  return survey_of(file_of({reinterpret_cast<const char*>(payload.data()), payload.size()}));
}

// As RedisBloom's replicas are, which got a header without the chunks.
TEST(TakeoverSurvey, filters_whose_cells_did_not_arrive_are_doubtful) {
  auto bloom = BloomChain::create({.keys = 100}).value();
  auto cuckoo = CuckooChain::create(CuckooShape::of_capacity(1000).value()).value();
  for (int i = 0; i < 500; ++i) {
    static_cast<void>(bloom.add("key" + std::to_string(i)));
    static_cast<void>(cuckoo.add("key" + std::to_string(i)));
  }
  EXPECT_EQ(survey_of("MBbloom--", bloom)->doubtful(), 0U);
  EXPECT_EQ(survey_of("MBbloomCF", cuckoo)->doubtful(), 0U);
  EXPECT_EQ(survey_of("MBbloom--", BloomChain::from_header(bloom.header()).value())->doubtful(), 1U);
  const auto survey = survey_of("MBbloomCF", CuckooChain::create(cuckoo.shape()).value());
  EXPECT_EQ(survey->doubtful(), 1U);
  EXPECT_EQ(survey->findings.at(0).reason, "it counts 500 items, but has 0 cells in use");
}

}  // namespace
}  // namespace mankai::takeover
