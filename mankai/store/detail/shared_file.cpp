#include "mankai/store/detail/shared_file.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <span>
#include <utility>

#include "mankai/file/new_file.hpp"
#include "mankai/hash/checksum.hpp"
#include "mankai/store/detail/store_file.hpp"

namespace mankai::detail {
namespace {

std::uint64_t load_word(const std::uint64_t& word, std::memory_order order) noexcept {
  // atomic_ref<const T> needs C++26.
  return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(word)).load(order);
}

std::unexpected<Error> of_another_file() {
  return fail(ErrorCode::corrupt,
              "belongs to another file than the one beside it: put that one back, or remove these shared cells if "
              "their changes are not wanted");
}

// Other processes may be changing the cells.
void copy_words(std::span<const std::byte> from, std::byte* to) noexcept {
  const auto* words = reinterpret_cast<const std::uint64_t*>(from.data());
  auto* copy = reinterpret_cast<std::uint64_t*>(to);
  for (std::size_t i = 0; i < from.size() / sizeof(std::uint64_t); ++i) {
    copy[i] = load_word(words[i], std::memory_order_relaxed);
  }
}

// The filter of a copy of shared cells, whose header has the counts of the moment when sharing began.
Result<AnyFilter> filter_of(Region copy, std::uint64_t keys, const Memory& memory) {
  MANKAI_ASSIGN(auto filter, filter_from_region(std::move(copy), Trust::fast, memory));
  MANKAI_TRY(filter.count_again(keys));
  return filter;
}

const SharedHeader& header_of(const MappedFile& cells) {
  return *reinterpret_cast<const SharedHeader*>(cells.bytes().data());
}

Result<StoreFooter> footer_to_keep(const std::string& path, const SharedHeader& header, FileCalls& calls) {
  MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::read, calls));
  MANKAI_ASSIGN(const auto found, within(path, read_footer(file)));
  if (!found || found->footer.store_id != header.store_id) {
    return fail(ErrorCode::io,
                path +
                    ": was replaced by another file while processes shared it; move that one away, put the old one "
                    "back, and open it again");
  }
  // The last checkpoint may be of a process that died before it wrote its sequence, unless the cells are not there.
  if (found->footer.sequence != load_word(header.durable, std::memory_order_acquire) &&
      !identify(shared_path(path), calls)) {
    return fail(ErrorCode::io, path + ": was changed by others after " + shared_path(path) +
                                   " was removed while processes shared it; open it again, and repeat what was done "
                                   "since the last sync");
  }
  return found->footer;
}

}  // namespace

SharedCounts counts_in(const std::byte* header) noexcept {
  const auto& shared = *reinterpret_cast<const SharedHeader*>(header);
  SharedCounts counts{.sequence = shared.first_sequence, .keys = shared.first_keys};
  for (const SharedSlot& slot : shared.slots) {
    counts.sequence += load_word(slot.observed, std::memory_order_acquire);
    counts.keys += load_word(slot.inserted, std::memory_order_acquire);
  }
  // A process that was killed may not have counted a key that another one then forgot.
  counts.keys = static_cast<std::int64_t>(counts.keys) < 0 ? 0 : counts.keys;
  return counts;
}

Result<bool> check_shared(std::span<const std::byte> start, std::uint64_t file_bytes,
                          const std::optional<FoundFooter>& footer, FileCalls& calls) {
  constexpr std::size_t kFixedBytes = offsetof(SharedHeader, durable);
  if (start.size() < kFixedBytes) {
    return false;
  }
  std::array<std::byte, kFixedBytes> fixed;
  std::memcpy(fixed.data(), start.data(), fixed.size());
  SharedHeader header{};
  std::memcpy(&header, fixed.data(), fixed.size());
  MANKAI_ASSIGN(const auto boot, boot_id(calls));
  if (header.magic != kSharedMagic || header.boot != boot || header.checksum == 0) {
    return false;
  }
  if (header.version != kSharedVersion) {
    return fail(ErrorCode::unsupported_version,
                "shared by processes of a library that shares by version " + std::to_string(header.version) +
                    ", and this one has version " + std::to_string(kSharedVersion) +
                    "; use one version in all processes, or close the filter in all of them first");
  }
  if (header.checksum != checksum(std::span(fixed).first(offsetof(SharedHeader, checksum))) ||
      file_bytes != kSharedPage + header.image_bytes) {
    return fail(ErrorCode::corrupt, "damaged in its first 72 bytes or truncated; close the filter in all processes");
  }
  if (!footer || footer->footer.store_id != header.store_id || footer->footer.image_bytes != header.image_bytes) {
    return of_another_file();
  }
  return true;
}

Result<std::optional<OpenFile>> open_shared(const std::string& path, const std::optional<FoundFooter>& footer,
                                            FileCalls& calls) {
  auto file = OpenFile::open(shared_path(path), OpenFile::Mode::read, calls);
  if (!file && file.error().code == ErrorCode::not_found) {
    return std::nullopt;
  }
  if (!file) {
    return std::unexpected(file.error());
  }
  if (file->size() < kSharedPage) {
    return std::nullopt;
  }
  alignas(SharedHeader) std::array<std::byte, kSharedPage> start{};
  MANKAI_TRY(file->read(0, start));
  MANKAI_ASSIGN(const bool counts, within(shared_path(path), check_shared(start, file->size(), footer, calls)));
  if (!counts) {
    return std::nullopt;
  }
  if (counts_in(start.data()).sequence < footer->footer.sequence) {
    return fail(ErrorCode::corrupt, shared_path(path) +
                                        ": is older than the file beside it; restore both from one "
                                        "copy, or remove these shared cells");
  }
  return std::move(*file);
}

Result<AnyFilter> read_shared(const OpenFile& file, const Memory& memory, std::uint64_t& sequence) {
  alignas(SharedHeader) std::array<std::byte, kSharedPage> start{};
  MANKAI_TRY(file.read(0, start));
  const SharedCounts counts = counts_in(start.data());
  MANKAI_ASSIGN(auto image, Region::allocate(memory, file.size() - kSharedPage));
  MANKAI_TRY(file.read(kSharedPage, image.bytes()));
  MANKAI_ASSIGN(auto filter, filter_of(std::move(image), counts.keys, memory));
  static_cast<void>(filter.seal_parts());
  sequence = counts.sequence;
  return filter;
}

Result<std::uint64_t> save_shared(const std::string& path, FileLock& lock, const MappedFile& cells,
                                  const Memory& memory, FileCalls& calls) {
  MANKAI_ASSIGN(StoreFooter footer, footer_to_keep(path, header_of(cells), calls));
  const SharedCounts counts = counts_in(cells.bytes().data());
  const auto image = cells.bytes().subspan(kSharedPage);
  MANKAI_ASSIGN(auto copy, Region::allocate(memory, image.size()));
  copy_words(image, copy.bytes().data());
  // Damaged by a process that shares it, it must not replace the file.
  MANKAI_ASSIGN(auto filter, within(shared_path(path), filter_of(std::move(copy), counts.keys, memory)));
  MANKAI_ASSIGN(auto file, NewFile::create(path, Existing::replace, &lock, calls));
  footer.sequence = counts.sequence;
  footer.is_open = 0;
  MANKAI_TRY(write_store(file, filter.seal_parts(), footer));
  MANKAI_TRY(file.put_in_place());
  return counts.sequence;
}

bool has_checkpoint(const std::string& path, const MappedFile& cells, Trust trust, const Memory& memory,
                    FileCalls& calls) {
  const SharedHeader& header = header_of(cells);
  const auto file = OpenFile::open(path, OpenFile::Mode::read, calls);
  const auto found = file ? read_footer(*file) : std::nullopt;
  if (!found || !*found || (*found)->footer.store_id != header.store_id ||
      (*found)->footer.sequence < load_word(header.durable, std::memory_order_acquire)) {
    return false;
  }
  auto image = file->map_region((*found)->footer.image_bytes);
  return image && filter_from_region(std::move(*image), trust, memory);
}

Result<void> settle_shared(const std::string& path, FileLock& lock, Leftover leftover, const Memory& memory,
                           FileCalls& calls) {
  const std::string name = shared_path(path);
  const auto alone = FileLock::acquire(name, calls);
  if (!alone && alone.error().code == ErrorCode::not_found) {
    return {};
  }
  if (!alone && alone.error().code == ErrorCode::locked) {
    return fail(ErrorCode::locked, path + ": " + process_name(lock_owner(name, true, calls)) +
                                       " shares it; close it in all processes that share it, or share it here, too");
  }
  if (!alone) {
    return std::unexpected(alone.error());
  }
  if (leftover == Leftover::save) {
    MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::read, calls));
    MANKAI_ASSIGN(const auto footer, within(path, read_footer(file)));
    MANKAI_ASSIGN(const auto found, open_shared(path, footer, calls));
    if (found) {
      MANKAI_ASSIGN(const auto cells, MappedFile::open(name, MappedFile::Mode::read, calls));
      MANKAI_TRY(save_shared(path, lock, cells, memory, calls));
    }
  }
  // Readers would prefer it to the changes that follow.
  if (calls.unlink(name.c_str()) != 0) {
    return system_error(name + ": cannot be removed");
  }
  return {};
}

}  // namespace mankai::detail
