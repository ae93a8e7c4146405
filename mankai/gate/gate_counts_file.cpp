#include "mankai/gate/gate_counts_file.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <span>
#include <thread>

#include "mankai/file/file.hpp"

namespace mankai {
namespace {

constexpr std::string_view kFirstLine = "mankai gate counts ";
constexpr std::string_view kVersion = "1";
constexpr std::size_t kMaxFileBytes = 4096;

struct Field {
  std::string_view name;
  std::uint64_t GateCounts::* value;
};

// One line per field, in this order.
constexpr std::array<Field, 7> kFields = {{{"asked", &GateCounts::asked},
                                           {"empty", &GateCounts::empty},
                                           {"maybe", &GateCounts::maybe},
                                           {"memo_hits", &GateCounts::memo_hits},
                                           {"waiting", &GateCounts::waiting},
                                           {"false_positives", &GateCounts::false_positives},
                                           {"late_reports", &GateCounts::late_reports}}};

// Removes "name number\n" from the front.
bool take_count(std::string_view& text, std::string_view name, std::uint64_t& value) {
  if (!text.starts_with(name) || text.size() <= name.size() || text[name.size()] != ' ') {
    return false;
  }
  text.remove_prefix(name.size() + 1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data() + text.size() || *end != '\n') {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

// The lock is held for a few bytes; a second is enough for many writers.
Result<FileLock> lock_counts(const std::string& path) {
  constexpr int kAttempts = 200;
  constexpr auto kPause = std::chrono::milliseconds(5);
  for (int i = 0;; ++i) {
    auto lock = FileLock::acquire(path);
    if (lock || lock.error().code != ErrorCode::locked || i == kAttempts) {
      return lock;
    }
    std::this_thread::sleep_for(kPause);
  }
}

Result<void> make_file(const std::string& path, FileMode mode) {
  const std::string text = to_text(GateCounts{});
  auto made = write_file(path, std::as_bytes(std::span(text)), Existing::refuse, nullptr, system_calls(), mode);
  // Another process may have made it in between.
  return made || made.error().code == ErrorCode::invalid_argument ? Result<void>{} : made;
}

}  // namespace

std::string to_text(const GateCounts& counts) {
  std::string text = std::string(kFirstLine) + std::string(kVersion) + "\n";
  for (const Field& field : kFields) {
    text += std::string(field.name) + " " + std::to_string(counts.*field.value) + "\n";
  }
  return text;
}

Result<GateCounts> parse_gate_counts(std::string_view text) {
  if (!text.starts_with(kFirstLine)) {
    return fail(ErrorCode::corrupt, "is not a gate's counts file; remove it to count from 0");
  }
  text.remove_prefix(kFirstLine.size());
  if (!text.starts_with(kVersion) || text.substr(kVersion.size()).substr(0, 1) != "\n") {
    return fail(ErrorCode::unsupported_version, "was written by a newer mankai, or is truncated");
  }
  text.remove_prefix(kVersion.size() + 1);
  GateCounts counts;
  for (const Field& field : kFields) {
    if (!take_count(text, field.name, counts.*field.value)) {
      return fail(ErrorCode::corrupt, "has no line '" + std::string(field.name) + " NUMBER' where it is expected");
    }
  }
  return text.empty() ? Result<GateCounts>(counts) : fail(ErrorCode::corrupt, "has too many lines");
}

GateCounts counted_since(const GateCounts& now, const GateCounts& before) noexcept {
  GateCounts counts;
  for (const Field& field : kFields) {
    counts.*field.value = now.*field.value - before.*field.value;
  }
  return counts;
}

std::string gate_counts_path(const std::string& gate_path) { return gate_path + "-counts"; }

Result<GateCounts> read_gate_counts(const std::string& gate_path) {
  const std::string path = gate_counts_path(gate_path);
  std::array<std::byte, kMaxFileBytes> bytes{};
  const auto size = read_start(path, bytes);
  if (!size) {
    return size.error().code == ErrorCode::not_found ? Result<GateCounts>(GateCounts{}) : std::unexpected(size.error());
  }
  if (*size > kMaxFileBytes) {
    return fail(ErrorCode::corrupt, path + ": is not a gate's -counts file");
  }
  auto counts = parse_gate_counts({reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(*size)});
  return counts ? counts : std::unexpected(counts.error().within(path));
}

Result<void> add_gate_counts(const std::string& gate_path, const GateCounts& counts) {
  const std::string path = gate_counts_path(gate_path);
  auto lock = lock_counts(path);
  if (!lock && lock.error().code == ErrorCode::not_found) {
    MANKAI_TRY(make_file(path, mode_of(gate_path)));
    lock = lock_counts(path);
  }
  if (!lock) {
    return std::unexpected(lock.error());
  }
  MANKAI_ASSIGN(auto sum, read_gate_counts(gate_path));
  for (const Field& field : kFields) {
    sum.*field.value += counts.*field.value;
  }
  const std::string text = to_text(sum);
  return write_file(path, std::as_bytes(std::span(text)), Existing::replace, &*lock);
}

}  // namespace mankai
