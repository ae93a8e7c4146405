#include <array>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "mankai/base/error.hpp"
#include "mankai/c/c_test_support.hpp"
#include "mankai/c/detail/errors.hpp"

namespace mankai::c {
namespace {

TEST(CErrors, codes_are_the_library_s_one_to_one) {
  constexpr std::array kCodes{MANKAI_INVALID_ARGUMENT,    MANKAI_NOT_FOUND,    MANKAI_IO,    MANKAI_CORRUPT,
                              MANKAI_UNSUPPORTED_VERSION, MANKAI_OUT_OF_SPACE, MANKAI_LOCKED};
  for (const int code : kCodes) {
    EXPECT_EQ(mankai_code_name(code), name(static_cast<ErrorCode>(code)));
    EXPECT_EQ(guarded([&]() -> Result<void> { return fail(static_cast<ErrorCode>(code), "why"); }), code);
  }
  EXPECT_STREQ(mankai_code_name(MANKAI_OK), "ok");
  EXPECT_STREQ(mankai_code_name(MANKAI_FORKED), "forked");
  for (const int code : {-1, MANKAI_FORKED + 1, 257, std::numeric_limits<int>::min()}) {
    EXPECT_STREQ(mankai_code_name(code), "unknown");
  }
}

TEST(CErrors, a_failure_says_what_and_why_until_the_next_one_of_the_thread) {
  mankai_filter* filter = nullptr;
  EXPECT_EQ(mankai_open_file_read("no/such/file.mk", nullptr, &filter), MANKAI_NOT_FOUND);
  EXPECT_EQ(filter, nullptr);
  EXPECT_EQ(mankai_last_os_error(), ENOENT);
  const std::string said = mankai_last_error();
  EXPECT_NE(said.find("no/such/file.mk"), std::string::npos) << said;
  const Handle fine = create("bloom:keys=10");
  EXPECT_EQ(mankai_last_error(), said);
  std::thread([] { EXPECT_STREQ(mankai_last_error(), ""); }).join();
  EXPECT_EQ(mankai_create("no-such-kind", &filter), MANKAI_NOT_FOUND);
  EXPECT_NE(mankai_last_error(), said);
  EXPECT_EQ(mankai_last_os_error(), 0);
}

TEST(CErrors, a_message_of_any_length_is_kept_as_far_as_it_goes) {
  const std::string long_text(100'000, 'x');
  EXPECT_EQ(guarded([&]() -> Result<void> { return fail(ErrorCode::io, long_text); }), MANKAI_IO);
  const std::string_view said = mankai_last_error();
  EXPECT_GT(said.size(), 4096U);
  EXPECT_TRUE(long_text.starts_with(said));
}

TEST(CErrors, exceptions_become_codes) {
  EXPECT_EQ(guarded([]() -> Result<void> { throw std::bad_alloc(); }), MANKAI_OUT_OF_SPACE);
  EXPECT_EQ(guarded([]() -> Result<void> { throw std::length_error("too long"); }), MANKAI_OUT_OF_SPACE);
  EXPECT_EQ(guarded([]() -> Result<void> { throw std::system_error(EAGAIN, std::generic_category(), "no thread"); }),
            MANKAI_IO);
  EXPECT_EQ(mankai_last_os_error(), EAGAIN);
  EXPECT_EQ(guarded([]() -> Result<void> { throw std::runtime_error("why"); }), MANKAI_IO);
  EXPECT_STREQ(mankai_last_error(), "why");
  EXPECT_EQ(guarded([]() -> Result<void> { throw 1; }), MANKAI_IO);
}

TEST(CErrors, a_filter_too_large_for_memory_is_out_of_space) {
  mankai_filter* filter = nullptr;
  EXPECT_EQ(mankai_create("bloom:keys=2e14", &filter), MANKAI_OUT_OF_SPACE) << mankai_last_error();
  EXPECT_EQ(filter, nullptr);
}

TEST(CErrors, more_keys_than_there_can_be_are_refused) {
  const Handle filter = create("bloom:keys=10");
  const mankai_key key = key_of("a");
  EXPECT_EQ(mankai_insert(filter.get(), &key, std::numeric_limits<std::size_t>::max()), MANKAI_INVALID_ARGUMENT);
  bool outcome = false;
  EXPECT_EQ(mankai_may_contain(filter.get(), &key, std::numeric_limits<std::size_t>::max() / 2, &outcome),
            MANKAI_INVALID_ARGUMENT);
}

TEST(CErrors, pointers_that_are_missing_are_named) {
  const Handle filter = create("scalable-counting-bloom:keys=10");
  mankai_filter* made = nullptr;
  const mankai_key key = key_of("a");
  const mankai_key without_data{nullptr, 1};
  bool outcome = false;
  std::size_t bytes = 0;
  const auto refused = [](int code, std::string_view argument) {
    EXPECT_EQ(code, MANKAI_INVALID_ARGUMENT) << argument;
    EXPECT_NE(std::string_view(mankai_last_error()).find(argument), std::string_view::npos) << mankai_last_error();
  };
  refused(mankai_create(nullptr, &made), "spec");
  refused(mankai_create("bloom", nullptr), "filter");
  refused(mankai_from_image(nullptr, 1, &made), "image");
  refused(mankai_to_image(filter.get(), nullptr, &bytes), "image");
  refused(mankai_create_file(nullptr, "bloom", nullptr, &made), "path");
  refused(mankai_create_file("unused.mk", nullptr, nullptr, &made), "spec");
  refused(mankai_open_file(nullptr, nullptr, &made), "path");
  refused(mankai_open_file_read("unused.mk", nullptr, nullptr), "filter");
  refused(mankai_verify_file(nullptr), "path");
  refused(mankai_insert(nullptr, &key, 1), "filter");
  refused(mankai_insert(filter.get(), nullptr, 1), "keys");
  refused(mankai_insert(filter.get(), &without_data, 1), "key 0");
  refused(mankai_insert_one(filter.get(), nullptr, 1), "key 0");
  refused(mankai_insert_with_ids(filter.get(), &key, nullptr, 1), "ids");
  refused(mankai_insert_at(filter.get(), &key, nullptr, 1), "times_us");
  refused(mankai_observe(filter.get(), &key, 1, nullptr), "seen");
  refused(mankai_erase_with_ids(filter.get(), &key, nullptr, 1, nullptr), "ids");
  refused(mankai_put(filter.get(), &key, nullptr, 1, 1.0), "values");
  refused(mankai_merge(filter.get(), nullptr), "other");
  refused(mankai_may_contain(filter.get(), &key, 1, nullptr), "outcomes");
  refused(mankai_may_contain_one(nullptr, "a", 1, &outcome), "filter");
  refused(mankai_counts(filter.get(), &key, 1, nullptr), "outcomes");
  refused(mankai_insert_one(filter.get(), "a", SIZE_MAX), "bytes");
  refused(mankai_recall(filter.get(), "a", 1, 1, nullptr, 1, &bytes), "values");
  refused(mankai_recall(filter.get(), "a", 1, 1, nullptr, 0, nullptr), "count");
  refused(mankai_top(filter.get(), 1, nullptr, &bytes), "entries");
  refused(mankai_get_info(filter.get(), nullptr), "info");
  refused(mankai_estimate(filter.get(), nullptr), "estimates");
  refused(mankai_spec(filter.get(), nullptr), "spec");
  refused(mankai_sequence(nullptr, nullptr), "filter");
  EXPECT_EQ(mankai_close(nullptr), MANKAI_OK);
  mankai_free(nullptr);
}

TEST(CErrors, a_filter_in_memory_has_no_durability) {
  const Handle filter = create("bloom:keys=10");
  std::uint64_t sequence = 0;
  EXPECT_EQ(mankai_sync(filter.get()), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_checkpoint(filter.get()), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_begin(filter.get()), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_commit(filter.get(), nullptr, 0), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_sequence(filter.get(), &sequence), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_durable_sequence(filter.get(), &sequence), MANKAI_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace mankai::c
