#include <filesystem>
#include <fstream>

#include "mankai/c/c_test_support.hpp"
#include "mankai/store/store_footer_format.hpp"
#include "tests/support/flip_byte.hpp"

namespace mankai::c {
namespace {

class CFiles : public testing::Test {
 protected:
  Handle create_file(const std::string& spec, const mankai_file_options* options = nullptr) {
    mankai_filter* filter = nullptr;
    EXPECT_EQ(mankai_create_file(path_.c_str(), spec.c_str(), options, &filter), MANKAI_OK) << mankai_last_error();
    return Handle(filter);
  }
  Handle open_file() { return open(mankai_open_file); }
  Handle open_file_read() { return open(mankai_open_file_read); }

  Folder folder_;
  std::string path_ = folder_.file("filter.mk");

 private:
  template <class Open>
  Handle open(const Open& open) {
    mankai_filter* filter = nullptr;
    EXPECT_EQ(open(path_.c_str(), nullptr, &filter), MANKAI_OK) << mankai_last_error();
    return Handle(filter);
  }
};

mankai_file_options options_of(std::uint32_t durability) {
  mankai_file_options options{};
  options.size = sizeof(options);
  options.durability = durability;
  return options;
}

TEST_F(CFiles, what_was_inserted_is_there_after_closing) {
  const Keys keys("key", 10'000);
  {
    const Handle filter = create_file("scalable-bloom:keys=1000");
    ASSERT_EQ(mankai_insert(filter.get(), keys.data(), keys.size()), MANKAI_OK) << mankai_last_error();
    mankai_info info{};
    info.size = sizeof(info);
    ASSERT_EQ(mankai_get_info(filter.get(), &info), MANKAI_OK);
    EXPECT_TRUE(info.is_in_file);
  }
  EXPECT_EQ(mankai_verify_file(path_.c_str()), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(count_of(open_file().get(), keys), keys.size());
  const Handle first = open_file_read();
  const Handle second = open_file_read();
  EXPECT_EQ(count_of(first.get(), keys), keys.size());
  EXPECT_EQ(count_of(second.get(), keys), keys.size());
}

TEST_F(CFiles, what_opening_does_not_read_is_verified) {
  {
    const Handle filter = create_file("bloom:keys=1000");
  }
  mankai_info info = sized<mankai_info>();
  ASSERT_EQ(mankai_get_info(open_file_read().get(), &info), MANKAI_OK);
  ASSERT_NE(info.image_bytes % kFooterPage, 0U);
  const std::uint64_t first = footer_offset(info.image_bytes, 0);
  const std::uint64_t second = footer_offset(info.image_bytes, 1);
  for (const std::uint64_t offset : {info.image_bytes, first - 1, first + sizeof(StoreFooter), second - 1}) {
    test::flip_byte(path_, offset);
    static_cast<void>(open_file_read());
    EXPECT_EQ(mankai_verify_file(path_.c_str()), MANKAI_CORRUPT) << offset;
    test::flip_byte(path_, offset);
    EXPECT_EQ(mankai_verify_file(path_.c_str()), MANKAI_OK) << mankai_last_error();
  }
}

TEST_F(CFiles, what_has_returned_survives_the_end_of_the_process) {
  for (const std::uint32_t durability :
       {MANKAI_DURABILITY_ALWAYS, MANKAI_DURABILITY_INTERVAL, MANKAI_DURABILITY_NEVER}) {
    const Keys keys("key", 5000);
    mankai_file_options options = options_of(durability);
    options.replace = 1;
    const Handle filter = create_file("counting-bloom:keys=10000", &options);
    ASSERT_EQ(mankai_insert(filter.get(), keys.data(), keys.size()), MANKAI_OK) << mankai_last_error();
    ASSERT_EQ(mankai_insert_one(filter.get(), "last", 4), MANKAI_OK);
    mankai_filter* opened = nullptr;
    ASSERT_EQ(
        mankai_open_file(folder_.copy_store(path_, "crash" + std::to_string(durability)).c_str(), nullptr, &opened),
        MANKAI_OK)
        << mankai_last_error();
    const Handle recovered(opened);
    EXPECT_EQ(count_of(recovered.get(), keys), keys.size());
    mankai_recovery_report report{};
    report.size = sizeof(report);
    ASSERT_EQ(mankai_recovery(recovered.get(), &report), MANKAI_OK);
    EXPECT_FALSE(report.was_closed);
    EXPECT_EQ(report.changes_replayed, keys.size() + 1);
    EXPECT_EQ(report.sequence, keys.size() + 1);
    EXPECT_EQ(report.bytes_dropped, 0U);
    EXPECT_STREQ(report.reason, "");
  }
}

TEST_F(CFiles, sequences_say_what_is_in_and_what_is_on_the_disk) {
  const mankai_file_options options = options_of(MANKAI_DURABILITY_NEVER);
  const Handle filter = create_file("scalable-counting-bloom:keys=1000", &options);
  const auto sequences = [&] {
    std::pair<std::uint64_t, std::uint64_t> both;
    EXPECT_EQ(mankai_sequence(filter.get(), &both.first), MANKAI_OK);
    EXPECT_EQ(mankai_durable_sequence(filter.get(), &both.second), MANKAI_OK);
    return both;
  };
  const Keys keys("key", 10);
  EXPECT_EQ(sequences(), (std::pair<std::uint64_t, std::uint64_t>(0, 0)));
  ASSERT_EQ(mankai_insert(filter.get(), keys.data(), keys.size()), MANKAI_OK);
  EXPECT_EQ(sequences(), (std::pair<std::uint64_t, std::uint64_t>(10, 0)));
  ASSERT_EQ(mankai_sync(filter.get()), MANKAI_OK);
  EXPECT_EQ(sequences(), (std::pair<std::uint64_t, std::uint64_t>(10, 10)));
  ASSERT_EQ(mankai_erase_one(filter.get(), "absent key", 8, nullptr), MANKAI_OK);
  EXPECT_EQ(sequences(), (std::pair<std::uint64_t, std::uint64_t>(11, 10)));
  ASSERT_EQ(mankai_checkpoint(filter.get()), MANKAI_OK);
  EXPECT_EQ(sequences(), (std::pair<std::uint64_t, std::uint64_t>(11, 11)));
}

TEST_F(CFiles, a_batch_goes_with_the_position_of_its_source) {
  const Keys first("first", 10);
  const Keys second("second", 10);
  const Handle filter = create_file("blocked-bloom:keys=1000,fpr=1e-6");
  ASSERT_EQ(mankai_begin(filter.get()), MANKAI_OK);
  ASSERT_EQ(mankai_insert(filter.get(), first.data(), first.size()), MANKAI_OK);
  ASSERT_EQ(mankai_commit(filter.get(), "offset 17", 9), MANKAI_OK);
  ASSERT_EQ(mankai_begin(filter.get()), MANKAI_OK);
  ASSERT_EQ(mankai_insert(filter.get(), second.data(), second.size()), MANKAI_OK);
  mankai_filter* opened = nullptr;
  ASSERT_EQ(mankai_open_file(folder_.copy_store(path_, "crash").c_str(), nullptr, &opened), MANKAI_OK)
      << mankai_last_error();
  const Handle recovered(opened);
  EXPECT_EQ(count_of(recovered.get(), first), first.size());
  EXPECT_EQ(count_of(recovered.get(), second), 0U);
  std::string position(MANKAI_POSITION_BYTES, '\0');
  std::size_t bytes = 0;
  ASSERT_EQ(mankai_position(recovered.get(), position.data(), &bytes), MANKAI_OK);
  EXPECT_EQ(position.substr(0, bytes), "offset 17");
  const std::string too_long(MANKAI_POSITION_BYTES + 1, 'x');
  EXPECT_EQ(mankai_commit(filter.get(), too_long.data(), too_long.size()), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_checkpoint(filter.get()), MANKAI_INVALID_ARGUMENT);  // the batch is open still
  ASSERT_EQ(mankai_commit(filter.get(), nullptr, 0), MANKAI_OK);
}

TEST_F(CFiles, a_file_has_one_handle_that_changes_it) {
  const Handle filter = create_file("bloom:keys=1000");
  mankai_filter* second = nullptr;
  EXPECT_EQ(mankai_open_file(path_.c_str(), nullptr, &second), MANKAI_LOCKED);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(mankai_create_file(path_.c_str(), "bloom:keys=10", nullptr, &second), MANKAI_INVALID_ARGUMENT);
  const mankai_file_options replace{.size = sizeof(replace),
                                    .durability = 0,
                                    .replace = 1,
                                    .interval_us = 0,
                                    .checkpoint_bytes = 0,
                                    .checkpoint_interval_us = 0,
                                    .trust_cells = 0,
                                    .mode = 0,
                                    .sharing = 0,
                                    .reserved = 0};
  EXPECT_EQ(mankai_create_file(path_.c_str(), "bloom:keys=10", &replace, &second), MANKAI_LOCKED);
}

TEST_F(CFiles, a_file_has_the_mode_that_was_asked_for) {
  const auto create = [&](std::uint32_t mode) {
    mankai_file_options options{};
    options.size = sizeof(options);
    options.replace = 1;
    options.mode = mode;
    mankai_filter* filter = nullptr;
    const int code = mankai_create_file(path_.c_str(), "bloom:keys=10", &options, &filter);
    static_cast<void>(mankai_close(filter));
    return code;
  };
  const auto mode = [&] { return std::filesystem::status(path_).permissions() & std::filesystem::perms::mask; };
  ASSERT_EQ(create(0), MANKAI_OK);
  EXPECT_EQ(mode(), std::filesystem::perms(0600));
  ASSERT_EQ(create(0640), MANKAI_OK);
  EXPECT_EQ(mode(), std::filesystem::perms(0640));
  ASSERT_EQ(create(0), MANKAI_OK);
  EXPECT_EQ(mode(), std::filesystem::perms(0640));
  EXPECT_EQ(create(010000), MANKAI_INVALID_ARGUMENT);
}

TEST_F(CFiles, a_handle_for_questions_shows_a_moment_and_refuses_changes) {
  const Keys keys("key", 100);
  const Handle filter = create_file("bloom:keys=1000,fpr=1e-6");
  ASSERT_EQ(mankai_insert(filter.get(), keys.data(), 50), MANKAI_OK);
  const Handle reader = open_file_read();
  ASSERT_EQ(mankai_insert(filter.get(), keys.data() + 50, 50), MANKAI_OK);
  EXPECT_EQ(count_of(reader.get(), keys), 50U);
  EXPECT_EQ(count_of(filter.get(), keys), 100U);
  EXPECT_EQ(mankai_insert_one(reader.get(), "a", 1), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_clear(reader.get()), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_merge(reader.get(), filter.get()), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_sync(reader.get()), MANKAI_INVALID_ARGUMENT);
}

TEST_F(CFiles, filters_in_memory_and_in_files_merge) {
  const Keys keys("key", 100);
  const Handle memory = create("bloom:keys=1000,seed=7,fpr=1e-6");
  const Handle file = create_file("bloom:keys=1000,seed=7,fpr=1e-6");
  ASSERT_EQ(mankai_insert(memory.get(), keys.data(), keys.size()), MANKAI_OK);
  ASSERT_EQ(mankai_merge(file.get(), memory.get()), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(count_of(file.get(), keys), keys.size());
  EXPECT_EQ(count_of(open_file_read().get(), keys), keys.size());
  ASSERT_EQ(mankai_clear(file.get()), MANKAI_OK);
  EXPECT_EQ(count_of(open_file_read().get(), keys), 0U);
}

TEST_F(CFiles, damage_is_refused_with_the_file_s_name) {
  {
    const Handle filter = create_file("bloom:keys=1000");
  }
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).seekp(300).put('\x55');
  mankai_filter* filter = nullptr;
  EXPECT_EQ(mankai_verify_file(path_.c_str()), MANKAI_CORRUPT);
  EXPECT_EQ(mankai_open_file(path_.c_str(), nullptr, &filter), MANKAI_CORRUPT);
  EXPECT_NE(std::string(mankai_last_error()).find(path_), std::string::npos) << mankai_last_error();
}

TEST_F(CFiles, a_handle_for_queries_is_brought_to_the_current_content) {
  const Keys keys("key", 100);
  const Handle filter = create_file("bloom:keys=1000,fpr=1e-6");
  ASSERT_EQ(mankai_insert(filter.get(), keys.data(), 50), MANKAI_OK);
  const Handle reader = open_file_read();
  bool is_changed = true;
  ASSERT_EQ(mankai_refresh(reader.get(), &is_changed), MANKAI_OK) << mankai_last_error();
  EXPECT_FALSE(is_changed);
  ASSERT_EQ(mankai_insert(filter.get(), keys.data() + 50, 50), MANKAI_OK);
  ASSERT_EQ(mankai_refresh(reader.get(), &is_changed), MANKAI_OK);
  EXPECT_TRUE(is_changed);
  EXPECT_EQ(count_of(reader.get(), keys), 100U);
  ASSERT_EQ(mankai_checkpoint(filter.get()), MANKAI_OK);
  ASSERT_EQ(mankai_refresh(reader.get(), &is_changed), MANKAI_OK);
  EXPECT_EQ(count_of(reader.get(), keys), 100U);
  std::filesystem::rename(path_, folder_.file("moved"));
  EXPECT_EQ(mankai_refresh(reader.get(), &is_changed), MANKAI_NOT_FOUND);
  std::filesystem::rename(folder_.file("moved"), path_);
  EXPECT_EQ(count_of(reader.get(), keys), 100U);
  EXPECT_EQ(mankai_refresh(filter.get(), &is_changed), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_refresh(create("bloom:keys=10").get(), &is_changed), MANKAI_INVALID_ARGUMENT);
}

TEST_F(CFiles, copies_are_filters_of_their_own) {
  const Keys keys("key", 100);
  const Handle memory = create("scalable-bloom:keys=10,fpr=1e-6");
  ASSERT_EQ(mankai_insert(memory.get(), keys.data(), keys.size()), MANKAI_OK);
  ASSERT_EQ(mankai_save_file(memory.get(), path_.c_str(), nullptr), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(mankai_save_file(memory.get(), path_.c_str(), nullptr), MANKAI_INVALID_ARGUMENT);
  mankai_file_options replace = options_of(0);
  replace.replace = 1;
  EXPECT_EQ(mankai_save_file(memory.get(), path_.c_str(), &replace), MANKAI_OK) << mankai_last_error();
  mankai_filter* made = nullptr;
  ASSERT_EQ(mankai_copy(memory.get(), &made), MANKAI_OK);
  const Handle copy(made);
  ASSERT_EQ(mankai_clear(memory.get()), MANKAI_OK);
  EXPECT_EQ(count_of(copy.get(), keys), keys.size());
  EXPECT_EQ(count_of(open_file().get(), keys), keys.size());
}

TEST_F(CFiles, options_of_another_age) {
  mankai_filter* filter = nullptr;
  mankai_file_options options{};  // no size
  EXPECT_EQ(mankai_create_file(path_.c_str(), "bloom:keys=10", &options, &filter), MANKAI_INVALID_ARGUMENT);
  options = options_of(9);
  EXPECT_EQ(mankai_create_file(path_.c_str(), "bloom:keys=10", &options, &filter), MANKAI_INVALID_ARGUMENT);
  options = options_of(MANKAI_DURABILITY_DEFAULT);
  options.interval_us = ~std::uint64_t{0};
  EXPECT_EQ(mankai_create_file(path_.c_str(), "bloom:keys=10", &options, &filter), MANKAI_INVALID_ARGUMENT);
  struct {
    mankai_file_options known;
    std::uint64_t of_later;
  } newer{.known = options_of(MANKAI_DURABILITY_DEFAULT), .of_later = 1};
  newer.known.size = sizeof(newer);
  EXPECT_EQ(mankai_create_file(path_.c_str(), "bloom:keys=10", &newer.known, &filter), MANKAI_INVALID_ARGUMENT);
  newer.of_later = 0;
  ASSERT_EQ(mankai_create_file(path_.c_str(), "bloom:keys=10", &newer.known, &filter), MANKAI_OK)
      << mankai_last_error();
  const Handle made(filter);
  options = options_of(MANKAI_DURABILITY_DEFAULT);
  options.sharing = MANKAI_SHARING_PROCESSES;
  EXPECT_EQ(mankai_create_file(path_.c_str(), "bloom:keys=10", &options, &filter), MANKAI_INVALID_ARGUMENT);
  options.sharing = MANKAI_SHARING_ONE_WRITER;
  options.size = offsetof(mankai_file_options, replace);  // an older program has the first fields only
  options.replace = 1;
  EXPECT_EQ(mankai_create_file(path_.c_str(), "bloom:keys=10", &options, &filter), MANKAI_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace mankai::c
