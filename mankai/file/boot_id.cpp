#include "mankai/file/boot_id.hpp"

#include <string>
#include <string_view>

#include "mankai/file/open_file.hpp"

namespace mankai {
namespace {

constexpr const char* kBootIdPath = "/proc/sys/kernel/random/boot_id";
constexpr std::size_t kUuidBytes = 36;
constexpr std::size_t kWordDigits = 16;

int digit_of(char letter) noexcept {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::size_t digit = kDigits.find(letter);
  return digit == std::string_view::npos ? -1 : static_cast<int>(digit);
}

}  // namespace

Result<BootId> boot_id(FileCalls& calls) {
  const auto file = OpenFile::open(kBootIdPath, OpenFile::Mode::read, calls);
  if (!file) {
    return fail(ErrorCode::io, file.error().detail, file.error().os_error);
  }
  std::string text(kUuidBytes, '\0');
  MANKAI_TRY(file->read(0, std::as_writable_bytes(std::span(text))));
  BootId id{};
  std::size_t digits = 0;
  for (const char letter : text) {
    if (const int digit = digit_of(letter); digit >= 0 && digits < 2 * kWordDigits) {
      std::uint64_t& word = id[digits++ / kWordDigits];
      word = word << 4U | static_cast<unsigned>(digit);
    }
  }
  if (id == BootId{}) {
    return fail(ErrorCode::io, std::string(kBootIdPath) + ": is not an id of a boot");
  }
  return id;
}

}  // namespace mankai
