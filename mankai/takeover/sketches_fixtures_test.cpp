/// CF, CMS and TOPK against what RedisBloom 2.8.20 saved and answered. Each key is made by its commands, and also
/// loaded from its DUMP payload: both must have its facts, before and after the commands that follow.

#include <algorithm>
#include <string>
#include <vector>

#include "mankai/takeover/dump.hpp"
#include "mankai/takeover/fields_test_support.hpp"
#include "mankai/takeover/replay_test_support.hpp"

namespace mankai::takeover::test {
namespace {

std::filesystem::path fixture_path(const std::string& name) {
  return mankai::test::shared_data("redisbloom") / (name + ".json.gz");
}

template <class Value>
Result<Value> load(std::string_view payload) {
  MANKAI_ASSIGN(const DumpReader dump, DumpReader::open(bytes_of(payload)));
  return dump.read([&dump](FieldReader& fields) { return Value::load(fields, dump.type().encver); });
}

/// What a value saves is what RedisBloom saved, whose pointers in a list's heap are like any state of the generator.
template <class Value>
void expect_saved_as(const Value& value, const Json& packed) {
  const std::string payload = unpacked(packed);
  const auto theirs = load<Value>(payload);
  ASSERT_TRUE(theirs) << theirs.error().detail;
  auto fields = fields_of(value);
  const auto wanted = fields_of(*theirs);
  if constexpr (std::is_same_v<Value, HeavyKeeper>) {
    std::ranges::copy(std::span(std::get<Bytes>(wanted[5])).subspan(8, 8), std::get<Bytes>(fields[5]).begin() + 8);
  }
  EXPECT_EQ(fields, wanted);
}

/// The fixtures have the counts of the first items.
template <class Count>
void expect_counts(std::vector<Count> counts, const Json& wanted) {
  ASSERT_LE(wanted.size(), counts.size());
  counts.resize(wanted.size());
  EXPECT_EQ(Json(counts), wanted);
}

void expect_probe(const CuckooChain& filter, const Json& probe) {
  const Items items(probe["items"]);
  EXPECT_EQ(answers_of(filter, items.views()), probe["exists"].get<std::string>());
  std::vector<std::uint64_t> counts;
  for (const std::string_view key : items.views()) {
    counts.push_back(filter.count(key));
    EXPECT_EQ(filter.may_contain(key), counts.back() != 0);
  }
  expect_counts(counts, probe.value("counts", Json::array()));
}

Chunks chunks_of(const CuckooChain& filter) {
  if (filter.shape().items == 0) {  // RedisBloom dumps no empty filter
    return {};
  }
  const auto header = filter.shape().header();
  Chunks chunks{{1, ByteBuffer(header.begin(), header.end())}};
  for (auto chunk = filter.chunk(1); chunk.iterator != 0; chunk = filter.chunk(chunk.iterator)) {
    chunks.emplace_back(chunk.iterator, ByteBuffer(chunk.bytes.begin(), chunk.bytes.end()));
  }
  return chunks;
}

void expect_facts(const CuckooChain& filter, const Json& facts) {
  const CuckooShape& shape = filter.shape();
  EXPECT_EQ(
      Json({"+Size", shape.redisbloom_bytes(), "+Number of buckets", shape.buckets, "+Number of filters", shape.filters,
            "+Number of items inserted", shape.items, "+Number of items deleted", shape.deletes, "+Bucket size",
            shape.bucket_cells, "+Expansion rate", shape.expansion, "+Max iterations", shape.max_iterations}),
      facts["info"]);
  EXPECT_EQ(shape.debug_text(), text_of(facts["debug"]));
  EXPECT_EQ(filter.occupied_cells(), shape.items);
  EXPECT_EQ(sha256_of(chunks_of(filter)), facts["chunks_sha256"].get<std::string>());
  for (const Json& probe : facts["probes"]) {
    expect_probe(filter, probe);
  }
  if (facts.contains("dump")) {
    expect_saved_as(filter, facts["dump"]);
  }
}

void expect_facts(const CountMin& sketch, const Json& facts) {
  EXPECT_EQ(Json({"+width", sketch.shape().width, "+depth", sketch.shape().depth, "+count",
                  static_cast<std::int64_t>(sketch.total())}),
            facts["info"]);
  for (const Json& probe : facts["probes"]) {
    std::vector<std::uint64_t> counts;
    const Items items(probe["items"]);
    for (const std::string_view item : items.views()) {
      counts.push_back(sketch.estimate(item));
    }
    expect_counts(counts, probe["counts"]);
  }
  if (facts.contains("dump")) {
    expect_saved_as(sketch, facts["dump"]);
  }
}

using List = std::vector<std::pair<std::string, std::uint32_t>>;

List list_of(const HeavyKeeper& top) {
  List list;
  for (const HeavyKeeper::Item& item : top.list()) {
    list.emplace_back(item.text, item.count);
  }
  return list;
}

List list_of(const Json& reply) {
  List list;
  for (std::size_t i = 0; i < reply.size(); i += 2) {
    list.emplace_back(text_of(reply[i]), reply[i + 1].get<std::uint32_t>());
  }
  return list;
}

void expect_facts(const HeavyKeeper& top, const Json& facts) {
  const HeavyKeeperShape& shape = top.shape();
  EXPECT_EQ(Json({shape.most, shape.width, shape.depth}), Json({facts["info"][1], facts["info"][3], facts["info"][5]}));
  EXPECT_EQ(shape.decay, std::stod(text_of(facts["info"][7])));
  EXPECT_EQ(list_of(top), list_of(facts["list"]));
  for (const Json& probe : facts["probes"]) {
    std::string listed;
    std::vector<std::uint32_t> counts;
    const Items items(probe["items"]);
    for (const std::string_view item : items.views()) {
      listed += top.is_listed(item) ? '1' : '0';
      counts.push_back(top.count(item));
    }
    EXPECT_EQ(listed, probe["in"].get<std::string>());
    expect_counts(counts, probe["counts"]);
  }
  if (facts.contains("dump")) {
    expect_saved_as(top, facts["dump"]);
  }
}

template <class Value>
std::map<std::string, Value>& values_of(Replay& replay) {
  if constexpr (std::is_same_v<Value, CuckooChain>) {
    return replay.cuckoos;
  } else if constexpr (std::is_same_v<Value, CountMin>) {
    return replay.sketches;
  } else {
    return replay.tops;
  }
}

template <class Value>
void expect_made_and_loaded_alike(std::string_view family, std::size_t wanted) {
  MANKAI_SKIP_WITHOUT(fixture_path("keys"));
  const Json fixtures = read_fixture(fixture_path("keys"));
  Replay made;
  std::size_t keys = 0;
  for (const Json& key : fixtures["keys"]) {
    if (key["family"] != family) {
      continue;
    }
    SCOPED_TRACE(key["key"]);
    const auto name = key["key"].get<std::string>();
    const Json& facts = key["facts"];
    auto loaded = load<Value>(unpacked(facts["dump"]));
    ASSERT_TRUE(loaded) << loaded.error().detail;
    expect_facts(*loaded, facts);
    ++keys;
    const auto& steps = key["setup"];
    const bool has_chance = std::is_same_v<Value, HeavyKeeper> && text_of(facts["info"].back()) != "1";
    if (!has_chance) {
      for (const Json& step : steps) {
        made.run_step(step);
      }
      const Value& value = values_of<Value>(made).at(name);
      expect_facts(value, facts);
    }
    if (key.contains("then")) {
      Replay then;
      values_of<Value>(then).emplace(name, *std::move(loaded));
      for (const Json& step : key["then"]) {
        then.run_step(step);
      }
      expect_facts(values_of<Value>(then).at(name), key["facts_then"]);
    }
  }
  EXPECT_EQ(keys, wanted);
}

TEST(RedisBloomFixtures, cuckoo_filters_answer_grow_and_compact_alike) {
  expect_made_and_loaded_alike<CuckooChain>("CF", 13);
}

TEST(RedisBloomFixtures, count_min_sketches_count_and_overflow_alike) {
  expect_made_and_loaded_alike<CountMin>("CMS", 9);
}

TEST(RedisBloomFixtures, top_lists_count_and_expel_alike_without_chance) {
  expect_made_and_loaded_alike<HeavyKeeper>("TOPK", 8);
}

TEST(RedisBloomFixtures, the_stream_of_a_primary_leads_to_the_same_values) {
  MANKAI_SKIP_WITHOUT(fixture_path("keys"));
  const Json fixtures = read_fixture(fixture_path("stream"));
  Replay replay;
  for (const Json& step : fixtures["commands"]) {
    if (const auto name = step["do"][0].get<std::string>(); Replay::has(name)) {
      replay.run_step(step);
    }
  }
  std::size_t keys = 0;
  for (const Json& key : fixtures["keys"]) {
    SCOPED_TRACE(key["key"]);
    const auto name = key["key"].get<std::string>();
    if (key["family"] == "CF") {
      expect_facts(replay.cuckoos.at(name), key["facts"]);
    } else if (key["family"] == "CMS") {
      expect_facts(replay.sketches.at(name), key["facts"]);
    } else if (key["family"] == "TOPK") {
      expect_facts(replay.tops.at(name), key["facts"]);
    }
    keys += key["family"] == "BF" ? 0 : 1;
  }
  EXPECT_EQ(keys, 8U);
}

TEST(RedisBloomFixtures, chunks_fill_a_filter_in_any_order) {
  MANKAI_SKIP_WITHOUT(fixture_path("keys"));
  const Json fixtures = read_fixture(fixture_path("keys"));
  for (const Json& key : fixtures["keys"]) {
    if (key["family"] != "CF" || key["facts"]["chunks"].empty()) {
      continue;
    }
    SCOPED_TRACE(key["key"]);
    std::vector<Json> chunks = key["facts"]["chunks"];
    const std::string header = unpacked(chunks[0][1]);
    auto shape = CuckooShape::of_header(bytes_of(header));
    ASSERT_TRUE(shape) << shape.error().detail;
    auto filter = CuckooChain::create(*shape);
    ASSERT_TRUE(filter) << filter.error().detail;
    for (std::size_t i = chunks.size() - 1; i > 0; --i) {
      const std::string bytes = unpacked(chunks[i][1]);
      EXPECT_TRUE(filter->load_chunk(chunks[i][0].get<std::uint64_t>(), bytes_of(bytes)));
    }
    expect_facts(*filter, key["facts"]);
  }
}

TEST(RedisBloomFixtures, top_items_with_zero_bytes_and_empty_and_hidden_ones) {
  MANKAI_SKIP_WITHOUT(fixture_path("keys"));
  const Json fixtures = read_fixture(fixture_path("odd"));
  for (const Json& key : fixtures["topk"]) {
    SCOPED_TRACE(key["key"]);
    const std::string payload = unpacked(key["dump"]);
    const auto top = load<HeavyKeeper>(payload);
    ASSERT_TRUE(top) << top.error().detail;
    // The payload has items up to their first 0 byte, as RedisBloom saves them. The empty item is no nil here.
    EXPECT_EQ(list_of(*top), list_of(key["list"]));
    const Json& behind = key["2.8.20 behind RESTORE"]["query"];
    for (std::size_t i = 0; i < key["items"].size(); ++i) {
      EXPECT_EQ(top->is_listed(from_hex(key["items"][i].get<std::string>())), behind[i] == 1) << i;
    }
  }
}

TEST(RedisBloomFixtures, older_cuckoo_filters_are_refused_with_the_reason) {
  MANKAI_SKIP_WITHOUT(fixture_path("keys"));
  std::size_t refused = 0;
  for (const Json& each : read_fixture(fixture_path("older"))) {
    if (each["type"] == "MBbloomCF") {
      const auto filter = load<CuckooChain>(unpacked(each["payload"]));
      EXPECT_EQ(filter.has_value(), each["encver"] == 4);
      if (!filter) {
        EXPECT_EQ(filter.error().code, ErrorCode::unsupported_version);
        EXPECT_TRUE(filter.error().detail.contains("another hash")) << filter.error().detail;
        ++refused;
      } else if (each.contains("items")) {
        const Items items(each["items"]);
        for (const std::string_view item : items.views()) {
          EXPECT_TRUE(filter->may_contain(item));
        }
      }
    }
  }
  EXPECT_EQ(refused, 1U);
}

TEST(RedisBloomFixtures, forged_values_are_refused) {
  MANKAI_SKIP_WITHOUT(fixture_path("keys"));
  std::size_t checked = 0;
  for (const Json& each : read_fixture(fixture_path("forged"))) {
    const auto name = each["name"].get<std::string>();
    const auto ask = each["ask"].get<std::string>();
    const std::string data = unpacked(each["data"]);
    SCOPED_TRACE(name);
    bool is_accepted = false;
    if (name.starts_with("cf: ")) {
      const auto shape = CuckooShape::of_header(bytes_of(data));
      // The caller compares the shape's cells with its limit before it makes the filter.
      is_accepted = shape.has_value() && shape->cells() < std::uint64_t{1} << 30;
    } else if (name.starts_with("restore: cf")) {
      is_accepted = load<CuckooChain>(data).has_value();
    } else if (name.starts_with("restore: cms")) {
      is_accepted = load<CountMin>(data).has_value();
    } else if (name.starts_with("restore: topk")) {
      is_accepted = load<HeavyKeeper>(data).has_value();
    } else {
      continue;
    }
    ++checked;
    if (ask != "accept or refuse") {
      EXPECT_EQ(is_accepted, ask.starts_with("accept"));
    }
  }
  EXPECT_EQ(checked, 43U);
}

}  // namespace
}  // namespace mankai::takeover::test
