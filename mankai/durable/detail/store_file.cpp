#include "mankai/durable/detail/store_file.hpp"

#include <array>
#include <optional>
#include <variant>

#include "mankai/durable/store_footer.hpp"
#include "mankai/storage/file_lock.hpp"
#include "mankai/storage/open_file.hpp"

namespace mankai::detail {
namespace {

// A journal that nobody belongs to would be taken for the new file's.
Result<void> check_no_journal(const std::string& path, FileCalls& calls) {
  if (identify(path, calls) || !identify(journal_path(path), calls)) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              journal_path(path) +
                  ": is there already, without its file; put that one back, or remove the journal "
                  "if its changes are not wanted");
}

// A file that is to be replaced must not be somebody's.
Result<std::optional<FileLock>> lock_old(const std::string& path, Existing existing, FileCalls& calls) {
  if (existing == Existing::refuse) {
    return std::nullopt;
  }
  auto lock = FileLock::acquire(path, calls);
  if (!lock && lock.error().code == ErrorCode::not_found) {
    return std::nullopt;
  }
  return lock ? Result<std::optional<FileLock>>(std::move(*lock)) : std::unexpected(lock.error());
}

}  // namespace

Result<StoreFooter> write_store(NewFile& file, std::span<const std::span<const std::byte>> parts,
                                std::uint64_t store_id, const StoreState& state) {
  static constexpr std::array<std::byte, kSectorBytes> kZeros{};
  std::uint64_t bytes = 0;
  for (const auto part : parts) {
    if (auto written = file.write(part); !written) {
      return std::unexpected(written.error());
    }
    bytes += part.size();
  }
  const StoreFooter footer = make_footer(store_id, bytes, state.sequence, state.position, state.is_open);
  if (auto written = file.write(std::span(kZeros).first(footer_offset(bytes) - bytes)); !written) {
    return std::unexpected(written.error());
  }
  if (auto written = file.write(std::as_bytes(std::span(&footer, 1))); !written) {
    return std::unexpected(written.error());
  }
  auto synced = file.sync();
  return synced ? Result<StoreFooter>(footer) : std::unexpected(synced.error());
}

Result<void> make_store(const std::string& path, AnyFilter& filter, Existing existing, const StoreState& state,
                        FileCalls& calls) {
  if (auto free = check_no_journal(path, calls); !free && existing == Existing::refuse) {
    return free;
  }
  auto lock = lock_old(path, existing, calls);
  if (!lock) {
    return std::unexpected(lock.error());
  }
  auto file = NewFile::create(path, existing, *lock ? &**lock : nullptr, calls);
  if (!file) {
    return std::unexpected(file.error());
  }
  const auto parts = std::visit([](auto& f) { return f.seal_parts(); }, filter);
  if (auto footer = write_store(*file, parts, HashSpec::random().seed[0], state); !footer) {
    return std::unexpected(footer.error());
  }
  if (auto placed = file->put_in_place(); !placed) {
    return placed;
  }
  if (existing == Existing::replace) {
    static_cast<void>(calls.unlink(journal_path(resolve_links(path, calls).value_or(path)).c_str()));
  }
  return {};
}

}  // namespace mankai::detail
