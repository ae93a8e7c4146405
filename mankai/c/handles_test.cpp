#include <functional>
#include <thread>

#include "mankai/c/c_test_support.hpp"
#include "tests/support/child_process.hpp"

namespace mankai::c {
namespace {

/// One handle of each type.
struct Handles {
  Handles() {
    EXPECT_EQ(mankai_create("bloom:keys=100", &filter), MANKAI_OK);
    EXPECT_EQ(mankai_seen_open(nullptr, nullptr, nullptr, &seen), MANKAI_OK);
    EXPECT_EQ(mankai_confirmed_open(folder.file("log").c_str(), nullptr, &confirmed), MANKAI_OK);
    EXPECT_EQ(mankai_hot_open(nullptr, nullptr, nullptr, &hot), MANKAI_OK);
    EXPECT_EQ(mankai_guard_create(nullptr, &guard), MANKAI_OK);
    EXPECT_EQ(mankai_guard_builder_create(nullptr, &builder), MANKAI_OK);
    EXPECT_EQ(mankai_gate_create(nullptr, nullptr, &gate), MANKAI_OK);
    EXPECT_EQ(mankai_gate_hold_key(gate, "a", 1, &hold), MANKAI_OK);
    EXPECT_EQ(mankai_gate_save_file(gate, folder.file("gate").c_str(), nullptr), MANKAI_OK) << mankai_last_error();
    EXPECT_EQ(mankai_gate_follower_open(folder.file("gate").c_str(), nullptr, &follower), MANKAI_OK);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  Handles(Handles&&) = delete;
  Handles& operator=(Handles&&) = delete;
  ~Handles() {
    EXPECT_EQ(mankai_close(filter), MANKAI_OK);
    EXPECT_EQ(mankai_seen_close(seen), MANKAI_OK);
    EXPECT_EQ(mankai_confirmed_close(confirmed), MANKAI_OK);
    EXPECT_EQ(mankai_hot_close(hot), MANKAI_OK);
    EXPECT_EQ(mankai_guard_close(guard), MANKAI_OK);
    EXPECT_EQ(mankai_guard_builder_close(builder), MANKAI_OK);
    EXPECT_EQ(mankai_gate_release(hold), MANKAI_OK);
    EXPECT_EQ(mankai_gate_close(gate), MANKAI_OK);
    EXPECT_EQ(mankai_gate_follower_close(follower), MANKAI_OK);
  }

  Folder folder;
  mankai_filter* filter = nullptr;
  mankai_seen* seen = nullptr;
  mankai_confirmed* confirmed = nullptr;
  mankai_hot* hot = nullptr;
  mankai_guard* guard = nullptr;
  mankai_guard_builder* builder = nullptr;
  mankai_gate* gate = nullptr;
  mankai_gate_hold* hold = nullptr;
  mankai_gate_follower* follower = nullptr;
};

/// A function of a handle, called with any handle and arguments that are otherwise valid.
struct Function {
  const char* name;
  std::function<int(void*)> call;
};

/// Memory for the results of one call.
struct Results {
  bool flag = false;
  std::uint8_t answer = 0;
  std::size_t size = 0;
  std::uint64_t number = 0;
  void* memory = nullptr;
  char* text = nullptr;
  mankai_filter* filter = nullptr;
  mankai_guard* guard = nullptr;
  mankai_texts* texts = nullptr;
  mankai_gate_hold* hold = nullptr;
  mankai_top_entry* entries = nullptr;
  mankai_count count{};
  mankai_lately lately{};
  mankai_value value{};
  mankai_gate_answer gate_answer{};
  std::array<char, MANKAI_POSITION_BYTES> position{};
};

Results out;  // NOLINT(*-avoid-non-const-global-variables): the functions below write to it
const mankai_key kKey{"a", 1};
const std::int64_t kTime = 0;
const std::uint64_t kId = 0;
const std::uint32_t kValue = 0;

const mankai_packed& one_packed() {
  static const mankai_packed kPacked = [] {
    auto made = sized<mankai_packed>();
    made.data = "a";
    made.data_bytes = 1;
    made.width = 1;
    made.count = 1;
    return made;
  }();
  return kPacked;
}

#define MANKAI_CALL(function, type, ...)                                                              \
  Function {                                                                                          \
    #function, [](void* any) { return function(static_cast<type*>(any) __VA_OPT__(, ) __VA_ARGS__); } \
  }

std::vector<Function> functions_of_filters() {
  using T = mankai_filter;
  return {MANKAI_CALL(mankai_to_image, T, &out.memory, &out.size),
          MANKAI_CALL(mankai_copy, T, &out.filter),
          MANKAI_CALL(mankai_refresh, T, &out.flag),
          MANKAI_CALL(mankai_save_file, T, "/no/such/folder/x", nullptr),
          MANKAI_CALL(mankai_insert, T, &kKey, 1),
          MANKAI_CALL(mankai_insert_one, T, "a", 1),
          MANKAI_CALL(mankai_insert_packed, T, &one_packed()),
          MANKAI_CALL(mankai_insert_with_ids, T, &kKey, &kId, 1),
          MANKAI_CALL(mankai_insert_one_with_id, T, "a", 1, 0),
          MANKAI_CALL(mankai_insert_packed_with_ids, T, &one_packed(), &kId),
          MANKAI_CALL(mankai_insert_at, T, &kKey, &kTime, 1),
          MANKAI_CALL(mankai_insert_one_at, T, "a", 1, 0),
          MANKAI_CALL(mankai_insert_packed_at, T, &one_packed(), &kTime),
          MANKAI_CALL(mankai_observe, T, &kKey, 1, &out.flag),
          MANKAI_CALL(mankai_observe_one, T, "a", 1, &out.flag),
          MANKAI_CALL(mankai_observe_packed, T, &one_packed(), &out.flag),
          MANKAI_CALL(mankai_erase, T, &kKey, 1, &out.answer),
          MANKAI_CALL(mankai_erase_one, T, "a", 1, &out.answer),
          MANKAI_CALL(mankai_erase_packed, T, &one_packed(), &out.answer),
          MANKAI_CALL(mankai_erase_with_ids, T, &kKey, &kId, 1, &out.answer),
          MANKAI_CALL(mankai_erase_one_with_id, T, "a", 1, 0, &out.answer),
          MANKAI_CALL(mankai_erase_packed_with_ids, T, &one_packed(), &kId, &out.answer),
          MANKAI_CALL(mankai_put, T, &kKey, &kValue, 1, 1.0),
          MANKAI_CALL(mankai_put_one, T, "a", 1, 0, 1.0),
          MANKAI_CALL(mankai_advance, T, 0),
          MANKAI_CALL(mankai_clear, T),
          MANKAI_CALL(mankai_may_contain, T, &kKey, 1, &out.flag),
          MANKAI_CALL(mankai_may_contain_one, T, "a", 1, &out.flag),
          MANKAI_CALL(mankai_may_contain_packed, T, &one_packed(), &out.flag),
          MANKAI_CALL(mankai_counts, T, &kKey, 1, &out.count),
          MANKAI_CALL(mankai_count_one, T, "a", 1, &out.count),
          MANKAI_CALL(mankai_counts_packed, T, &one_packed(), &out.count),
          MANKAI_CALL(mankai_counts_lately, T, &kKey, 1, &out.lately),
          MANKAI_CALL(mankai_count_one_lately, T, "a", 1, &out.lately),
          MANKAI_CALL(mankai_recall, T, "a", 1, 1, &out.value, 1, &out.size),
          MANKAI_CALL(mankai_top, T, 1, &out.entries, &out.size),
          MANKAI_CALL(mankai_spec, T, &out.text),
          MANKAI_CALL(mankai_describe, T, &out.text),
          MANKAI_CALL(mankai_sequence, T, &out.number),
          MANKAI_CALL(mankai_durable_sequence, T, &out.number),
          MANKAI_CALL(mankai_begin, T),
          MANKAI_CALL(mankai_commit, T, nullptr, 0),
          MANKAI_CALL(mankai_position, T, out.position.data(), &out.size),
          MANKAI_CALL(mankai_sync, T),
          MANKAI_CALL(mankai_checkpoint, T)};
}

std::vector<Function> functions_of_seen() {
  using T = mankai_seen;
  return {MANKAI_CALL(mankai_seen_observe, T, &kKey, nullptr, 1, &out.flag),
          MANKAI_CALL(mankai_seen_observe_packed, T, &one_packed(), nullptr, &out.flag),
          MANKAI_CALL(mankai_seen_observe_one, T, "a", 1, &out.flag),
          MANKAI_CALL(mankai_seen_observe_one_at, T, "a", 1, 0, &out.flag),
          MANKAI_CALL(mankai_seen_forget, T, &kKey, 1, nullptr),
          MANKAI_CALL(mankai_seen_forget_packed, T, &one_packed(), nullptr),
          MANKAI_CALL(mankai_seen_may_contain, T, &kKey, 1, &out.flag),
          MANKAI_CALL(mankai_seen_may_contain_packed, T, &one_packed(), &out.flag),
          MANKAI_CALL(mankai_seen_may_contain_one, T, "a", 1, &out.flag),
          MANKAI_CALL(mankai_seen_begin, T),
          MANKAI_CALL(mankai_seen_commit, T, nullptr, 0),
          MANKAI_CALL(mankai_seen_position, T, out.position.data(), &out.size),
          MANKAI_CALL(mankai_seen_sync, T)};
}

std::vector<Function> functions_of_confirmed() {
  using T = mankai_confirmed;
  return {MANKAI_CALL(mankai_confirmed_observe, T, &kKey, 1, &out.answer),
          MANKAI_CALL(mankai_confirmed_observe_packed, T, &one_packed(), &out.answer),
          MANKAI_CALL(mankai_confirmed_observe_one, T, "a", 1, &out.answer), MANKAI_CALL(mankai_confirmed_commit, T),
          MANKAI_CALL(mankai_confirmed_sync, T)};
}

std::vector<Function> functions_of_hot() {
  using T = mankai_hot;
  return {MANKAI_CALL(mankai_hot_observe, T, &kKey, &kTime, 1),
          MANKAI_CALL(mankai_hot_observe_packed, T, &one_packed(), &kTime),
          MANKAI_CALL(mankai_hot_observe_one, T, "a", 1, 0),
          MANKAI_CALL(mankai_hot_accept_until, T, 0),
          MANKAI_CALL(mankai_hot_advance, T, 0),
          MANKAI_CALL(mankai_hot_counts, T, &kKey, 1, &out.lately),
          MANKAI_CALL(mankai_hot_count_one, T, "a", 1, &out.lately),
          MANKAI_CALL(mankai_hot_top, T, 1, &out.entries, &out.size),
          MANKAI_CALL(mankai_hot_above, T, 1.0, &out.entries, &out.size),
          MANKAI_CALL(mankai_hot_begin, T),
          MANKAI_CALL(mankai_hot_commit, T, nullptr, 0),
          MANKAI_CALL(mankai_hot_position, T, out.position.data(), &out.size),
          MANKAI_CALL(mankai_hot_sync, T)};
}

std::vector<Function> functions_of_guards() {
  using T = mankai_guard;
  using B = mankai_guard_builder;
  return {MANKAI_CALL(mankai_guard_to_bytes, T, &out.memory, &out.size),
          MANKAI_CALL(mankai_guard_save_file, T, "/no/such/folder/x", nullptr),
          MANKAI_CALL(mankai_guard_check, T, "a", 1, &out.answer, nullptr, 0, nullptr),
          MANKAI_CALL(mankai_guard_check_many, T, &kKey, 1, &out.answer),
          MANKAI_CALL(mankai_guard_check_packed, T, &one_packed(), &out.answer),
          MANKAI_CALL(mankai_guard_add, T, &kKey, 1, 0, &out.number),
          MANKAI_CALL(mankai_guard_remove, T, &kKey, 1, &kId, &out.number),
          MANKAI_CALL(mankai_guard_allow, T, &kKey, 1, &out.number),
          MANKAI_CALL(mankai_guard_disallow, T, &kKey, 1, &out.number),
          MANKAI_CALL(mankai_guard_compact, T),
          MANKAI_CALL(mankai_guard_refresh, T, &out.flag),
          MANKAI_CALL(mankai_guard_exceptions, T, &out.texts),
          MANKAI_CALL(mankai_guard_builder_add, B, "a", 1),
          MANKAI_CALL(mankai_guard_builder_allow, B, "a", 1),
          MANKAI_CALL(mankai_guard_builder_add_list, B, "a", 1, nullptr),
          MANKAI_CALL(mankai_guard_builder_add_file, B, "/no/such/file", nullptr),
          MANKAI_CALL(mankai_guard_builder_build_file, B, "/no/such/folder/x", nullptr),
          MANKAI_CALL(mankai_guard_builder_build, B, &out.guard)};
}

std::vector<Function> functions_of_gates() {
  using T = mankai_gate;
  using F = mankai_gate_follower;
  return {MANKAI_CALL(mankai_gate_save_file, T, "/no/such/folder/x", nullptr),
          MANKAI_CALL(mankai_gate_maybe, T, "a", 1, 0, &out.gate_answer),
          MANKAI_CALL(mankai_gate_report, T, "a", 1, &out.gate_answer),
          MANKAI_CALL(mankai_gate_hold_key, T, "a", 1, &out.hold),
          MANKAI_CALL(mankai_gate_apply, T, nullptr, 0),
          MANKAI_CALL(mankai_gate_position, T, &out.number, &out.flag),
          MANKAI_CALL(mankai_gate_source, T, &out.texts),
          MANKAI_CALL(mankai_gate_sync, T),
          MANKAI_CALL(mankai_gate_follower_refresh, F, &out.flag),
          MANKAI_CALL(mankai_gate_follower_maybe, F, "a", 1, 0, &out.gate_answer),
          MANKAI_CALL(mankai_gate_follower_report, F, "a", 1, &out.gate_answer),
          MANKAI_CALL(mankai_gate_follower_position, F, &out.number, &out.flag)};
}

void refused(const Function& function, void* handle) {
  EXPECT_EQ(function.call(handle), MANKAI_INVALID_ARGUMENT) << function.name;
  EXPECT_NE(std::string_view(mankai_last_error()).find(handle == nullptr ? "is NULL" : "of another type"),
            std::string_view::npos)
      << function.name << ": " << mankai_last_error();
}

TEST(CHandles, a_handle_that_is_not_made_is_null) {
  const Handles handles;
  auto* filter = handles.filter;
  EXPECT_EQ(mankai_copy(nullptr, &filter), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(filter, nullptr);
  auto* hold = handles.hold;
  EXPECT_EQ(mankai_gate_hold_key(nullptr, "a", 1, &hold), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(hold, nullptr);
  auto* guard = handles.guard;
  EXPECT_EQ(mankai_guard_builder_build(nullptr, &guard), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(guard, nullptr);
}

// Later versions may give them a meaning, which this one would ignore.
TEST(CHandles, reserved_fields_must_be_0) {
  auto seen_request = sized<mankai_seen_request>();
  seen_request.reserved = 1;
  mankai_seen* seen = nullptr;
  EXPECT_EQ(mankai_seen_open(nullptr, &seen_request, nullptr, &seen), MANKAI_INVALID_ARGUMENT);
  auto file = sized<mankai_file_options>();
  file.reserved = 1;
  EXPECT_EQ(mankai_seen_open(nullptr, nullptr, &file, &seen), MANKAI_INVALID_ARGUMENT);
  auto hot_request = sized<mankai_hot_request>();
  hot_request.reserved = 1;
  mankai_hot* hot = nullptr;
  EXPECT_EQ(mankai_hot_open(nullptr, &hot_request, nullptr, &hot), MANKAI_INVALID_ARGUMENT);
  auto gate_options = sized<mankai_gate_options>();
  gate_options.reserved = 1;
  mankai_gate* gate = nullptr;
  EXPECT_EQ(mankai_gate_create(nullptr, &gate_options, &gate), MANKAI_INVALID_ARGUMENT);
  const Handles handles;
  auto changes = sized<mankai_gate_changes>();
  changes.reserved = 1;
  EXPECT_EQ(mankai_gate_apply(handles.gate, &changes, 7), MANKAI_INVALID_ARGUMENT);
}

TEST(CHandles, null_and_handles_of_another_type_are_refused_by_every_function) {
  const Handles handles;
  for (const auto& [functions, foreign] : {std::pair(functions_of_filters(), static_cast<void*>(handles.gate)),
                                           std::pair(functions_of_seen(), static_cast<void*>(handles.filter)),
                                           std::pair(functions_of_confirmed(), static_cast<void*>(handles.hold)),
                                           std::pair(functions_of_hot(), static_cast<void*>(handles.seen)),
                                           std::pair(functions_of_guards(), static_cast<void*>(handles.hot)),
                                           std::pair(functions_of_gates(), static_cast<void*>(handles.builder))}) {
    for (const Function& function : functions) {
      refused(function, nullptr);
      refused(function, foreign);
    }
  }
  EXPECT_EQ(mankai_merge(handles.filter, reinterpret_cast<mankai_filter*>(handles.hot)), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_gate_apply(handles.gate, nullptr, 7), MANKAI_INVALID_ARGUMENT) << "would lose its changes";
  EXPECT_EQ(mankai_close(reinterpret_cast<mankai_filter*>(handles.hot)), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_hot_close(reinterpret_cast<mankai_hot*>(handles.filter)), MANKAI_INVALID_ARGUMENT);
}

TEST(CHandles, closing_null_does_nothing) {
  EXPECT_EQ(mankai_seen_close(nullptr), MANKAI_OK);
  EXPECT_EQ(mankai_confirmed_close(nullptr), MANKAI_OK);
  EXPECT_EQ(mankai_hot_close(nullptr), MANKAI_OK);
  EXPECT_EQ(mankai_guard_close(nullptr), MANKAI_OK);
  EXPECT_EQ(mankai_guard_builder_close(nullptr), MANKAI_OK);
  EXPECT_EQ(mankai_gate_close(nullptr), MANKAI_OK);
  EXPECT_EQ(mankai_gate_release(nullptr), MANKAI_OK);
  EXPECT_EQ(mankai_gate_follower_close(nullptr), MANKAI_OK);
}

TEST(CForks, a_handle_that_changes_a_file_belongs_to_its_process) {
  const Folder folder;
  const std::string path = folder.file("filter.mk");
  mankai_filter* file = nullptr;
  ASSERT_EQ(mankai_create_file(path.c_str(), "bloom:keys=1000,fpr=1e-6", nullptr, &file), MANKAI_OK);
  ASSERT_EQ(mankai_insert_one(file, "a", 1), MANKAI_OK);
  mankai_confirmed* confirmed = nullptr;
  ASSERT_EQ(mankai_confirmed_open(folder.file("log").c_str(), nullptr, &confirmed), MANKAI_OK);
  EXPECT_EQ(test::in_child([&] {
              std::uint8_t answer = 0;
              bool outcome = false;
              mankai_filter* second = nullptr;
              return mankai_insert_one(file, "b", 1) == MANKAI_FORKED &&
                     std::string_view(mankai_last_error()).find("parent process") != std::string_view::npos &&
                     mankai_may_contain_one(file, "a", 1, &outcome) == MANKAI_FORKED &&
                     mankai_sync(file) == MANKAI_FORKED && mankai_close(file) == MANKAI_OK &&
                     mankai_confirmed_observe_one(confirmed, "a", 1, &answer) == MANKAI_FORKED &&
                     mankai_confirmed_close(confirmed) == MANKAI_OK &&
                     mankai_open_file(path.c_str(), nullptr, &second) == MANKAI_LOCKED;
            }),
            0);
  EXPECT_STREQ(mankai_code_name(MANKAI_FORKED), "forked");
  mankai_filter* second = nullptr;
  EXPECT_EQ(mankai_open_file(path.c_str(), nullptr, &second), MANKAI_LOCKED);
  EXPECT_EQ(mankai_insert_one(file, "c", 1), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(mankai_close(file), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(mankai_confirmed_close(confirmed), MANKAI_OK);
  ASSERT_EQ(mankai_open_file(path.c_str(), nullptr, &second), MANKAI_OK) << mankai_last_error();
  const Handle again(second);
  bool has_b = true;
  bool has_c = false;
  ASSERT_EQ(mankai_may_contain_one(again.get(), "b", 1, &has_b), MANKAI_OK);
  ASSERT_EQ(mankai_may_contain_one(again.get(), "c", 1, &has_c), MANKAI_OK);
  EXPECT_FALSE(has_b);
  EXPECT_TRUE(has_c);
}

TEST(CForks, handles_for_queries_and_in_memory_work_in_a_child) {
  const Folder folder;
  const std::string path = folder.file("filter.mk");
  const Handle memory = create("bloom:keys=1000,fpr=1e-6");
  ASSERT_EQ(mankai_insert_one(memory.get(), "a", 1), MANKAI_OK);
  ASSERT_EQ(mankai_save_file(memory.get(), path.c_str(), nullptr), MANKAI_OK);
  mankai_filter* opened = nullptr;
  ASSERT_EQ(mankai_open_file_read(path.c_str(), nullptr, &opened), MANKAI_OK);
  const Handle reader(opened);
  EXPECT_EQ(test::in_child([&] {
              bool in_memory = false;
              bool in_file = false;
              bool is_changed = true;
              mankai_filter* own = nullptr;
              return mankai_may_contain_one(memory.get(), "a", 1, &in_memory) == MANKAI_OK && in_memory &&
                     mankai_insert_one(memory.get(), "b", 1) == MANKAI_OK &&
                     mankai_may_contain_one(reader.get(), "a", 1, &in_file) == MANKAI_OK && in_file &&
                     mankai_refresh(reader.get(), &is_changed) == MANKAI_OK && !is_changed &&
                     mankai_open_file(path.c_str(), nullptr, &own) == MANKAI_OK &&
                     mankai_insert_one(own, "b", 1) == MANKAI_OK && mankai_close(own) == MANKAI_OK;
            }),
            0);
  bool has_b = true;
  ASSERT_EQ(mankai_may_contain_one(memory.get(), "b", 1, &has_b), MANKAI_OK);
  EXPECT_FALSE(has_b);
}

TEST(CHandleThreads, one_handle_of_each_type_takes_calls_of_several_threads) {
  const Handles handles;
  constexpr int kTimes = 300;
  const auto change_and_ask = [&](int number) {
    for (int i = 0; i < kTimes; ++i) {
      const std::string text = "key" + std::to_string(number) + "x" + std::to_string(i) + ".example";
      const mankai_key key = key_of(text);
      bool flag = false;
      mankai_confirmed_answer answer = 0;
      mankai_lately count{};
      mankai_gate_answer maybe{};
      EXPECT_EQ(mankai_seen_observe_one(handles.seen, key.data, key.bytes, &flag), MANKAI_OK);
      EXPECT_EQ(mankai_seen_may_contain_one(handles.seen, key.data, key.bytes, &flag), MANKAI_OK);
      EXPECT_TRUE(flag);
      EXPECT_EQ(mankai_confirmed_observe_one(handles.confirmed, key.data, key.bytes, &answer), MANKAI_OK);
      EXPECT_EQ(mankai_hot_observe_one(handles.hot, key.data, key.bytes, i * std::int64_t{1'000'000}), MANKAI_OK);
      EXPECT_EQ(mankai_hot_count_one(handles.hot, key.data, key.bytes, &count), MANKAI_OK);
      EXPECT_EQ(mankai_guard_add(handles.guard, &key, 1, 0, nullptr), MANKAI_OK);
      EXPECT_EQ(mankai_guard_check(handles.guard, key.data, key.bytes, &answer, nullptr, 0, nullptr), MANKAI_OK);
      EXPECT_EQ(answer, MANKAI_GUARD_BLOCKED);
      EXPECT_EQ(mankai_gate_maybe(handles.gate, key.data, key.bytes, 0, &maybe), MANKAI_OK);
      EXPECT_EQ(mankai_gate_report(handles.gate, key.data, key.bytes, &maybe), MANKAI_OK);
      EXPECT_EQ(mankai_gate_follower_refresh(handles.follower, &flag), MANKAI_OK);
      EXPECT_EQ(mankai_gate_follower_maybe(handles.follower, key.data, key.bytes, 0, &maybe), MANKAI_OK);
    }
  };
  std::vector<std::jthread> threads;
  for (int number = 0; number < 3; ++number) {
    threads.emplace_back(change_and_ask, number);
  }
}

TEST(CDescriptions, the_library_describes_itself_in_json) {
  EXPECT_EQ(mankai_abi_version(), static_cast<std::uint32_t>(MANKAI_ABI_VERSION));
  const auto taken = [](int code, char* text) {
    EXPECT_EQ(code, MANKAI_OK) << mankai_last_error();
    const std::string copy = text == nullptr ? "" : text;
    mankai_free(text);
    return copy;
  };
  char* text = nullptr;
  const int code_of_kinds = mankai_kinds(&text);
  const std::string kinds = taken(code_of_kinds, text);
  EXPECT_NE(kinds.find(R"("name":"blocked-bloom")"), std::string::npos) << kinds;
  const int code_of_plan = mankai_plan(1000, 0.01, 0, &text);
  const std::string plan = taken(code_of_plan, text);
  EXPECT_EQ(plan.front(), '[');
  EXPECT_NE(plan.find(R"("keys":1000)"), std::string::npos) << plan;
  const int code_for_bytes = mankai_plan(1000, 0, 65536, &text);
  EXPECT_EQ(taken(code_for_bytes, text).front(), '[');
  EXPECT_EQ(mankai_plan(1000, 0.01, 65536, &text), MANKAI_INVALID_ARGUMENT);
  const Handle filter = create("bloom:keys=1000,seed=7");
  const int code_of_filter = mankai_describe(filter.get(), &text);
  const std::string description = taken(code_of_filter, text);
  EXPECT_NE(description.find(R"("capacity_keys":1000)"), std::string::npos) << description;
  EXPECT_EQ(description.back(), '}');
}

}  // namespace
}  // namespace mankai::c
