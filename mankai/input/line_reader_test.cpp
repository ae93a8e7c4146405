#include "mankai/input/line_reader.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/traffic/random.hpp"
#include "mankai/input/compress_test_support.hpp"
#include "mankai/input/test_support.hpp"

namespace mankai {
namespace {

using namespace std::string_literals;

struct ReadLines {
  std::vector<std::string> lines;
  std::optional<Error> error;
};

// Besides collecting, checks that number and offset of every batch continue those of the one before.
ReadLines read_lines(LineReader& reader) {
  ReadLines read;
  for (;;) {
    const auto batch = reader.next_batch();
    EXPECT_EQ(reader.first_line_number(), read.lines.size() + 1);
    if (!batch) {
      read.error = batch.error();
      return read;
    }
    if (batch->empty()) {
      return read;
    }
    EXPECT_LE(batch->size(), kBatchLinesMax);
    read.lines.insert(read.lines.end(), batch->begin(), batch->end());
  }
}

ReadLines read_lines(std::string_view bytes, std::size_t chunk, std::size_t max_line_bytes = 1 << 30) {
  auto reader = LineReader::create(Source::from_memory(bytes, "memory", {.buffer_bytes = chunk}),
                                   {.buffer_bytes = chunk, .max_line_bytes = max_line_bytes});
  return read_lines(reader.value());
}

TEST(LineReader, blocks_keep_their_lines_while_the_next_ones_are_read) {
  std::string text;
  for (int i = 0; i < 9000; ++i) {
    text += std::string(static_cast<std::size_t>(i % 300 == 0 ? 20'000 : i % 40), 'x') + std::to_string(i) + "\n";
  }
  text += "unfinished";
  const std::vector<std::string> expected = read_lines(text, 4096).lines;
  auto reader = LineReader::create(Source::from_memory(text, "memory"), {.buffer_bytes = 64 << 10}).value();
  std::array<LineBlock, 3> blocks;
  std::deque<std::pair<LineBlock*, std::size_t>> kept;  // and how many lines they have
  std::vector<std::string> lines;
  const auto take_oldest = [&] {
    const auto oldest = kept.front().first->lines();
    EXPECT_EQ(oldest.size(), kept.front().second);
    lines.insert(lines.end(), oldest.begin(), oldest.end());
    kept.pop_front();
  };
  for (std::size_t i = 0;; ++i) {
    if (kept.size() == blocks.size()) {
      take_oldest();
    }
    LineBlock& block = blocks[i % blocks.size()];
    const std::size_t count = reader.next_block(block).value();
    std::size_t read = lines.size();
    for (const auto& one : kept) {
      read += one.second;
    }
    EXPECT_EQ(reader.first_line_number(), read + 1);
    if (count == 0) {
      break;
    }
    kept.emplace_back(&block, count);
  }
  while (!kept.empty()) {
    take_oldest();
  }
  EXPECT_EQ(lines, expected);
}

TEST(LineReader, a_line_that_is_too_long_ends_the_blocks_after_the_lines_before_it) {
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text += std::to_string(i) + "\n";
  }
  text += std::string(1001, 'x') + "\nbehind it\n";
  const ReadLines expected = read_lines(text, 64 << 10, 1000);
  auto reader = LineReader::create(Source::from_memory(text, "memory"), {.max_line_bytes = 1000}).value();
  LineBlock block;
  std::size_t lines = 0;
  auto count = reader.next_block(block);
  for (; count; count = reader.next_block(block)) {
    ASSERT_EQ(block.lines().size(), *count);
    lines += *count;
  }
  EXPECT_EQ(lines, 3000U);
  EXPECT_EQ(count.error().message(), expected.error->message());
}

TEST(LineReader, line_ends_follow_the_documented_rules) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"", {}},
      {"\n", {""}},
      {"\n\n", {"", ""}},
      {"a", {"a"}},
      {"a\nb", {"a", "b"}},
      {"a\r\nb\r\n", {"a", "b"}},
      {"\r\n", {""}},
      {"a\r\r\n", {"a\r"}},
      {"a\rb\n", {"a\rb"}},
      {"a\r", {"a\r"}},
      {"a\0b\n\0\n"s, {"a\0b"s, "\0"s}},
      {"\xff\xfe\n", {"\xff\xfe"}},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(test::split_model(text), expected);
    for (std::size_t chunk = 1; chunk < 10; ++chunk) {
      EXPECT_EQ(read_lines(text, chunk).lines, expected);
    }
  }
}

TEST(LineReader, agrees_with_the_model_on_all_short_texts) {
  constexpr std::string_view kAlphabet = "a\r\n";
  for (std::size_t length = 0; length <= 6; ++length) {
    std::vector<std::size_t> digits(length + 1, 0);
    while (digits[length] == 0) {
      std::string text;
      for (std::size_t i = 0; i < length; ++i) {
        text += kAlphabet[digits[i]];
      }
      for (std::size_t chunk = 1; chunk <= 4; ++chunk) {
        ASSERT_EQ(read_lines(text, chunk).lines, test::split_model(text));
      }
      std::size_t place = 0;
      while (++digits[place] == kAlphabet.size() && place < length) {
        digits[place++] = 0;
      }
    }
  }
}

TEST(LineReader, agrees_with_the_model_on_random_texts_at_every_chunk_size) {
  constexpr std::array kAlphabet = {'a', 'b', '\r', '\n', '\0'};
  detail::Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::string text(random.below(200), ' ');
    for (char& character : text) {
      character = kAlphabet[random.below(kAlphabet.size())];
    }
    for (std::size_t chunk = 1; chunk <= text.size() + 1; chunk += 1 + random.below(5)) {
      ASSERT_EQ(read_lines(text, chunk).lines, test::split_model(text));
    }
  }
}

TEST(LineReader, every_format_gives_the_same_lines) {
  const std::string text = test::random_lines(700'000, 8);
  const std::vector<std::string> expected = test::split_model(text);
  for (const Compression format : {Compression::plain, Compression::gzip, Compression::zstd, Compression::xz}) {
    const ReadLines read = read_lines(test::pack(format, text), 1 << 16);
    EXPECT_FALSE(read.error.has_value());
    EXPECT_TRUE(read.lines == expected) << name(format);
  }
}

TEST(LineReader, batches_are_full_when_the_buffer_holds_enough_lines) {
  const std::string text(3 * kBatchLinesMax, '\n');
  auto reader = LineReader::create(Source::from_memory(text, "memory"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(reader->next_batch().value().size(), kBatchLinesMax);
  }
  EXPECT_TRUE(reader->next_batch().value().empty());
  EXPECT_TRUE(reader->next_batch().value().empty());
}

TEST(LineReader, the_number_is_that_of_the_first_line_of_the_batch) {
  const std::string text = "one\r\ntwo\nthree\nlast";
  auto reader = LineReader::create(Source::from_memory(text, "memory", {.buffer_bytes = 10}), {.buffer_bytes = 10});
  std::uint64_t line_number = 1;
  std::size_t batches = 0;
  for (;;) {
    const auto batch = reader->next_batch().value();
    if (batch.empty()) {
      break;
    }
    ++batches;
    EXPECT_EQ(reader->first_line_number(), line_number);
    line_number += batch.size();
  }
  EXPECT_EQ(line_number, 5U);
  EXPECT_GE(batches, 2U);
}

TEST(LineReader, a_line_of_10_MB_is_one_line) {
  std::string longest = test::random_lines(10'000'000, 9);
  std::replace(longest.begin(), longest.end(), '\n', '\r');
  longest.back() = 'x';
  const ReadLines read = read_lines(test::join({"before\n", longest, "\nafter"}), 1 << 12);
  EXPECT_FALSE(read.error.has_value());
  ASSERT_EQ(read.lines.size(), 3U);
  EXPECT_TRUE(read.lines[1] == longest);
  EXPECT_EQ(read.lines[2], "after");
}

TEST(LineReader, the_line_limit_holds_at_every_chunk_size) {
  for (std::size_t chunk = 1; chunk < 40; ++chunk) {
    for (const std::string end : {"", "\n", "\r\n"}) {
      const std::size_t cr = end.size() == 2 ? 1 : 0;
      const std::string fits(20 - cr, 'x');
      EXPECT_EQ(read_lines(test::join({"a\n", fits, end}), chunk, 20).lines, (std::vector<std::string>{"a", fits}));
      const ReadLines read = read_lines(test::join({"a\nb\n", fits, "x", end}), chunk, 20);
      EXPECT_EQ(read.lines, (std::vector<std::string>{"a", "b"}));
      ASSERT_TRUE(read.error.has_value()) << chunk;
      EXPECT_EQ(read.error->code, ErrorCode::out_of_space);
      EXPECT_EQ(read.error->detail, "memory: line 3 at byte 4 is longer than 20 bytes; check that the input is text");
    }
  }
}

TEST(LineReader, complete_lines_come_before_the_error_and_the_error_repeats) {
  const std::string text = test::random_lines(700'000, 10);
  for (const Compression format : {Compression::gzip, Compression::zstd, Compression::xz}) {
    const std::string packed = test::pack(format, text);
    auto reader = LineReader::create(Source::from_memory({packed.data(), packed.size() - 10}, "cut.log"));
    const ReadLines read = read_lines(reader.value());
    ASSERT_TRUE(read.error.has_value());
    EXPECT_EQ(read.error->code, ErrorCode::corrupt);
    EXPECT_TRUE(read.error->detail.starts_with("cut.log: ")) << read.error->detail;
    const std::vector<std::string> expected = test::split_model(text);
    EXPECT_FALSE(read.lines.empty());
    ASSERT_LE(read.lines.size(), expected.size());
    EXPECT_TRUE(std::equal(read.lines.begin(), read.lines.end(), expected.begin()));
    EXPECT_FALSE(reader->next_batch().has_value());
  }
}

TEST(LineReader, a_stalled_pipe_gets_its_complete_lines_delivered) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  auto reader = LineReader::create(Source::from_descriptor(ends[0], "pipe").value());
  ASSERT_EQ(write(ends[1], "a\nb\nhal", 7), 7);
  EXPECT_EQ(reader->next_batch().value().size(), 2U);
  ASSERT_EQ(write(ends[1], "f\n", 2), 2);
  const auto batch = reader->next_batch().value();
  ASSERT_EQ(batch.size(), 1U);
  EXPECT_EQ(batch[0], "half");
  EXPECT_EQ(reader->first_line_number(), 3U);
  close(ends[1]);
  EXPECT_TRUE(reader->next_batch().value().empty());
  close(ends[0]);
}

TEST(LineReader, sizes_of_zero_are_refused) {
  EXPECT_FALSE(LineReader::create(Source::from_memory("", "memory"), {.buffer_bytes = 0}).has_value());
  EXPECT_FALSE(LineReader::create(Source::from_memory("", "memory"), {.max_line_bytes = 0}).has_value());
}

}  // namespace
}  // namespace mankai
