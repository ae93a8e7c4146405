// Filters of the Redis module in pieces that are not what they claim to be: cut, altered in one bit, out of order, or
// made by somebody who knows the checksums. Every one is refused or gives a filter that behaves; none crashes (run
// under sanitizers too), and none makes the reader allocate before its header has been believed. The same payloads
// through a real server: tests/redis/persistence_test.py.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/dump_pieces.hpp"
#include "tests/support/engine_memory.hpp"
#include "tests/support/image_edit.hpp"

namespace mankai::test {
namespace {

using Bytes = std::vector<std::byte>;
using redis::BloomSettings;
using redis::BloomValue;

constexpr std::size_t kOuterHeader = kDumpPrefixBytes;
constexpr std::size_t kFirstSlice = kDumpPrefixBytes + sizeof(ImageHeader);
constexpr std::size_t kMostCells = 192;

struct Shape {
  const char* name;
  BloomSettings settings;
  std::size_t keys;
};

std::vector<Shape> shapes() {
  return {
      {"empty", {.capacity_keys = 10, .fpr = 0.1, .expansion = 2, .hash = {}}, 0},
      {"one slice", {.capacity_keys = 200, .fpr = 0.01, .expansion = 2, .hash = {}}, 150},
      {"grown", {.capacity_keys = 10, .fpr = 0.1, .expansion = 2, .hash = {}}, 300},
      {"grown by nothing", {.capacity_keys = 40, .fpr = 0.01, .expansion = 1, .hash = {}}, 200},
      {"deletable", {.capacity_keys = 10, .fpr = 0.1, .expansion = 2, .is_deletable = true, .hash = {}}, 30},
      {"nonscaling, full", {.capacity_keys = 60, .fpr = 0.01, .expansion = 0, .is_nonscaling = true, .hash = {}}, 90},
  };
}

// A fresh count, so that each test sees what it caused itself.
class CorruptDump : public testing::TestWithParam<Shape> {
 public:
  CorruptDump(const CorruptDump&) = delete;
  CorruptDump& operator=(const CorruptDump&) = delete;

 protected:
  CorruptDump() { engine_memory_use() = {}; }
  ~CorruptDump() override { engine_memory_use() = {}; }

  static BloomValue filter() { return make_dumped(GetParam().settings, GetParam().keys); }
};

INSTANTIATE_TEST_SUITE_P(Shapes, CorruptDump, testing::ValuesIn(shapes()),
                         [](const auto& shape) { return std::to_string(shape.index); });

std::size_t allocations_of(std::span<const std::byte> header, bool& is_taken) {
  const std::size_t before = engine_memory_use().calls;
  is_taken = begin_dump(header).has_value();
  return engine_memory_use().calls - before;
}

void expect_refused_unallocated(std::span<const std::byte> header, const std::string& what) {
  bool is_taken = false;
  EXPECT_EQ(allocations_of(header, is_taken), 0U) << what;
  EXPECT_FALSE(is_taken) << what;
}

void expect_same(const BloomValue& value, const BloomValue& original) {
  EXPECT_EQ(dumped_answers(value), dumped_answers(original));
  EXPECT_EQ(dump_header(value), dump_header(original));
  EXPECT_EQ(value.is_nonscaling(), original.is_nonscaling());
}

TEST_P(CorruptDump, pieces_of_any_size_give_the_same_filter) {
  const BloomValue original = filter();
  for (const std::size_t most_cells : {std::size_t{1}, std::size_t{63}, kMostCells, redis::kMaxPieceCells}) {
    const auto again = assembled(dump_of(original, most_cells));
    ASSERT_TRUE(again.has_value()) << again.error().message();
    expect_same(*again, original);
  }
}

TEST_P(CorruptDump, a_header_that_is_cut_or_longer_is_refused) {
  Bytes header = dump_header(filter());
  for (std::size_t length = 0; length < header.size(); ++length) {
    expect_refused_unallocated(std::span(header).first(length), std::to_string(length));
    Bytes sealed(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(length));
    fix_piece(sealed, kDumpHeaderPlace);
    expect_refused_unallocated(sealed, std::to_string(length) + ", its checksum right");
  }
  header.resize(header.size() + sizeof(ImageHeader));
  fix_piece(header, kDumpHeaderPlace);
  expect_refused_unallocated(header, "a slice more than it says");
}

TEST_P(CorruptDump, a_bit_that_flips_in_a_header_is_noticed) {
  Bytes header = dump_header(filter());
  for (std::size_t bit = 0; bit < header.size() * 8; ++bit) {
    const auto mask = std::byte{1} << (bit % 8);
    header[bit / 8] ^= mask;
    expect_refused_unallocated(header, "bit " + std::to_string(bit));
    header[bit / 8] ^= mask;
  }
}

// Only the outermost checksum is made right: those of the image's headers stand behind it, and what neither covers is
// checked for itself.
TEST_P(CorruptDump, a_bit_that_flips_under_a_right_checksum_is_noticed) {
  constexpr std::size_t kNonscalingByte = 10;  // 0 or 1, and either is a filter
  const Bytes original = dump_header(filter());
  for (std::size_t bit = 0; bit < (original.size() - redis::kPieceChecksumBytes) * 8; ++bit) {
    if (bit == kNonscalingByte * 8) {
      continue;
    }
    Bytes header = original;
    header[bit / 8] ^= std::byte{1} << (bit % 8);
    fix_piece(header, kDumpHeaderPlace);
    expect_refused_unallocated(header, "bit " + std::to_string(bit));
  }
}

// Nothing but the checks of values themselves is left: what they let through must behave as a filter.
TEST_P(CorruptDump, a_bit_that_flips_under_right_checksums_does_no_harm) {
  const Dump original = dump_of(filter(), redis::kMaxPieceCells);
  engine_memory_use().most_bytes = std::size_t{1} << 20;
  for (std::size_t bit = kOuterHeader * 8; bit < (original.header.size() - redis::kPieceChecksumBytes) * 8; ++bit) {
    Dump dump = original;
    dump.header[bit / 8] ^= std::byte{1} << (bit % 8);
    for (std::size_t at = kOuterHeader; at + sizeof(ImageHeader) < dump.header.size(); at += sizeof(ImageHeader)) {
      fix_header_checksum(std::span(dump.header).subspan(at, sizeof(ImageHeader)));
    }
    fix_piece(dump.header, kDumpHeaderPlace);
    if (const auto value = assembled(dump); value) {
      EXPECT_EQ(dumped_answers(*value).size(), dumped_answers(filter()).size());
      EXPECT_TRUE(assembled(dump_of(*value, kMostCells)).has_value()) << "bit " << bit;
    }
  }
  EXPECT_EQ(engine_memory_use().bytes_in_use, 0U);
}

// Sizes that no machine has, with right checksums; small blocks would be granted.
TEST_P(CorruptDump, a_size_that_is_forged_is_not_allocated) {
  const Bytes original = dump_header(filter());
  for (const std::uint64_t cells : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{64} << 10, std::uint64_t{1} << 40,
                                    kMaxImageBytes, std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{63}}) {
    for (const std::size_t at : {kOuterHeader, kFirstSlice}) {
      Bytes header = original;
      const auto image = std::span(header).subspan(at, sizeof(ImageHeader));
      ImageHeader fields = header_of(image);
      fields.cells_bytes = cells;
      set_header(image, fields);
      fix_header_checksum(image);
      fix_piece(header, kDumpHeaderPlace);
      expect_refused_unallocated(header, std::to_string(cells) + " at " + std::to_string(at));
    }
  }
}

// The header of a filter of 16 TiB in one slice. Both image headers agree, so it is believed.
Bytes header_of_a_huge_filter() {
  const Shape shape = shapes()[0];
  Bytes header = dump_header(make_dumped(shape.settings, shape.keys));
  constexpr std::uint64_t kCells = std::uint64_t{1} << 44;
  constexpr std::uint64_t kTrailer = (kCells / kChunkBytes + 1) * sizeof(std::uint64_t);
  const auto set_cells = [&header](std::size_t at, std::uint64_t cells) {
    const auto image = std::span(header).subspan(at, sizeof(ImageHeader));
    ImageHeader fields = header_of(image);
    fields.cells_bytes = cells;
    set_header(image, fields);
    fix_header_checksum(image);
  };
  set_cells(kFirstSlice, kCells);
  set_cells(kOuterHeader,
            (sizeof(ImageHeader) + kCells + kTrailer + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes);
  fix_piece(header, kDumpHeaderPlace);
  return header;
}

// A piece of cells that are all zero, with a right checksum.
Bytes zero_piece(std::uint64_t start, std::size_t cells) {
  Bytes piece(cells + redis::kPieceChecksumBytes);
  fix_piece(piece, start);
  return piece;
}

TEST(ForgedDump, a_size_that_is_only_announced_takes_no_memory) {
  const Bytes header = header_of_a_huge_filter();
  engine_memory_use() = {};
  auto assembly = begin_dump(header).value();
  EXPECT_EQ(engine_memory_use().calls, 0U);
  std::uint64_t received = 0;
  for (const std::size_t cells : {1U, 100U, 63U, 5000U, 1U, 1U << 20, 64U}) {
    const std::uint64_t end = received + cells;
    ASSERT_TRUE(assembly.add(end, zero_piece(received, cells)).has_value());
    received = end;
    EXPECT_LE(engine_memory_use().bytes_in_use, 2 * (received + 2 * sizeof(ImageHeader)));
    EXPECT_LE(assembly.memory_bytes(), 2 * (received + 2 * sizeof(ImageHeader)) + 1024);
  }
}

TEST(ForgedDump, a_piece_without_memory_can_be_sent_again) {
  auto assembly = begin_dump(header_of_a_huge_filter()).value();
  engine_memory_use() = {.most_bytes = 1024};
  const auto refused = assembly.add(4096, zero_piece(0, 4096));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_space);
  EXPECT_EQ(assembly.received_bytes(), 0U);
  engine_memory_use().most_bytes = std::size_t{1} << 20;
  EXPECT_TRUE(assembly.add(4096, zero_piece(0, 4096)).has_value());
  EXPECT_FALSE(assembly.make_room(std::uint64_t{1} << 40).has_value());
  EXPECT_TRUE(assembly.add(8192, zero_piece(4096, 4096)).has_value());
  engine_memory_use().most_bytes = SIZE_MAX;
}

TEST_P(CorruptDump, a_piece_that_is_cut_or_changed_is_refused_and_the_right_one_goes_on) {
  const BloomValue original = filter();
  const Dump dump = dump_of(original, kMostCells);
  auto assembly = begin_dump(dump.header).value();
  for (const Dump::Piece& piece : dump.pieces) {
    const std::uint64_t received = assembly.received_bytes();
    for (std::size_t length = 0; length < piece.bytes.size(); ++length) {
      ASSERT_FALSE(assembly.add(piece.end, std::span(piece.bytes).first(length)).has_value()) << length;
    }
    Bytes changed = piece.bytes;
    for (std::size_t bit = 0; bit < changed.size() * 8; ++bit) {
      changed[bit / 8] ^= std::byte{1} << (bit % 8);
      ASSERT_FALSE(assembly.add(piece.end, changed).has_value()) << bit;
      changed[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    ASSERT_EQ(assembly.received_bytes(), received);
    ASSERT_TRUE(assembly.add(piece.end, piece.bytes).has_value());
  }
  expect_same(BloomValue::from_image(assembly.finish()).value(), original);
}

TEST_P(CorruptDump, a_piece_in_another_place_is_refused) {
  const BloomValue original = filter();
  const Dump dump = dump_of(original, 64);
  auto assembly = begin_dump(dump.header).value();
  for (const Dump::Piece& piece : dump.pieces) {
    for (const std::uint64_t end : {std::uint64_t{0}, piece.end - 1, piece.end + 1, piece.end + 64,
                                    dump.pieces.back().end + 1, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
      ASSERT_FALSE(assembly.add(end, piece.bytes).has_value()) << end;
    }
    ASSERT_TRUE(assembly.add(piece.end, piece.bytes).has_value());
    ASSERT_TRUE(assembly.add(piece.end, piece.bytes).has_value()) << "it may come again";
  }
  ASSERT_TRUE(assembly.add(dump.pieces[0].end, dump.pieces[0].bytes).has_value());
  expect_same(BloomValue::from_image(assembly.finish()).value(), original);
}

// Half of a filter is kept in RDB files too.
TEST_P(CorruptDump, what_has_come_so_far_can_itself_be_put_together) {
  const BloomValue original = filter();
  const Dump dump = dump_of(original, 64);
  auto half = begin_dump(dump.header).value();
  for (std::size_t i = 0; i < dump.pieces.size(); ++i) {
    ASSERT_EQ(redis::header_of(BloomValue::kFamily, half.parts()), dump.header);
    auto copy = begin_dump(redis::header_of(BloomValue::kFamily, half.parts())).value();
    for (std::uint64_t start = 0; start < half.received_bytes();) {
      const Bytes piece = redis::piece_of(half.parts(), start, 100);
      start += piece.size() - redis::kPieceChecksumBytes;
      ASSERT_TRUE(copy.add(start, piece).has_value());
    }
    ASSERT_TRUE(redis::piece_of(half.parts(), half.received_bytes()).empty());
    half = std::move(copy);
    ASSERT_TRUE(half.add(dump.pieces[i].end, dump.pieces[i].bytes).has_value());
  }
  expect_same(BloomValue::from_image(half.finish()).value(), original);
}

}  // namespace
}  // namespace mankai::test
