#include "mankai/seen/detail/digest_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <utility>

#include "mankai/file/file.hpp"
#include "mankai/hash/checksum.hpp"

namespace mankai::detail {
namespace {

/// Interpolation stops at this size: the rest is in the same page or the next.
constexpr std::size_t kNear = 64;
/// Digests per run in a merge's buffer.
constexpr std::size_t kMergePiece = 4096;

std::uint64_t checksum_of(const DigestRunFooter& footer) noexcept {
  return checksum(std::as_bytes(std::span(&footer, 1)).first(offsetof(DigestRunFooter, checksum)));
}

Result<void> check_footer(const DigestRunFooter& footer, const DigestRunEntry& entry, const std::string& path) {
  if (footer.magic != kDigestRunMagic || footer.checksum != checksum_of(footer)) {
    return fail(ErrorCode::corrupt,
                path + ": its last 64 bytes are not the footer of a run; restore the log and its runs from a copy");
  }
  if (footer.version != kDigestLogVersion) {
    return fail(ErrorCode::unsupported_version,
                path + ": is a run of version " + std::to_string(footer.version) + "; use a newer version of Mankai");
  }
  if (footer.entry != entry) {
    return fail(
        ErrorCode::corrupt,
        path + ": is a run of another log, or an older one of this log; restore the log and its runs from one copy");
  }
  return {};
}

/// Searches sorted digests. They are uniform, so the value of a digest predicts its place within a few square roots of
/// their number.
class Search {
 public:
  Search(std::span<const WideDigest> sorted, WideDigest digest)
      : sorted_(sorted), digest_(digest), end_(sorted.size()) {}

  [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }

  void interpolate() noexcept {
    const auto places = static_cast<double>(size());
    const double share =
        high_ > low_ ? static_cast<double>(digest_.first - low_) / static_cast<double>(high_ - low_) : 1.0;
    const auto guess = begin_ + std::min(static_cast<std::size_t>(share * places), size() - 1);
    const auto around = static_cast<std::size_t>(2 * std::sqrt(places));
    const std::size_t first = guess - std::min(around, guess - begin_);
    const std::size_t last = guess + std::min(around, end_ - 1 - guess);
    probe(first);
    if (last >= begin_ && last < end_) {
      probe(last);
    }
  }
  void halve() noexcept {
    if (size() > 0) {
      probe(begin_ + size() / 2);
    }
  }
  [[nodiscard]] bool finds() const noexcept {
    const auto left = sorted_.subspan(begin_, std::min(size() + 1, sorted_.size() - begin_));
    return std::ranges::binary_search(left, digest_);
  }

 private:
  // Invariant: digests before begin_ are less than the digest, those from end_ on are not.
  void probe(std::size_t place) noexcept {
    if (sorted_[place] < digest_) {
      begin_ = place + 1;
      low_ = sorted_[place].first;
    } else {
      end_ = place;
      high_ = sorted_[place].first;
    }
  }

  std::span<const WideDigest> sorted_;
  WideDigest digest_;
  std::size_t begin_ = 0;
  std::size_t end_;
  std::uint64_t low_ = 0;
  std::uint64_t high_ = ~std::uint64_t{0};
};

class Cursor {
 public:
  explicit Cursor(std::span<const WideDigest> sorted) : piece_(sorted) {}
  explicit Cursor(const DigestRun& run) : run_(&run), buffer_(kMergePiece) {}

  [[nodiscard]] Result<bool> has_next() {
    if (at_ < piece_.size()) {
      return true;
    }
    if (run_ == nullptr || read_ == run_->entry().digests) {
      return false;
    }
    const auto count = std::min<std::uint64_t>(buffer_.size(), run_->entry().digests - read_);
    const auto into = std::span(buffer_).first(static_cast<std::size_t>(count));
    MANKAI_TRY(run_->read(read_, into));
    read_ += count;
    piece_ = into;
    at_ = 0;
    return true;
  }
  [[nodiscard]] WideDigest next() const noexcept { return piece_[at_]; }
  void skip() noexcept { ++at_; }

 private:
  const DigestRun* run_ = nullptr;
  std::vector<WideDigest> buffer_;
  std::span<const WideDigest> piece_;
  std::size_t at_ = 0;
  std::uint64_t read_ = 0;
};

// Returns the cursor with the least digest; nullptr at the end.
Result<Cursor*> least(std::vector<Cursor>& cursors) {
  Cursor* found = nullptr;
  for (Cursor& cursor : cursors) {
    MANKAI_ASSIGN(const auto has_next, cursor.has_next());
    if (has_next && (found == nullptr || cursor.next() < found->next())) {
      found = &cursor;
    }
  }
  return found;
}

class RunWriter {
 public:
  RunWriter(OpenFile file, std::uint64_t log, std::uint64_t number)
      : file_(std::move(file)), log_(log), entry_{.number = number, .digests = 0, .checksum = 0} {
    piece_.reserve(kDigestPiece);
  }

  [[nodiscard]] Result<void> append(WideDigest digest) {
    piece_.push_back(digest);
    return piece_.size() < kDigestPiece ? Result<void>{} : flush();
  }

  [[nodiscard]] Result<DigestRunEntry> finish() {
    MANKAI_TRY(flush());
    DigestRunFooter footer{.magic = kDigestRunMagic,
                           .version = kDigestLogVersion,
                           .zero = 0,
                           .entry = entry_,
                           .log = log_,
                           .reserved = 0,
                           .checksum = 0};
    footer.checksum = checksum_of(footer);
    MANKAI_TRY(file_.write(entry_.digests * sizeof(WideDigest), std::as_bytes(std::span(&footer, 1))));
    MANKAI_TRY(file_.sync());
    return entry_;
  }

 private:
  [[nodiscard]] Result<void> flush() {
    if (piece_.empty()) {
      return {};
    }
    const auto bytes = std::as_bytes(std::span<const WideDigest>(piece_));
    MANKAI_TRY(file_.write(entry_.digests * sizeof(WideDigest), bytes));
    entry_.checksum = checksum(bytes, entry_.checksum);
    entry_.digests += piece_.size();
    piece_.clear();
    return {};
  }

  OpenFile file_;
  std::uint64_t log_;
  DigestRunEntry entry_;
  std::vector<WideDigest> piece_;
};

Result<bool> is_run_of(const DigestRunOwner& log, std::uint64_t number, const OpenFile& file) {
  DigestRunFooter footer{};
  if (file.size() < sizeof(footer)) {
    return false;
  }
  MANKAI_TRY(file.read(file.size() - sizeof(footer), std::as_writable_bytes(std::span(&footer, 1))));
  return footer.magic == kDigestRunMagic && footer.checksum == checksum_of(footer) && footer.log == log.id &&
         footer.entry.number == number;
}

Result<DigestRunEntry> merge_into(RunWriter& writer, std::span<const WideDigest> sorted,
                                  std::span<const DigestRun> runs) {
  std::vector<Cursor> cursors;
  cursors.reserve(runs.size() + 1);
  cursors.emplace_back(sorted);
  for (const DigestRun& run : runs) {
    cursors.emplace_back(run);
  }
  for (;;) {
    MANKAI_ASSIGN(const auto cursor, least(cursors));
    if (cursor == nullptr) {
      return writer.finish();
    }
    MANKAI_TRY(writer.append(cursor->next()));
    cursor->skip();
  }
}

Result<DigestRunEntry> write_new_run(const DigestRunOwner& log, std::uint64_t number,
                                     std::span<const WideDigest> sorted, std::span<const DigestRun> runs,
                                     FileCalls& calls) {
  const std::string path = new_digest_run_path(log.path);
  MANKAI_TRY(write_file(path, {}, Existing::replace, nullptr, calls, mode_of(log.path, calls)));
  MANKAI_ASSIGN(auto file, OpenFile::open(path, OpenFile::Mode::write, calls));
  RunWriter writer(std::move(file), log.id, number);
  return merge_into(writer, sorted, runs);
}

}  // namespace

std::string digest_run_path(const std::string& log, std::uint64_t number) {
  return log + "-run-" + std::to_string(number);
}

std::string new_digest_run_path(const std::string& log) { return log + "-run-new"; }

Result<void> check_run_is_free(const DigestRunOwner& log, std::uint64_t number, FileCalls& calls) {
  const std::string path = digest_run_path(log.path, number);
  if (calls.access(path.c_str(), F_OK) != 0) {
    return {};
  }
  MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::read, calls));
  MANKAI_ASSIGN(const auto is_own, is_run_of(log, number, file));
  return is_own ? Result<void>{}
                : fail(ErrorCode::invalid_argument,
                       path + ": is not a run of the log " + log.path +
                           " but of an earlier log of that name; move it to that log, remove it if that log is gone, "
                           "or give this log another name");
}

Result<DigestRun> DigestRun::open(const std::string& log, const DigestRunEntry& entry, FileCalls& calls) {
  const std::string path = digest_run_path(log, entry.number);
  MANKAI_ASSIGN(auto file, OpenFile::open(path, OpenFile::Mode::read, calls));
  const std::uint64_t bytes = entry.digests * sizeof(WideDigest);
  if (file.size() != bytes + sizeof(DigestRunFooter)) {
    return fail(ErrorCode::corrupt, path + ": has " + std::to_string(file.size()) + " bytes instead of " +
                                        std::to_string(bytes + sizeof(DigestRunFooter)) +
                                        "; restore the log and its runs from a copy");
  }
  DigestRunFooter footer{};
  MANKAI_TRY(file.read(bytes, std::as_writable_bytes(std::span(&footer, 1))));
  MANKAI_TRY(check_footer(footer, entry, path));
  MANKAI_ASSIGN(auto region, file.map_region(bytes));
  DigestRun run(entry, std::move(file), std::move(region));
  MANKAI_TRY(run.check(path));
  return run;
}

Result<void> DigestRun::check(const std::string& path) const {
  std::uint64_t sum = 0;
  bool is_sorted = true;
  WideDigest before{};
  auto read = for_each([&](std::span<const WideDigest> piece) {
    sum = checksum(std::as_bytes(piece), sum);
    is_sorted = is_sorted && before <= piece.front() && std::ranges::is_sorted(piece);
    before = piece.back();
  });
  if (read && (sum != entry_.checksum || !is_sorted)) {
    return fail(ErrorCode::corrupt, path + ": its digests are damaged; restore the log and its runs from a copy");
  }
  return read;
}

std::span<const WideDigest> DigestRun::digests() const noexcept {
  return {reinterpret_cast<const WideDigest*>(bytes_.bytes().data()), static_cast<std::size_t>(entry_.digests)};
}

bool DigestRun::contains(WideDigest digest) const noexcept {
  Search search(digests(), digest);
  while (search.size() > kNear) {
    const std::size_t before = search.size();
    search.interpolate();
    if (search.size() > before / 2) {
      search.halve();
    }
  }
  return search.finds();
}

Result<void> DigestRun::read(std::uint64_t from, std::span<WideDigest> into) const {
  return file_.read(from * sizeof(WideDigest), std::as_writable_bytes(into));
}

Result<void> DigestRun::for_each(const std::function<void(std::span<const WideDigest>)>& use) const {
  std::vector<WideDigest> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kDigestPiece, entry_.digests)));
  for (std::uint64_t from = 0; from < entry_.digests; from += buffer.size()) {
    const auto count = std::min<std::uint64_t>(buffer.size(), entry_.digests - from);
    const auto piece = std::span(buffer).first(static_cast<std::size_t>(count));
    MANKAI_TRY(read(from, piece));
    use(piece);
  }
  return {};
}

Result<DigestRunEntry> write_digest_run(const DigestRunOwner& log, std::uint64_t number,
                                        std::span<const WideDigest> sorted, std::span<const DigestRun> runs,
                                        FileCalls& calls) {
  MANKAI_TRY(check_run_is_free(log, number, calls));
  const std::string written = new_digest_run_path(log.path);
  const std::string path = digest_run_path(log.path, number);
  auto entry = write_new_run(log, number, sorted, runs, calls);
  if (entry && calls.rename(written.c_str(), path.c_str()) != 0) {
    entry = std::unexpected(
        Error{.code = ErrorCode::io, .os_error = errno, .detail = path + ": cannot put the new run in place"});
  }
  if (!entry) {
    calls.unlink(written.c_str());
    return entry;
  }
  MANKAI_TRY(sync_folder_of(path, calls));
  return entry;
}

}  // namespace mankai::detail
