#include "mankai/store/journal_reader.hpp"

#include <algorithm>
#include <cstring>

#include "mankai/base/bits.hpp"
#include "mankai/hash/checksum.hpp"

namespace mankai {
namespace {

template <class T>
T load(std::span<const std::byte> bytes, std::uint64_t offset) noexcept {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// The checksum is the last field of a superblock and the first one of a record.
std::uint64_t checksum_of(const Superblock& block) noexcept {
  return checksum(std::as_bytes(std::span(&block, 1)).first(offsetof(Superblock, checksum)));
}

std::uint64_t checksum_of(const RecordHeader& header, std::uint64_t salt) noexcept {
  return checksum(std::as_bytes(std::span(&header, 1)).subspan(sizeof(header.checksum)), salt);
}

bool is_valid(const Superblock& block) noexcept {
  return block.magic == kJournalMagic && is_journal_version(block.version) && block.checksum == checksum_of(block);
}

// In another version only magic and version are at the same offsets. Damage to one copy does not make it another
// version.
Result<void> check_version(std::span<const std::byte> bytes, std::uint64_t slot) {
  const auto first = load<Superblock>(bytes, superblock_offset(slot, 0));
  const auto second = load<Superblock>(bytes, superblock_offset(slot, 1));
  if (first.magic != kJournalMagic || is_journal_version(first.version) || second.magic != first.magic ||
      second.version != first.version) {
    return {};
  }
  return fail(ErrorCode::unsupported_version, "is a journal of version " + std::to_string(first.version) +
                                                  ", and this library reads versions 1 to " +
                                                  std::to_string(kJournalVersion) +
                                                  "; use the version of Mankai that wrote it, or restore both files "
                                                  "from a copy");
}

std::optional<Superblock> newest_superblock(std::span<const std::byte> bytes) {
  std::optional<Superblock> newest;
  for (std::uint64_t slot = 0; slot < kSuperblockSlots; ++slot) {
    for (std::uint64_t copy = 0; copy < kSuperblockCopies; ++copy) {
      const auto block = load<Superblock>(bytes, superblock_offset(slot, copy));
      if (is_valid(block) && (!newest || block.number > newest->number)) {
        newest = block;
      }
    }
  }
  return newest;
}

bool is_lost(std::span<const std::byte> bytes, std::uint64_t slot) noexcept {
  const auto first = load<Superblock>(bytes, superblock_offset(slot, 0));
  const auto second = load<Superblock>(bytes, superblock_offset(slot, 1));
  return !is_valid(first) && !is_valid(second) && first != Superblock{} && second != Superblock{};
}

}  // namespace

Result<Superblock> read_superblock(std::span<const std::byte> bytes, std::uint64_t journal_bytes) {
  if (bytes.size() < kFirstRecord) {
    return fail(ErrorCode::corrupt, "is truncated to " + std::to_string(bytes.size()) +
                                        " bytes, within its superblocks of " + std::to_string(kFirstRecord) +
                                        " bytes; restore both files from a copy");
  }
  for (std::uint64_t slot = 0; slot < kSuperblockSlots; ++slot) {
    MANKAI_TRY(check_version(bytes, slot));
  }
  const auto newest = newest_superblock(bytes);
  if (!newest) {
    return fail(ErrorCode::corrupt, "no superblock at offset 0 or " + std::to_string(kSuperblockPage) +
                                        " is valid; restore both files from a copy");
  }
  // A process crash may tear one copy of a superblock, not both.
  for (std::uint64_t slot = 0; slot < kSuperblockSlots; ++slot) {
    if (is_lost(bytes, slot)) {
      return fail(ErrorCode::corrupt,
                  "both copies of a superblock, at offsets " + std::to_string(superblock_offset(slot, 0)) + " and " +
                      std::to_string(superblock_offset(slot, 1)) + ", are damaged; restore both files from a copy");
    }
  }
  if (newest->start < kFirstRecord || newest->start > journal_bytes || newest->start % sizeof(std::uint64_t) != 0) {
    return fail(ErrorCode::corrupt, "its superblock says that the records start at offset " +
                                        std::to_string(newest->start) + ", and it has " +
                                        std::to_string(journal_bytes) + " bytes; restore both files from a copy");
  }
  return *newest;
}

Result<JournalReader> JournalReader::open(std::span<const std::byte> bytes) {
  MANKAI_ASSIGN(const auto block, read_superblock(bytes, bytes.size()));
  return JournalReader(block, bytes.subspan(static_cast<std::size_t>(block.start)));
}

std::uint64_t count_damaged_superblocks(std::span<const std::byte> bytes) noexcept {
  std::uint64_t damaged = 0;
  for (std::uint64_t slot = 0; slot < kSuperblockSlots; ++slot) {
    const auto first = load<Superblock>(bytes, superblock_offset(slot, 0));
    const auto second = load<Superblock>(bytes, superblock_offset(slot, 1));
    if (first == second) {
      damaged += is_valid(first) || first == Superblock{} ? 0U : kSuperblockCopies;
    } else {
      damaged += is_valid(first) || is_valid(second) ? 1U : kSuperblockCopies;
    }
  }
  return damaged;
}

// The header, if its checksum is right and the record is within the journal.
std::optional<RecordHeader> JournalReader::header_at(std::uint64_t at) const noexcept {
  if (records_.size() - at < sizeof(RecordHeader)) {
    return std::nullopt;
  }
  const auto header = load<RecordHeader>(records_, at);
  // The sequence is tested first: it rejects nearly all bytes that are not a header, and end() searches every offset.
  if (header.sequence < sequence_ || header.zero != 0 || header.checksum != checksum_of(header, superblock_.salt)) {
    return std::nullopt;
  }
  // A record without an operation is a commit and has no payload.
  const bool is_sane = (header.operation != 0 || (header.payload_bytes == 0 && header.changes <= 1)) &&
                       header.position_bytes <= kMaxPositionBytes && header.payload_bytes <= kMaxPayloadBytes &&
                       header.payload_bytes % sizeof(std::uint64_t) == 0 && (header.flags & ~kMoreFollows) == 0 &&
                       record_bytes(header.position_bytes, header.payload_bytes) <= records_.size() - at;
  return is_sane ? std::optional(header) : std::nullopt;
}

std::optional<JournalRecord> JournalReader::record_at(std::uint64_t at) const noexcept {
  const auto header = header_at(at);
  if (!header) {
    return std::nullopt;
  }
  const std::uint64_t bytes = record_bytes(header->position_bytes, header->payload_bytes);
  const auto body = records_.subspan(at + sizeof(RecordHeader), bytes - sizeof(RecordHeader));
  if (header->payload_checksum != checksum(body, superblock_.salt + 1)) {
    return std::nullopt;
  }
  return JournalRecord{.offset = superblock_.start + at,
                       .bytes = bytes,
                       .sequence = header->sequence,
                       .durable = header->durable,
                       .more_follows = (header->flags & kMoreFollows) != 0,
                       .has_change = header->operation != 0,
                       .change = {.operation = Operation{header->operation},
                                  .keys = header->changes,
                                  .payload = body.last(header->payload_bytes)},
                       .position = {reinterpret_cast<const char*>(body.data()), header->position_bytes}};
}

// The record, if its sequence is one that it can have: not before the next one, and one for each digest that can lie
// between.
std::optional<JournalRecord> JournalReader::short_record_at(std::uint64_t at) const noexcept {
  if (superblock_.version < kShortVersion || records_.size() - at < sizeof(ShortHeader)) {
    return std::nullopt;
  }
  const auto header = load<ShortHeader>(records_, at);
  const auto tag = static_cast<std::uint8_t>(header);
  const std::uint64_t payload_bytes = (tag >> kShortWordsShift & kMaxShortWords) * sizeof(std::uint64_t);
  const auto operation = static_cast<std::uint16_t>(tag & kMaxShortOperation);
  if (operation == 0 || payload_bytes == 0 || short_record_bytes(payload_bytes) > records_.size() - at) {
    return std::nullopt;
  }
  const auto payload = records_.subspan(at + sizeof(header), payload_bytes);
  const std::uint64_t ahead =
      ((header >> kTagBits) - checksum(payload, superblock_.salt + tag) - sequence_) << kTagBits >> kTagBits;
  if (ahead > (at - at_) / sizeof(Digest)) {
    return std::nullopt;
  }
  return JournalRecord{.offset = superblock_.start + at,
                       .bytes = short_record_bytes(payload_bytes),
                       .sequence = sequence_ + ahead,
                       .durable = durable_,
                       .more_follows = (tag & kShortMoreFollows) != 0,
                       .has_change = true,
                       .change = {.operation = Operation{operation}, .keys = 1, .payload = payload}};
}

std::optional<JournalRecord> JournalReader::next() {
  auto record = short_record_at(at_);
  record = record ? record : record_at(at_);
  if (!record || record->sequence != sequence_) {
    return std::nullopt;
  }
  durable_ = record->durable;
  at_ += record->bytes;
  sequence_ += record->change.keys;
  return record;
}

Result<JournalEnd> JournalReader::end(std::uint64_t file_sequence) const {
  JournalEnd end{.offset = offset()};
  const std::string here = "the record at offset " + std::to_string(offset());
  const auto rest = records_.subspan(static_cast<std::size_t>(at_));
  if (rest.size() < sizeof(RecordHeader)) {
    end.bytes_dropped = rest.size();
    end.reason = "the journal ends at offset " + std::to_string(superblock_.start + records_.size()) +
                 ", without the zeros that end its records: it was truncated";
  } else if (!is_zero(rest.first(sizeof(RecordHeader)))) {
    end.bytes_dropped = sizeof(RecordHeader);
    while (is_zero(rest.subspan(end.bytes_dropped - sizeof(std::uint64_t), sizeof(std::uint64_t)))) {
      end.bytes_dropped -= sizeof(std::uint64_t);
    }
    end.reason = here + " is incomplete";
  }
  // A valid header proves that there was a record: its checksum is seeded by the salt, which each restart draws anew. A
  // crash during a restart leaves old records without the first one; the file has all of them.
  // Short records are searched for where a writer leaves them: within a page after the last long one.
  std::uint64_t short_until = at_ + kJournalPage;
  for (std::uint64_t at = at_; records_.size() - at >= sizeof(RecordHeader); at += sizeof(std::uint64_t)) {
    const auto later = header_at(at);
    if (!later) {
      if (const auto found = at < short_until ? short_record_at(at) : std::nullopt;
          found && found->sequence > file_sequence) {
        end.reason = here + " is missing or was not written completely";
        end.bytes_dropped = std::max(end.bytes_dropped, at + found->bytes - at_);
      }
      continue;
    }
    if (later->sequence + later->changes - 1 <= file_sequence) {
      continue;
    }
    if (later->durable >= sequence_) {
      return fail(ErrorCode::corrupt, here + ", of change " + std::to_string(sequence_) +
                                          ", is damaged: the record at offset " +
                                          std::to_string(superblock_.start + at) +
                                          " says that it was on the disk; restore both files from a copy");
    }
    short_until = at + kJournalPage;
    end.reason = here + (at == at_ ? " was not written completely" : " is missing or was not written completely");
    end.bytes_dropped =
        std::max(end.bytes_dropped, at + record_bytes(later->position_bytes, later->payload_bytes) - at_);
  }
  return end;
}

}  // namespace mankai
