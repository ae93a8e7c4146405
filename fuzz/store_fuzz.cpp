// A store's two files from outside. Byte 0 chooses the filter, byte 1 says what happens to the rest: it is both files,
// the first one's length in two bytes; or a good file with a footer of 512 bytes from the input, in its first copy or
// in both, and a journal with a
// superblock of 64 bytes and records from it, whose checksums are made right, so that changes are done.
//
// A reader and a writer find the same: an error about the bytes, or a filter whose image opens.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/store/detail/load_store.hpp"
#include "tests/support/journal_edit.hpp"
#include "tests/support/memory_files.hpp"
#include "tests/support/requests.hpp"

namespace {

using namespace mankai;
using Bytes = std::vector<std::byte>;
using Input = std::span<const std::byte>;

enum Mode : std::uint8_t {
  whole = 1,           ///< the input is both files
  no_journal = 2,      ///< there is none
  fix_footer = 4,      ///< its magic, version, size of the image and checksum
  fix_superblock = 8,  ///< its magic, version, start and checksum, and that it belongs to the file
  fix_records = 16,    ///< their checksums
  fix_sequences = 32,  ///< and that the records begin behind the file's last change
  second_footer = 64,  ///< the second copy is there
};

struct Files {
  Bytes file;
  std::optional<Bytes> journal;
};

/// Takes bytes from the front, zeros where there are none.
template <class T>
T take(Input& input) {
  T value{};
  const std::size_t size = std::min(input.size(), sizeof(value));
  std::memcpy(&value, input.data(), size);
  input = input.subspan(size);
  return value;
}

Bytes copy_of(Input bytes) { return {bytes.begin(), bytes.end()}; }

StoreFooter footer_of(std::uint8_t mode, Input& input, std::size_t image_bytes) {
  auto footer = take<StoreFooter>(input);
  if ((mode & fix_footer) != 0) {
    footer.magic = kFooterMagic;
    footer.version = kFooterVersion;
    footer.is_open %= 2;
    footer.image_bytes = image_bytes;
    footer.position_bytes = static_cast<std::uint32_t>(footer.position_bytes % (kMaxPositionBytes + 1));
    footer.zero = 0;
    footer.zeros = {};
    footer.generation -= footer.generation % kFooterCopies;
    footer = test::with_checksum(footer);
  }
  return footer;
}

Bytes journal_of(std::uint8_t mode, Input input, const StoreFooter& footer) {
  auto block = take<Superblock>(input);
  if ((mode & fix_sequences) != 0) {
    block.first_sequence = footer.sequence + 1;
  }
  if ((mode & fix_superblock) != 0) {
    block.magic = kJournalMagic;
    block.version = kJournalVersion;
    block.store_id = footer.store_id;
    block.start = kFirstRecord;
    block = test::with_checksum(block);
  }
  Bytes journal(kFirstRecord);
  test::put_superblock(journal, block);
  journal.insert(journal.end(), input.begin(), input.end());
  if ((mode & fix_records) != 0) {
    test::fix_records(std::span(journal).subspan(kFirstRecord), block, (mode & fix_sequences) != 0);
  }
  return journal;
}

Files files_of(std::string_view spec, std::uint8_t mode, Input input) {
  if ((mode & whole) != 0) {
    const auto size = std::min<std::size_t>(take<std::uint16_t>(input), input.size());
    return {.file = copy_of(input.first(size)), .journal = copy_of(input.subspan(size))};
  }
  Bytes file = test::image_of(test::filter_of(spec));
  const StoreFooter footer = footer_of(mode, input, file.size());
  const std::size_t image_bytes = file.size();
  file.resize(store_bytes(image_bytes));
  std::memcpy(file.data() + footer_offset(image_bytes, 0), &footer, sizeof(footer));
  if ((mode & second_footer) != 0) {
    auto second = footer;
    second.generation += 1;
    second = test::with_checksum(second);
    std::memcpy(file.data() + footer_offset(image_bytes, 1), &second, sizeof(second));
  }
  return {.file = std::move(file), .journal = journal_of(mode, input, footer)};
}

void check_image(const AnyFilter& filter, const Bytes& image) {
  auto region = Region::allocate(system_memory(), image.size()).value();
  std::ranges::copy(image, region.bytes().begin());
  const auto again = filter_from_region(std::move(region), Trust::checked);
  MANKAI_ASSERT(again.has_value() && test::info_of(*again).kind == test::info_of(filter).kind);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) {
    return 0;
  }
  const std::uint8_t mode = data[1];
  Files made = files_of(test::example_spec_of(data[0]), mode, std::as_bytes(std::span(data + 2, size - 2)));
  test::MemoryFiles files;
  files.put("f.mk", std::move(made.file));
  if (made.journal && (mode & no_journal) == 0) {
    files.put("f.mk-journal", std::move(*made.journal));
  }
  const auto read = detail::load_store("f.mk", {.access = Access::query, .calls = &files});
  const auto written = detail::load_store("f.mk", {.access = Access::change, .calls = &files, .is_writer = true});
  MANKAI_ASSERT(read.has_value() == written.has_value());
  if (!read) {
    const ErrorCode code = read.error().code;
    MANKAI_ASSERT(code == written.error().code);
    MANKAI_ASSERT(code == ErrorCode::corrupt || code == ErrorCode::unsupported_version ||
                  code == ErrorCode::out_of_space);
    MANKAI_ASSERT(read.error().detail.starts_with("f.mk"));
    return 0;
  }
  const Bytes image = test::image_of(read->filter);
  MANKAI_ASSERT(image == test::image_of(written->filter) && read->report.sequence == written->report.sequence);
  check_image(read->filter, image);
  return 0;
}
