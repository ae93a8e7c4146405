// Every image in this folder, and every kind's examples, whatever the kind: a file opens, says of itself and of 20000
// keys what it always said, and is written again byte for byte; and today's code makes of each example the image that
// it made when the example was added. golden.tsv pins both. When it is legitimate to change a line stands in
// golden_test.cpp; to add one (a file that was put here, a new kind or example) is not a change.
//
// To add the lines that are missing, and a file for a kind that has none:
// golden_test --gtest_also_run_disabled_tests --gtest_filter='GoldenFiles.*write*', in tests/golden.

#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "tests/golden/golden_test_support.hpp"
#include "tests/support/image_edit.hpp"
#include "tests/support/requests.hpp"

namespace mankai::test::golden::files {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = MANKAI_GOLDEN_DIR;
const fs::path kTable = "golden.tsv";

std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016" PRIx64, value);
  return text;
}

std::string sum_of(std::span<const std::byte> bytes) { return hex(golden::sum_of(bytes)); }
std::string sum_of(std::string_view text) { return sum_of(std::as_bytes(std::span(text))); }

// Nine digits: further ones are the mathematical library's.
std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

/// All that a filter says of itself.
std::string description_of_filter(const AnyFilter& filter) {
  const FilterInfo info = filter.describe();
  std::string text = std::string(filter.kind().name) + ' ' + std::to_string(info.keys_inserted);
  for (const std::uint64_t number : {info.capacity_keys, info.cell_count, info.cells_bytes, info.image_bytes,
                                     std::uint64_t{info.probes_per_key}, std::uint64_t{info.canonical_version}}) {
    text += ' ' + std::to_string(number);
  }
  for (const double number :
       {info.fpr_target, info.fill_ratio, info.fpr_estimate, info.keys_estimate, info.lines_per_key}) {
    text += ' ' + text_of(number);
  }
  for (const InfoField& field : info.fields) {
    text += ' ' + field.name + '=';
    std::visit(
        [&](const auto& value) {
          using Value = std::remove_cvref_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::string>) {
            text += value;
          } else if constexpr (std::is_same_v<Value, double>) {
            text += text_of(value);
          } else {
            text += std::to_string(value);
          }
        },
        field.value);
  }
  return text;
}

/// What a filter answers about 20000 keys, some of which the files have: a byte each, and counts where there are any.
std::string answers_of(const AnyFilter& filter) {
  constexpr int kAsked = 20000;
  std::vector<std::string> keys;
  for (int i = 0; i < kAsked; ++i) {
    keys.push_back("https://example.org/" + std::string(i % 2 == 0 ? "golden/" : "growing/") + std::to_string(i / 2));
  }
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  Flags found(keys.size());
  filter.may_contain(views, found.span());
  std::string answers;
  for (const bool each : found.span()) {
    answers += each ? '\1' : '\0';
  }
  std::vector<KeyCount> counts(keys.size());
  std::vector<DecayedCount> decayed(keys.size());
  if (filter.kind().counts_decay) {
    filter.count(views, decayed).value();
    for (const DecayedCount& count : decayed) {
      answers += text_of(count.raw) + (count.is_saturated ? '!' : ' ');
    }
  } else if (filter.kind().can_count) {
    filter.count(views, counts).value();
    for (const KeyCount& count : counts) {
      answers += std::to_string(count.value) + (count.is_saturated ? '!' : ' ');
    }
  }
  return answers;
}

/// The images in the folder; those of stores, with a footer and a journal, are store_golden_test.cpp's.
std::set<std::string> files() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".mk") && !name.starts_with("store_")) {
      names.insert(name);
    }
  }
  return names;
}

/// An example, always of the same seed.
std::set<std::string> example_names() {
  std::set<std::string> names;
  for (const KindDescription* kind : kinds()) {
    for (const std::string_view text : kind->examples) {
      names.insert(std::string(kind->name) + ":" + std::string(text) + ",seed=1");
    }
  }
  return names;
}

/// The example's filter after thirty requests.
AnyFilter used(const std::string& spec) {
  constexpr int kRequests = 30;
  constexpr std::size_t kKeys = 40;
  AnyFilter filter = filter_of(spec);
  ChangeEncoder encoder(filter);
  RequestMaker maker(filter, 1);
  for (int i = 0; i < kRequests; ++i) {
    filter.apply(encoded(encoder, maker.next(kKeys)).value()).value();
  }
  return filter;
}

/// A line of the table without its name: the sums of the image, of the description and of the answers.
std::string line_of(const AnyFilter& filter) {
  return sum_of(filter.to_bytes()) + '\t' + sum_of(description_of_filter(filter)) + '\t' + sum_of(answers_of(filter));
}

std::string line_of_file(const std::string& name) {
  const auto opened = filter_from_region(region_of(read(kFolder / name)), Trust::checked);
  return opened ? line_of(*opened) : opened.error().message();
}

std::map<std::string, std::string> table() {
  std::map<std::string, std::string> lines;
  std::ifstream file(kFolder / kTable);
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    lines.emplace(line.substr(0, tab), line.substr(tab + 1));
  }
  return lines;
}

TEST(GoldenFiles, every_file_opens_and_says_and_answers_what_it_always_did) {
  const auto pinned = table();
  for (const std::string& name : files()) {
    ASSERT_TRUE(pinned.contains(name)) << name << " has no line in golden.tsv; the top of this file says how to add it";
    EXPECT_EQ(line_of_file(name), pinned.at(name)) << name;
  }
}

TEST(GoldenFiles, every_file_is_written_again_byte_for_byte) {
  for (const std::string& name : files()) {
    const Bytes bytes = read(kFolder / name);
    for (const Trust trust : {Trust::checked, Trust::fast}) {
      auto opened = filter_from_region(region_of(bytes), trust);
      ASSERT_TRUE(opened.has_value()) << name << ": " << opened.error().message();
      EXPECT_EQ(opened->to_bytes(), bytes) << name;
      EXPECT_EQ(joined(opened->seal_parts()), bytes) << name;
      EXPECT_TRUE(opened->verify().has_value()) << name;
    }
  }
}

TEST(GoldenFiles, todays_code_makes_of_every_example_what_it_always_did) {
  const auto pinned = table();
  for (const std::string& spec : example_names()) {
    ASSERT_TRUE(pinned.contains(spec)) << spec << " has no line in golden.tsv; the top of this file says how to add it";
    EXPECT_EQ(line_of(used(spec)), pinned.at(spec)) << spec;
  }
}

TEST(GoldenFiles, every_kind_has_a_file) {
  std::set<Kind> found;
  for (const std::string& name : files()) {
    found.insert(Kind{header_of(read(kFolder / name)).kind});
  }
  for (const KindDescription* kind : kinds()) {
    EXPECT_TRUE(found.contains(kind->kind)) << kind->name;
  }
}

TEST(GoldenFiles, every_line_is_of_a_file_or_an_example_that_is_there) {
  const auto names = files();
  const auto specs = example_names();
  for (const auto& [name, line] : table()) {
    EXPECT_TRUE(names.contains(name) || specs.contains(name)) << name;
  }
}

// Only what is missing: a line that is there stays.
TEST(GoldenFiles, DISABLED_write) {
  std::set<Kind> found;
  for (const std::string& name : files()) {
    found.insert(Kind{header_of(read(kFolder / name)).kind});
  }
  for (const KindDescription* kind : kinds()) {
    if (!found.contains(kind->kind)) {
      std::string name(kind->name);
      std::ranges::replace(name, '-', '_');
      const Bytes bytes =
          used(std::string(kind->name) + ":" + std::string(kind->examples.front()) + ",seed=1").to_bytes();
      write(path_of(name), bytes);
    }
  }
  auto lines = table();
  for (const std::string& name : files()) {
    lines.try_emplace(name, line_of_file(name));
  }
  for (const std::string& spec : example_names()) {
    lines.try_emplace(spec, line_of(used(spec)));
  }
  std::ofstream file(kFolder / kTable);
  for (const auto& [name, line] : lines) {
    file << name << '\t' << line << '\n';
  }
}

}  // namespace
}  // namespace mankai::test::golden::files
