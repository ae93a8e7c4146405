#include "apps/mankai/file_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "mankai/file/file.hpp"
#include "mankai/file/new_file.hpp"
#include "mankai/guard/guard_format.hpp"
#include "mankai/seen/digest_log_format.hpp"
#include "mankai/store/journal_format.hpp"

namespace mankai::command {
namespace {

struct KindWords {
  FileKind kind;
  std::string_view name;
  std::string_view description;
  std::string_view readers;  ///< commands that read this kind
};

constexpr std::array kWords = {
    KindWords{FileKind::filter, "filter", "a filter", "`mankai info` describes it"},
    KindWords{FileKind::journal, "journal", "the journal of a filter", "`mankai journal` describes it"},
    KindWords{FileKind::guard, "guard", "a guard",
              "`mankai guard check` looks up URLs in it, and `mankai guard info` describes it"},
    KindWords{FileKind::digest_log, "digest_log", "a log of digests",
              "`mankai dedup --confirm` uses it, and `mankai verify` describes it"},
    KindWords{FileKind::digest_run, "digest_run", "a run of a log of digests", "`mankai verify` describes it"},
    KindWords{FileKind::gate_counts, "gate_counts", "the counts file of a gate", "`mankai gate status` describes it"},
    KindWords{FileKind::gate_source, "gate_source", "the source file of a gate", "`mankai gate status` describes it"},
};

const KindWords& words_of(FileKind kind) noexcept { return *std::ranges::find(kWords, kind, &KindWords::kind); }

constexpr std::string_view kCountsLine = "mankai gate counts ";
constexpr std::string_view kSourceLine = "mankai gate source ";

template <std::size_t kBytes>
std::string_view text_of(const std::array<char, kBytes>& magic) noexcept {
  return {magic.data(), magic.size()};
}

// A journal's valid superblock is in its first or its second page.
FileKind kind_of_start(std::string_view start) noexcept {
  const std::string_view second = start.substr(std::min<std::size_t>(start.size(), kSuperblockPage));
  if (start.starts_with(text_of(kJournalMagic)) || second.starts_with(text_of(kJournalMagic))) {
    return FileKind::journal;
  }
  if (start.starts_with(text_of(kGuardMagic))) {
    return FileKind::guard;
  }
  if (start.starts_with(text_of(kDigestLogMagic))) {
    return FileKind::digest_log;
  }
  if (start.starts_with(kCountsLine)) {
    return FileKind::gate_counts;
  }
  return start.starts_with(kSourceLine) ? FileKind::gate_source : FileKind::filter;
}

// A run starts with digests; its magic bytes are in the footer.
Result<bool> is_digest_run(const std::string& path) {
  MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::read));
  std::array<char, kDigestRunMagic.size()> magic{};
  if (file.size() < sizeof(DigestRunFooter)) {
    return false;
  }
  const auto read = file.read(file.size() - sizeof(DigestRunFooter), std::as_writable_bytes(std::span(magic)));
  return read ? Result<bool>(magic == kDigestRunMagic) : std::unexpected(read.error());
}

}  // namespace

std::string_view name(FileKind kind) noexcept { return words_of(kind).name; }
std::string_view description_of(FileKind kind) noexcept { return words_of(kind).description; }

Result<FileKind> kind_of_file(const std::string& path) {
  MANKAI_ASSIGN(const auto real, resolve_links(path));
  std::array<char, kFirstRecord> start{};
  MANKAI_ASSIGN(const auto size, read_start(real, std::as_writable_bytes(std::span(start))));
  const auto kind = kind_of_start({start.data(), std::min<std::size_t>(start.size(), size)});
  if (kind != FileKind::filter) {
    return kind;
  }
  MANKAI_ASSIGN(const auto is_run, is_digest_run(real));
  return is_run ? FileKind::digest_run : FileKind::filter;
}

Error explain_not_a_filter(const std::string& path, Error error) {
  if (error.code != ErrorCode::corrupt) {
    return error;
  }
  const auto kind = kind_of_file(path);
  if (!kind || *kind == FileKind::filter) {
    return error;
  }
  return {.code = ErrorCode::invalid_argument,
          .detail = fmt::format("{}: is {}; {}", path, words_of(*kind).description, words_of(*kind).readers)};
}

}  // namespace mankai::command
