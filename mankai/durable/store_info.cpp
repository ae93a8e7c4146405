#include "mankai/durable/store_info.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "mankai/durable/detail/load_store.hpp"
#include "mankai/durable/store_footer.hpp"
#include "mankai/storage/open_file.hpp"

namespace mankai {
namespace {

StoreInfo describe(const std::string& path, const detail::LoadedStore& loaded) {
  StoreInfo info{.is_store = loaded.footer.has_value(), .file_bytes = loaded.file_bytes, .recovery = loaded.report};
  if (loaded.footer) {
    info.is_open = loaded.footer->is_open != 0;
    info.image_sequence = loaded.footer->sequence;
  }
  if (loaded.journal) {
    info.journal_bytes = loaded.journal->end - loaded.journal->superblock.start;
    info.journal_records = loaded.journal->records;
    info.damaged_superblocks = loaded.journal->damaged_superblocks;
  }
  info.writer = lock_owner(path, info.is_open);
  return info;
}

// Between the image and the footer only zeros are ever written.
Result<void> check_padding(const std::string& path) {
  const auto file = OpenFile::open(path, OpenFile::Mode::read);
  if (!file) {
    return std::unexpected(file.error());
  }
  const auto footer = read_footer(*file);
  if (!footer || !*footer) {
    return footer ? Result<void>{} : std::unexpected(footer.error().within(path));
  }
  const std::uint64_t begin = (*footer)->image_bytes;
  std::array<std::byte, kSectorBytes> bytes{};
  const auto padding = std::span(bytes).first(footer_offset(begin) - begin);
  if (auto read = file->read(begin, padding); !read) {
    return read;
  }
  const auto wrong = std::ranges::find_if(padding, [](std::byte byte) { return byte != std::byte{0}; });
  if (wrong == padding.end()) {
    return {};
  }
  const auto offset = begin + static_cast<std::uint64_t>(wrong - padding.begin());
  return fail(ErrorCode::corrupt, path + ": the byte at offset " + std::to_string(offset) +
                                      ", between image and footer, is not zero, as it was written: the filter is "
                                      "whole, but something changed the file");
}

}  // namespace

Result<InspectedStore> inspect_store(const std::string& path, Trust trust) {
  auto loaded = detail::load_store(path, {.access = Access::query, .trust = trust});
  if (!loaded) {
    return std::unexpected(loaded.error());
  }
  StoreInfo info = describe(path, *loaded);
  return InspectedStore{.filter = std::move(loaded->filter), .info = std::move(info)};
}

Result<InspectedStore> verify_store(const std::string& path) {
  auto inspected = inspect_store(path, Trust::checked);
  if (inspected) {
    if (auto valid = check_padding(path); !valid) {
      return std::unexpected(valid.error());
    }
  }
  return inspected;
}

}  // namespace mankai
