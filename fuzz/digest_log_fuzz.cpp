// The files of a digest log from outside, on a disk in memory. Byte 0 says which file is changed and which checksums
// are made right afterwards; then three bytes each are a change: where, and to what.
//
// A log whose checksums were left alone holds nothing that was never added, or does not open; one whose checksums were
// forged behaves. What is added is there afterwards in any case, also when the log is opened again.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/file/file.hpp"
#include "mankai/hash/checksum.hpp"
#include "mankai/seen/digest_log.hpp"
#include "tests/support/simulated_disk.hpp"

namespace {

using namespace mankai;

const std::string kPath = "/disk/f.log";
const std::string kRunPath = "/disk/f.log-run-1";
constexpr std::size_t kRecent = 9;
constexpr std::uint64_t kDigests = 12;
constexpr std::uint64_t kPerBatch = 3;
constexpr std::size_t kChangesMax = 200;
constexpr std::size_t kChangeBytes = 3;

enum Mode : std::uint8_t { change_run = 1, fix_header = 2, fix_footer = 4, cut = 8, fix_batch = 16 };
constexpr unsigned kForged = fix_header | fix_footer | fix_batch;

const DigestLogKeys kKeys = {.first = {.kind = HashKind::xxh3, .seed = {1, 0}},
                             .second = {.kind = HashKind::xxh3, .seed = {2, 0}}};

Result<DigestLog> open(FileCalls& calls) {
  return DigestLog::open(kPath, kKeys, {.recent_digests = kRecent, .calls = &calls});
}

WideDigest digest(std::uint64_t number) {
  return {.first = mix_integer(number, 1).value, .second = mix_integer(number, 2).value};
}

std::vector<std::byte> file(FileCalls& calls, const std::string& path) {
  const auto region = read_file(path, system_memory(), calls);
  return {region->bytes().begin(), region->bytes().end()};
}

// A run of nine digests and a batch of three.
void make_log(FileCalls& calls) {
  auto log = open(calls);
  for (std::uint64_t number = 0; number < kDigests; ++number) {
    log->add(digest(number));
    if (number % kPerBatch == kPerBatch - 1) {
      MANKAI_ASSERT(log->commit().has_value());
    }
  }
  MANKAI_ASSERT(log->runs() == 1);
}

void fix(std::span<std::byte> bytes) {
  const std::size_t end = bytes.size() - sizeof(std::uint64_t);
  const std::uint64_t sum = checksum(bytes.first(end));
  std::memcpy(bytes.data() + end, &sum, sizeof(sum));
}

// Of the first batch, whatever it says of itself.
void fix_first_batch(std::span<std::byte> bytes) {
  DigestLogHeader header;
  DigestBatchHeader batch;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::memcpy(&batch, bytes.data() + sizeof(header), sizeof(batch));
  const auto digests = bytes.subspan(sizeof(header) + sizeof(batch));
  const std::size_t said = std::min<std::size_t>(digests.size() / sizeof(WideDigest), batch.digests);
  batch.digests_checksum = checksum(digests.first(said * sizeof(WideDigest)), header.salt + 1);
  batch.checksum = checksum(std::as_bytes(std::span(&batch, 1)).subspan(sizeof(batch.checksum)), header.salt);
  std::memcpy(bytes.data() + sizeof(header), &batch, sizeof(batch));
}

void change(std::vector<std::byte>& bytes, std::span<const std::uint8_t> input, unsigned mode) {
  for (std::size_t i = 0; i + kChangeBytes <= input.size() && i < kChangesMax * kChangeBytes; i += kChangeBytes) {
    const std::size_t place = (std::size_t{input[i]} << 8 | input[i + 1]) % bytes.size();
    bytes[place] = static_cast<std::byte>(input[i + 2]);
  }
  if ((mode & cut) != 0 && !input.empty()) {
    bytes.resize(bytes.size() - std::min<std::size_t>(bytes.size(), input[0]));
  }
  if ((mode & fix_header) != 0 && bytes.size() >= sizeof(DigestLogHeader)) {
    fix(std::span(bytes).first(sizeof(DigestLogHeader)));
  }
  if ((mode & fix_batch) != 0 && bytes.size() >= sizeof(DigestLogHeader) + sizeof(DigestBatchHeader)) {
    fix_first_batch(bytes);
  }
  if ((mode & fix_footer) != 0 && bytes.size() >= sizeof(DigestRunFooter)) {
    fix(std::span(bytes).last(sizeof(DigestRunFooter)));
  }
}

void check(const DigestLog& log, bool is_forged) {
  std::uint64_t known = 0;
  for (std::uint64_t number = 0; number < kDigests; ++number) {
    known += static_cast<std::uint64_t>(log.contains(digest(number)));
  }
  std::uint64_t digests = 0;
  MANKAI_ASSERT(log.for_each([&](std::span<const WideDigest> piece) { digests += piece.size(); }).has_value());
  MANKAI_ASSERT(digests == log.digests());
  MANKAI_ASSERT(is_forged || known == digests);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const unsigned mode = data[0];
  test::SimulatedDisk disk;
  make_log(disk);
  const std::string& path = (mode & change_run) != 0 ? kRunPath : kPath;
  std::vector<std::byte> bytes = file(disk, path);
  change(bytes, {data + 1, size - 1}, mode);
  MANKAI_ASSERT(write_file(path, bytes, Existing::replace, nullptr, disk).has_value());
  const WideDigest added = digest(kDigests);
  bool is_added = false;
  if (auto log = open(disk)) {
    check(*log, (mode & kForged) != 0);
    if (!log->contains(added)) {
      log->add(added);
    }
    is_added = log->commit().has_value();
  }
  if (is_added) {
    const auto again = open(disk);
    MANKAI_ASSERT(again.has_value() && again->contains(added));
  }
  return 0;
}
