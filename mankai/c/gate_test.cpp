
#include "mankai/c/c_test_support.hpp"

namespace mankai::c {
namespace {

using GateHandle = Closed<mankai_gate, mankai_gate_close>;

GateHandle create_gate(const mankai_gate_request* request = nullptr) {
  mankai_gate* gate = nullptr;
  EXPECT_EQ(mankai_gate_create(request, nullptr, &gate), MANKAI_OK) << mankai_last_error();
  return GateHandle(gate);
}

mankai_gate_answer ask_gate(const mankai_gate* gate, std::string_view key, std::uint64_t after = 0) {
  mankai_gate_answer answer{};
  EXPECT_EQ(mankai_gate_maybe(gate, key.data(), key.size(), after, &answer), MANKAI_OK) << mankai_last_error();
  return answer;
}

int apply(mankai_gate* gate, std::vector<mankai_key> inserted, std::vector<mankai_key> erased, std::uint64_t position) {
  auto changes = sized<mankai_gate_changes>();
  changes.inserted = inserted.data();
  changes.inserted_count = inserted.size();
  changes.erased = erased.data();
  changes.erased_count = erased.size();
  return mankai_gate_apply(gate, &changes, position);
}

TEST(CGate, keys_are_maybe_from_their_insertion_to_their_erasure) {
  auto request = sized<mankai_gate_request>();
  request.keys = 1000;
  request.fpr = 1e-6;
  const GateHandle gate = create_gate(&request);
  EXPECT_FALSE(ask_gate(gate.get(), "a").is_maybe);
  ASSERT_EQ(apply(gate.get(), {key_of("a"), key_of("b")}, {}, 1), MANKAI_OK) << mankai_last_error();
  EXPECT_TRUE(ask_gate(gate.get(), "a").is_maybe);
  EXPECT_FALSE(ask_gate(gate.get(), "c").is_maybe);
  EXPECT_TRUE(ask_gate(gate.get(), "c", 2).is_maybe);
  ASSERT_EQ(apply(gate.get(), {}, {key_of("a")}, 2), MANKAI_OK);
  EXPECT_FALSE(ask_gate(gate.get(), "a").is_maybe);
  EXPECT_FALSE(ask_gate(gate.get(), "c", 2).is_maybe);
  EXPECT_EQ(apply(gate.get(), {}, {}, 1), MANKAI_INVALID_ARGUMENT);
  std::uint64_t position = 0;
  bool has_position = false;
  ASSERT_EQ(mankai_gate_position(gate.get(), &position, &has_position), MANKAI_OK);
  EXPECT_TRUE(has_position);
  EXPECT_EQ(position, 2U);
  auto counts = sized<mankai_gate_counts>();
  ASSERT_EQ(mankai_gate_get_counts(gate.get(), &counts), MANKAI_OK);
  EXPECT_EQ(counts.asked, 6U);
  EXPECT_EQ(counts.waiting, 1U);
  auto facts = sized<mankai_gate_facts>();
  ASSERT_EQ(mankai_gate_get_facts(gate.get(), &facts), MANKAI_OK);
  EXPECT_EQ(facts.keys, 1U);
  EXPECT_EQ(facts.capacity_keys, 1000U);
  EXPECT_EQ(facts.missed_erasures, 0U);
}

TEST(CGate, a_reported_key_is_empty_until_it_is_held_or_inserted) {
  const GateHandle gate = create_gate();
  ASSERT_EQ(apply(gate.get(), {key_of("a")}, {}, 1), MANKAI_OK);
  const mankai_gate_answer answer = ask_gate(gate.get(), "a");
  ASSERT_EQ(mankai_gate_report(gate.get(), "a", 1, &answer), MANKAI_OK);
  EXPECT_FALSE(ask_gate(gate.get(), "a").is_maybe);
  mankai_gate_hold* hold = nullptr;
  ASSERT_EQ(mankai_gate_hold_key(gate.get(), "a", 1, &hold), MANKAI_OK);
  EXPECT_TRUE(ask_gate(gate.get(), "a").is_maybe);
  ASSERT_EQ(mankai_gate_release(hold), MANKAI_OK);
}

TEST(CGate, a_hold_may_outlive_its_handle) {
  GateHandle gate = create_gate();
  mankai_gate_hold* hold = nullptr;
  ASSERT_EQ(mankai_gate_hold_key(gate.get(), "a", 1, &hold), MANKAI_OK);
  gate.reset();
  EXPECT_EQ(mankai_gate_release(hold), MANKAI_OK);
}

TEST(CGate, without_a_gate_the_answer_is_maybe) {
  mankai_gate_answer answer{.state = 1, .is_maybe = false};
  EXPECT_EQ(mankai_gate_maybe(nullptr, "a", 1, 0, &answer), MANKAI_INVALID_ARGUMENT);
  EXPECT_TRUE(answer.is_maybe);
}

TEST(CGate, a_follower_has_what_the_file_had_at_its_last_refresh) {
  const Folder folder;
  const std::string path = folder.file("gate.mk");
  auto request = sized<mankai_gate_request>();
  request.keys = 1000;
  request.fpr = 1e-6;
  request.source_id = "source";
  const GateHandle memory = create_gate(&request);
  ASSERT_EQ(apply(memory.get(), {key_of("a")}, {}, 7), MANKAI_OK);
  ASSERT_EQ(mankai_gate_save_file(memory.get(), path.c_str(), nullptr), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(mankai_gate_save_file(memory.get(), path.c_str(), nullptr), MANKAI_INVALID_ARGUMENT);

  mankai_gate* opened = nullptr;
  ASSERT_EQ(mankai_gate_open(path.c_str(), nullptr, nullptr, &opened), MANKAI_OK) << mankai_last_error();
  const GateHandle gate(opened);
  EXPECT_EQ(mankai_gate_open(path.c_str(), nullptr, nullptr, &opened), MANKAI_LOCKED);
  auto options = sized<mankai_gate_options>();
  options.memo_bytes = 4096;
  mankai_gate_follower* follower = nullptr;
  ASSERT_EQ(mankai_gate_follower_open(path.c_str(), &options, &follower), MANKAI_OK) << mankai_last_error();
  const auto maybe = [&](std::string_view key) {
    mankai_gate_answer answer{};
    EXPECT_EQ(mankai_gate_follower_maybe(follower, key.data(), key.size(), 0, &answer), MANKAI_OK);
    return answer;
  };
  EXPECT_TRUE(maybe("a").is_maybe);
  EXPECT_FALSE(maybe("b").is_maybe);
  ASSERT_EQ(apply(gate.get(), {key_of("b")}, {}, 8), MANKAI_OK) << mankai_last_error();
  ASSERT_EQ(mankai_gate_sync(gate.get()), MANKAI_OK);
  bool is_changed = false;
  ASSERT_EQ(mankai_gate_follower_refresh(follower, &is_changed), MANKAI_OK) << mankai_last_error();
  EXPECT_TRUE(is_changed);
  const mankai_gate_answer answer = maybe("b");
  EXPECT_TRUE(answer.is_maybe);
  ASSERT_EQ(mankai_gate_follower_report(follower, "b", 1, &answer), MANKAI_OK);
  EXPECT_FALSE(maybe("b").is_maybe);
  std::uint64_t position = 0;
  bool has_position = false;
  ASSERT_EQ(mankai_gate_follower_position(follower, &position, &has_position), MANKAI_OK);
  EXPECT_EQ(position, 8U);
  auto counts = sized<mankai_gate_counts>();
  ASSERT_EQ(mankai_gate_follower_get_counts(follower, &counts), MANKAI_OK);
  EXPECT_EQ(counts.false_positives, 1U);
  auto facts = sized<mankai_gate_facts>();
  ASSERT_EQ(mankai_gate_follower_get_facts(follower, &facts), MANKAI_OK);
  EXPECT_EQ(facts.keys, 2U);
  ASSERT_EQ(mankai_gate_follower_close(follower), MANKAI_OK);
  mankai_texts* texts = nullptr;
  ASSERT_EQ(mankai_gate_source(gate.get(), &texts), MANKAI_OK);
  EXPECT_EQ(std::string_view(texts->data, static_cast<std::size_t>(texts->offsets[1])), "source");
  mankai_free(texts);
}

}  // namespace
}  // namespace mankai::c
