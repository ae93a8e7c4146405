#include "mankai/store/filter_file.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "mankai/file/open_file.hpp"
#include "mankai/store/detail/load_store.hpp"
#include "mankai/store/detail/store_file.hpp"
#include "mankai/store/store_footer.hpp"

namespace mankai {
namespace {

StoreInfo describe(const std::string& path, const detail::LoadedStore& loaded) {
  StoreInfo info{.is_store = loaded.footer.has_value(), .file_bytes = loaded.file_bytes, .recovery = loaded.report};
  if (loaded.footer) {
    const StoreFooter& footer = loaded.footer->footer;
    info.is_open = footer.is_open != 0;
    info.image_sequence = footer.sequence;
    info.damaged_footers = loaded.footer->damaged_copies;
    info.footer_version = footer.version;
  }
  if (loaded.journal) {
    info.journal_bytes = loaded.journal->end - loaded.journal->superblock.start;
    info.journal_records = loaded.journal->records;
    info.damaged_superblocks = loaded.journal->damaged_superblocks;
  }
  info.writer = lock_owner(path, info.is_open);
  return info;
}

// Between the image and the footer, and between its copies, only zeros are ever written.
Result<void> check_zeros(const OpenFile& file, const std::string& path, std::uint64_t begin, std::uint64_t end) {
  std::array<std::byte, kFooterPage> bytes{};
  const auto zeros = std::span(bytes).first(end - begin);
  MANKAI_TRY(file.read(begin, zeros));
  const auto wrong = std::ranges::find_if(zeros, [](std::byte byte) { return byte != std::byte{0}; });
  if (wrong == zeros.end()) {
    return {};
  }
  const auto offset = begin + static_cast<std::uint64_t>(wrong - zeros.begin());
  return fail(ErrorCode::corrupt,
              path + ": the byte at offset " + std::to_string(offset) +
                  ", next to the footer, is not zero: something changed the file, though the filter "
                  "is intact; restore the file from a copy");
}

Result<void> check_padding(const std::string& path) {
  MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::read));
  MANKAI_ASSIGN(const auto found, within(path, read_footer(file)));
  if (!found) {
    return {};
  }
  const StoreFooter& footer = found->footer;
  if (footer.version == kFooterVersion1) {
    return check_zeros(file, path, footer.image_bytes, bytes_of(footer).begin);
  }
  const std::uint64_t first = footer_offset(footer.image_bytes, 0);
  MANKAI_TRY(check_zeros(file, path, footer.image_bytes, first));
  return check_zeros(file, path, first + sizeof(StoreFooter), first + kFooterPage);
}

}  // namespace

Result<AnyFilter> open_filter(const std::string& path, Access access, Trust trust, const Memory& memory,
                              RecoveryReport* report) {
  MANKAI_ASSIGN(auto loaded, detail::load_store(path, {.access = access, .trust = trust, .memory = memory}));
  if (report != nullptr) {
    *report = std::move(loaded.report);
  }
  return std::move(loaded.filter);
}

Result<void> save_filter(const std::string& path, AnyFilter& filter, Existing existing, FileMode mode,
                         const SourcePosition& position, FileCalls& calls) {
  return detail::make_store(path, filter, existing, {.position = position}, calls, mode);
}

Result<InspectedStore> inspect_store(const std::string& path, Trust trust) {
  MANKAI_ASSIGN(auto loaded, detail::load_store(path, {.access = Access::query, .trust = trust}));
  StoreInfo info = describe(path, loaded);
  return InspectedStore{.filter = std::move(loaded.filter), .info = std::move(info)};
}

Result<InspectedStore> verify_store(const std::string& path) {
  MANKAI_ASSIGN(auto inspected, inspect_store(path, Trust::checked));
  MANKAI_TRY(check_padding(path));
  return inspected;
}

}  // namespace mankai
