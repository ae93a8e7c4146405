// Stores as a killed writer left them, and one that was closed, pinned byte for byte: what is on somebody's disk opens
// for ever, and gives the same filter. Writing the files anew is legitimate in one case only: see golden_test.cpp.
//
// To write the files: golden_test --gtest_also_run_disabled_tests --gtest_filter='StoreGolden.*write*'

#include <gtest/gtest.h>
#include <xxhash.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "mankai/file/file.hpp"
#include "mankai/store/filter_file.hpp"
#include "mankai/store/journal_file.hpp"
#include "mankai/store/journal_reader.hpp"
#include "mankai/store/store.hpp"
#include "mankai/store/store_footer_format.hpp"
#include "tests/golden/golden_test_support.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai::test::golden::store {
namespace {

namespace fs = std::filesystem;
using Views = std::vector<std::string_view>;

const Views kKeys = {"a", "b", "c", "https://example.org/d"};
constexpr std::array<std::uint64_t, 4> kIds = {10, 20, 20, 35};
constexpr std::array<std::uint32_t, 4> kValues = {1, 2, 3, 0xffffffffU};
constexpr double kStrength = 0.75;

Time at(int seconds) { return Time(std::chrono::seconds(seconds)); }

/// A store of which the golden folder has the files.
struct Golden {
  const char* name;
  const char* spec;
  std::uint64_t sequence;
  const char* position;
  std::uint32_t footer_version;   ///< only files of the present one are written anew
  std::uint32_t journal_version;  ///< likewise; 0: it has none
  std::uint64_t image_hash;       ///< XXH3_64 of the image
};

constexpr std::array kGolden = {
    Golden{.name = "store_closed",
           .spec = "bloom:keys=100,fpr=0.01,hash=xxh3,seed=1",
           .sequence = 5,
           .position = "p1",
           .footer_version = 1,
           .journal_version = 0,
           .image_hash = 0x7150cdc90ce533acU},
    Golden{.name = "store_counting",
           .spec = "scalable-counting-bloom:keys=2,fpr=0.01,hash=xxh3,seed=1",
           .sequence = 16,
           .position = "after both",
           .footer_version = 1,
           .journal_version = 1,
           .image_hash = 0x725d0e89d0cb945bU},
    Golden{.name = "store_paths",
           .spec = "layered-url-bloom:keys=10,fpr=0.01,hash=xxh3,seed=1",
           .sequence = 4,
           .position = "",
           .footer_version = 1,
           .journal_version = 1,
           .image_hash = 0x159a5903f7d9edadU},
    Golden{.name = "store_top",
           .spec = "decayed-top:bytes=4096,half-life=1h,hash=xxh3,seed=1",
           .sequence = 9,
           .position = "",
           .footer_version = 2,
           .journal_version = 1,
           .image_hash = 0x13fac92b6065e587U},
    Golden{.name = "store_values",
           .spec = "recent-values:slots=64,hash=xxh3,seed=1",
           .sequence = 8,
           .position = "",
           .footer_version = 1,
           .journal_version = 1,
           .image_hash = 0xff370440ec032d92U},
    Golden{.name = "store_closed_2",
           .spec = "bloom:keys=100,fpr=0.01,hash=xxh3,seed=1",
           .sequence = 5,
           .position = "p1",
           .footer_version = 2,
           .journal_version = 0,
           .image_hash = 0x7150cdc90ce533acU},
    Golden{.name = "store_counting_2",
           .spec = "scalable-counting-bloom:keys=2,fpr=0.01,hash=xxh3,seed=1",
           .sequence = 16,
           .position = "after both",
           .footer_version = 2,
           .journal_version = 1,
           .image_hash = 0x725d0e89d0cb945bU},
    Golden{.name = "store_single",
           .spec = "scalable-counting-bloom:keys=2,fpr=0.01,hash=xxh3,seed=1",
           .sequence = 14,
           .position = "",
           .footer_version = 2,
           .journal_version = 2,
           .image_hash = 0x36fa14312372032dU},
};

// What was done to it.
void change(const std::string& name, Store& store) {
  ASSERT_TRUE(store.insert(kKeys));
  if (name.starts_with("store_closed")) {
    ASSERT_TRUE(store.commit("p1"));
    ASSERT_TRUE(store.close());
  } else if (name.starts_with("store_counting")) {
    std::array<EraseResult, 4> results{};
    store.begin();
    ASSERT_TRUE(store.insert(kKeys, kIds));
    ASSERT_TRUE(store.erase(kKeys, kIds, results));
    ASSERT_TRUE(store.commit("after both"));
    ASSERT_TRUE(store.erase(kKeys, results));
  } else if (name == "store_single") {
    std::array<EraseResult, 1> result{};
    for (std::size_t i = 0; i < kKeys.size(); ++i) {
      ASSERT_TRUE(store.insert(Views{kKeys[i]}));
      ASSERT_TRUE(store.insert(Views{kKeys[i]}, std::array{kIds[i]}));
    }
    store.begin();
    ASSERT_TRUE(store.erase(Views{kKeys[0]}, result));
    ASSERT_TRUE(store.erase(Views{kKeys[1]}, std::array{kIds[1]}, result));
    ASSERT_TRUE(store.commit());
  } else if (name == "store_top") {
    ASSERT_TRUE(store.insert(kKeys, std::array{at(10), at(7200), at(7300), at(60)}));
    ASSERT_TRUE(store.advance(at(10'000)));
  } else if (name == "store_values") {
    ASSERT_TRUE(store.put(kKeys, kValues, kStrength));
  }
}

std::string journal_of(const fs::path& path) { return path.string() + "-journal"; }

std::uint64_t hash_of(const AnyFilter& filter) { return sum_of(filter.to_bytes()); }

class StoreGoldenTest : public testing::TestWithParam<Golden> {};

TEST_P(StoreGoldenTest, a_reader_finds_the_filter_that_was_written) {
  const auto filter = open_filter(path_of(GetParam().name), Access::query);
  ASSERT_TRUE(filter) << filter.error().message();
  EXPECT_EQ(hash_of(*filter), GetParam().image_hash);
}

TEST_P(StoreGoldenTest, the_footer_says_what_was_written) {
  const auto found = verify_store(path_of(GetParam().name));
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->info.footer_version, GetParam().footer_version);
  EXPECT_EQ(found->info.damaged_footers, 0U);
}

TEST_P(StoreGoldenTest, the_journal_is_of_the_version_that_was_written) {
  const std::string journal = journal_of(path_of(GetParam().name));
  ASSERT_EQ(fs::exists(journal), GetParam().journal_version != 0);
  if (GetParam().journal_version != 0) {
    EXPECT_EQ(read_journal_superblock(journal)->version, GetParam().journal_version);
  }
}

TEST_P(StoreGoldenTest, a_writer_goes_on_where_the_old_one_stood) {
  const TemporaryFolder folder;
  const fs::path from = path_of(GetParam().name);
  fs::copy_file(from, folder.file("store.mk"));
  if (fs::exists(journal_of(from))) {
    fs::copy_file(journal_of(from), journal_of(folder.file("store.mk")));
  }
  auto store = Store::open(folder.file("store.mk"));
  ASSERT_TRUE(store) << store.error().message();
  EXPECT_EQ(hash_of(store->filter()), GetParam().image_hash);
  EXPECT_EQ(store->sequence(), GetParam().sequence);
  EXPECT_EQ(store->position().view(), GetParam().position);
  EXPECT_EQ(store->recovery().bytes_dropped, 0U) << store->recovery().reason;
  ASSERT_TRUE(store->insert(kKeys));
  EXPECT_TRUE(store->close());
  EXPECT_EQ(inspect_store(folder.file("store.mk"))->info.footer_version, kFooterVersion);
}

INSTANTIATE_TEST_SUITE_P(All, StoreGoldenTest, testing::ValuesIn(kGolden),
                         [](const auto& golden) { return std::string(golden.param.name); });

TEST(StoreGolden, DISABLED_write) {
  for (const Golden& golden : kGolden) {
    const bool has_old_journal = golden.journal_version != 0 && golden.journal_version != kJournalVersion;
    if (golden.footer_version != kFooterVersion || has_old_journal) {
      continue;
    }
    const TemporaryFolder folder;
    const fs::path path = folder.file("store.mk");
    auto filter = create_filter(parse_spec(golden.spec).value());
    ASSERT_TRUE(filter) << filter.error().message();
    Store store = Store::create(path, std::move(*filter)).value();
    change(golden.name, store);
    const fs::path into = path_of(golden.name);
    fs::copy_file(path, into, fs::copy_options::overwrite_existing);
    if (fs::exists(journal_of(path))) {
      // The room that was taken for more is not worth keeping.
      const Region bytes = read_file(journal_of(path)).value();
      JournalReader reader = JournalReader::open(bytes.bytes()).value();
      while (reader.next()) {
      }
      fs::copy_file(journal_of(path), journal_of(into), fs::copy_options::overwrite_existing);
      fs::resize_file(journal_of(into), reader.offset() + sizeof(RecordHeader));
    }
    std::printf("%s: sequence %llu, image_hash 0x%016llxU\n", golden.name,
                static_cast<unsigned long long>(store.sequence()),
                static_cast<unsigned long long>(hash_of(store.filter())));
  }
}

}  // namespace
}  // namespace mankai::test::golden::store
