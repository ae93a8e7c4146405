#include <array>
#include <fstream>

#include "mankai/c/c_test_support.hpp"
#include "tests/support/flip_byte.hpp"

namespace mankai::c {
namespace {

using GuardHandle = Closed<mankai_guard, mankai_guard_close>;

template <class Open>
GuardHandle opened(const Open& open) {
  mankai_guard* guard = nullptr;
  EXPECT_EQ(open(&guard), MANKAI_OK) << mankai_last_error();
  return GuardHandle(guard);
}
GuardHandle created() {
  return opened([](mankai_guard** guard) { return mankai_guard_create(nullptr, guard); });
}
GuardHandle open_to_change(const std::string& path) {
  return opened([&](mankai_guard** guard) { return mankai_guard_open(path.c_str(), guard); });
}
GuardHandle open_to_check(const std::string& path) {
  return opened([&](mankai_guard** guard) { return mankai_guard_open_read(path.c_str(), guard); });
}

int answer_to(const mankai_guard* guard, std::string_view url, std::string* rule = nullptr) {
  mankai_guard_answer answer = 9;
  std::array<char, 64> text{};
  std::size_t bytes = 0;
  EXPECT_EQ(mankai_guard_check(guard, url.data(), url.size(), &answer, text.data(), text.size(), &bytes), MANKAI_OK)
      << mankai_last_error();
  if (rule != nullptr) {
    *rule = std::string(text.data(), std::min(bytes, text.size()));
  }
  return answer;
}

std::uint64_t add(mankai_guard* guard, std::string_view rule) {
  const mankai_key key = key_of(rule);
  std::uint64_t changed = 9;
  EXPECT_EQ(mankai_guard_add(guard, &key, 1, 0, &changed), MANKAI_OK) << mankai_last_error();
  return changed;
}

mankai_guard_facts facts_of(const mankai_guard* guard) {
  auto facts = sized<mankai_guard_facts>();
  EXPECT_EQ(mankai_guard_get_facts(guard, &facts), MANKAI_OK);
  return facts;
}

TEST(CGuard, rules_and_exceptions_in_memory) {
  const GuardHandle guard = created();
  EXPECT_EQ(add(guard.get(), "evil.example/bad"), 1U);
  EXPECT_EQ(add(guard.get(), "evil.example/bad"), 0U);
  std::string rule;
  EXPECT_EQ(answer_to(guard.get(), "http://www.evil.example/bad/page", &rule), MANKAI_GUARD_BLOCKED);
  EXPECT_EQ(rule, "evil.example/bad");
  EXPECT_EQ(answer_to(guard.get(), "http://evil.example/good"), MANKAI_GUARD_OK);
  EXPECT_EQ(answer_to(guard.get(), "mailto:a@b"), MANKAI_GUARD_INVALID);
  const mankai_key exception = key_of("evil.example/bad/but");
  std::uint64_t changed = 0;
  ASSERT_EQ(mankai_guard_allow(guard.get(), &exception, 1, &changed), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(changed, 1U);
  EXPECT_EQ(answer_to(guard.get(), "http://evil.example/bad/but", &rule), MANKAI_GUARD_ALLOWED);
  mankai_texts* exceptions = nullptr;
  ASSERT_EQ(mankai_guard_exceptions(guard.get(), &exceptions), MANKAI_OK);
  ASSERT_EQ(exceptions->count, 1U);
  EXPECT_EQ(std::string_view(exceptions->data, static_cast<std::size_t>(exceptions->offsets[1])),
            "evil.example/bad/but");
  mankai_free(exceptions);
  ASSERT_EQ(mankai_guard_disallow(guard.get(), &exception, 1, nullptr), MANKAI_OK);
  const mankai_key key = key_of("evil.example/bad");
  const std::uint64_t other_id = 7;
  ASSERT_EQ(mankai_guard_remove(guard.get(), &key, 1, &other_id, &changed), MANKAI_OK);
  EXPECT_EQ(changed, 0U);
  ASSERT_EQ(mankai_guard_remove(guard.get(), &key, 1, nullptr, &changed), MANKAI_OK);
  EXPECT_EQ(changed, 1U);
  EXPECT_EQ(answer_to(guard.get(), "http://evil.example/bad"), MANKAI_GUARD_OK);
  const mankai_key invalid = key_of("no rule at all");
  EXPECT_EQ(mankai_guard_add(guard.get(), &invalid, 1, 0, &changed), MANKAI_INVALID_ARGUMENT);
}

TEST(CGuard, a_rule_is_written_if_there_is_room) {
  const GuardHandle guard = created();
  add(guard.get(), "evil.example");
  mankai_guard_answer answer = 9;
  std::array<char, 4> text{'-', '-', '-', '-'};
  std::size_t bytes = 0;
  ASSERT_EQ(mankai_guard_check(guard.get(), "evil.example", 12, &answer, text.data(), text.size(), &bytes), MANKAI_OK);
  EXPECT_EQ(bytes, 12U);
  EXPECT_EQ(text[0], '-');
  ASSERT_EQ(mankai_guard_check(guard.get(), "evil.example", 12, &answer, nullptr, 0, nullptr), MANKAI_OK);
  EXPECT_EQ(answer, MANKAI_GUARD_BLOCKED);
}

TEST(CGuard, many_urls_are_checked_at_once) {
  const GuardHandle guard = created();
  add(guard.get(), "key");
  const Keys urls("http://key/?", 3000);
  std::vector<mankai_guard_answer> answers(urls.size());
  ASSERT_EQ(mankai_guard_check_many(guard.get(), urls.data(), urls.size(), answers.data()), MANKAI_OK);
  EXPECT_EQ(std::count(answers.begin(), answers.end(), MANKAI_GUARD_BLOCKED), 3000);
  const std::string data = "key.abckey.";
  const std::array<std::int64_t, 4> offsets{0, 4, 7, 11};
  const std::uint8_t validity = 0b011;
  auto packed = sized<mankai_packed>();
  packed.data = data.data();
  packed.data_bytes = data.size();
  packed.offsets = offsets.data();
  packed.offset_bytes = sizeof(std::int64_t);
  packed.validity = &validity;
  packed.count = 3;
  ASSERT_EQ(mankai_guard_check_packed(guard.get(), &packed, answers.data()), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(answers[0], MANKAI_GUARD_BLOCKED);
  EXPECT_EQ(answers[1], MANKAI_GUARD_OK);
  EXPECT_EQ(answers[2], MANKAI_GUARD_OK);
}

TEST(CGuard, a_file_has_one_writer_and_readers_that_follow) {
  const Folder folder;
  const std::string path = folder.file("blocked.mkg");
  ASSERT_EQ(mankai_guard_save_file(created().get(), path.c_str(), nullptr), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(mankai_guard_save_file(created().get(), path.c_str(), nullptr), MANKAI_INVALID_ARGUMENT);
  const GuardHandle writer = open_to_change(path);
  mankai_guard* second = nullptr;
  EXPECT_EQ(mankai_guard_open(path.c_str(), &second), MANKAI_LOCKED);
  const GuardHandle reader = open_to_check(path);
  bool is_changed = true;
  ASSERT_EQ(mankai_guard_refresh(reader.get(), &is_changed), MANKAI_OK);
  EXPECT_FALSE(is_changed);
  EXPECT_EQ(add(writer.get(), "evil.example"), 1U);
  EXPECT_EQ(answer_to(reader.get(), "evil.example"), MANKAI_GUARD_OK);
  ASSERT_EQ(mankai_guard_refresh(reader.get(), &is_changed), MANKAI_OK);
  EXPECT_TRUE(is_changed);
  EXPECT_EQ(answer_to(reader.get(), "evil.example"), MANKAI_GUARD_BLOCKED);
  EXPECT_EQ(mankai_guard_refresh(writer.get(), &is_changed), MANKAI_INVALID_ARGUMENT);
  const mankai_key key = key_of("a.example");
  EXPECT_EQ(mankai_guard_add(reader.get(), &key, 1, 0, nullptr), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(facts_of(writer.get()).added_rules, 1U);
  ASSERT_EQ(mankai_guard_compact(writer.get()), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(facts_of(writer.get()).added_rules, 0U);
  EXPECT_EQ(facts_of(writer.get()).rules_in_force, 1U);
}

TEST(CGuard, a_file_is_verified_completely) {
  const Folder folder;
  const std::string path = folder.file("blocked.mkg");
  ASSERT_EQ(mankai_guard_save_file(created().get(), path.c_str(), nullptr), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(mankai_verify_file(path.c_str()), MANKAI_OK) << mankai_last_error();
  test::flip_byte(path, 100);
  EXPECT_EQ(mankai_verify_file(path.c_str()), MANKAI_CORRUPT);
  EXPECT_EQ(std::string(mankai_last_error()).find("image"), std::string::npos) << mankai_last_error();
}

TEST(CGuard, bytes_are_a_guard_again) {
  const GuardHandle guard = created();
  add(guard.get(), "evil.example");
  void* image = nullptr;
  std::size_t bytes = 0;
  ASSERT_EQ(mankai_guard_to_bytes(guard.get(), &image, &bytes), MANKAI_OK);
  const GuardHandle copy = opened([&](mankai_guard** made) { return mankai_guard_from_bytes(image, bytes, made); });
  EXPECT_EQ(answer_to(copy.get(), "evil.example"), MANKAI_GUARD_BLOCKED);
  mankai_guard* corrupt = nullptr;
  EXPECT_EQ(mankai_guard_from_bytes(image, bytes / 2, &corrupt), MANKAI_CORRUPT);
  mankai_free(image);
}

TEST(CGuardBuilder, lists_become_a_guard) {
  const Folder folder;
  const std::string list = folder.file("hosts.txt");
  std::ofstream(list) << "# comment\r\n0.0.0.0 ads.example\r\n127.0.0.1 localhost\n||track.example^\n";
  mankai_guard_builder* builder = nullptr;
  auto settings = sized<mankai_guard_settings>();
  settings.is_exact = 1;
  ASSERT_EQ(mankai_guard_builder_create(&settings, &builder), MANKAI_OK) << mankai_last_error();
  ASSERT_EQ(mankai_guard_builder_add_file(builder, list.c_str(), nullptr), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(mankai_guard_builder_add_file(builder, folder.file("none").c_str(), nullptr), MANKAI_NOT_FOUND);
  constexpr std::string_view kAllowed = "good.ads.example\n/regex/\n";
  auto options = sized<mankai_list_options>();
  options.is_allow_list = 1;
  ASSERT_EQ(mankai_guard_builder_add_list(builder, kAllowed.data(), kAllowed.size(), &options), MANKAI_OK);
  ASSERT_EQ(mankai_guard_builder_add(builder, "own.example/x", 13), MANKAI_OK);
  ASSERT_EQ(mankai_guard_builder_allow(builder, "own.example/x/y", 15), MANKAI_OK);
  EXPECT_EQ(mankai_guard_builder_add(builder, "no rule", 7), MANKAI_INVALID_ARGUMENT);
  auto report = sized<mankai_guard_report>();
  ASSERT_EQ(mankai_guard_builder_report(builder, &report), MANKAI_OK);
  EXPECT_EQ(report.lines, 6U);
  EXPECT_EQ(report.rules, 2U);
  EXPECT_EQ(report.exceptions, 1U);
  EXPECT_EQ(report.skipped_rules, 1U);
  EXPECT_STRNE(report.skipped_reason, "");
  EXPECT_EQ(report.rules_in_force, 3U);
  const std::string path = folder.file("blocked.mkg");
  ASSERT_EQ(mankai_guard_builder_build_file(builder, "/no/such/folder/x", nullptr), MANKAI_NOT_FOUND);
  ASSERT_EQ(mankai_guard_builder_build_file(builder, path.c_str(), nullptr), MANKAI_OK) << mankai_last_error();
  mankai_guard* none = nullptr;
  EXPECT_EQ(mankai_guard_builder_build(builder, &none), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_guard_builder_add(builder, "late.example", 12), MANKAI_INVALID_ARGUMENT);
  ASSERT_EQ(mankai_guard_builder_close(builder), MANKAI_OK);
  const GuardHandle guard = open_to_check(path);
  EXPECT_EQ(answer_to(guard.get(), "http://x.ads.example/"), MANKAI_GUARD_BLOCKED);
  EXPECT_EQ(answer_to(guard.get(), "http://good.ads.example/"), MANKAI_GUARD_ALLOWED);
  EXPECT_EQ(answer_to(guard.get(), "http://own.example/x/y"), MANKAI_GUARD_ALLOWED);
  EXPECT_EQ(answer_to(guard.get(), "http://localhost/"), MANKAI_GUARD_OK);
  EXPECT_TRUE(facts_of(guard.get()).is_exact);
  EXPECT_EQ(facts_of(guard.get()).exceptions, 2U);
}

TEST(CGuardBuilder, a_guard_may_stay_in_memory) {
  mankai_guard_builder* builder = nullptr;
  ASSERT_EQ(mankai_guard_builder_create(nullptr, &builder), MANKAI_OK);
  ASSERT_EQ(mankai_guard_builder_add(builder, "evil.example", 12), MANKAI_OK);
  const GuardHandle guard = opened([&](mankai_guard** made) { return mankai_guard_builder_build(builder, made); });
  EXPECT_EQ(answer_to(guard.get(), "evil.example"), MANKAI_GUARD_BLOCKED);
  auto options = sized<mankai_list_options>();
  options.format = 9;
  EXPECT_EQ(mankai_guard_builder_add_list(builder, nullptr, 0, &options), MANKAI_INVALID_ARGUMENT);
  ASSERT_EQ(mankai_guard_builder_close(builder), MANKAI_OK);
}

}  // namespace
}  // namespace mankai::c
