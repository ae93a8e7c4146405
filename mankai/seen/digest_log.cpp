#include "mankai/seen/digest_log.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/file/file.hpp"
#include "mankai/file/new_file.hpp"
#include "mankai/hash/checksum.hpp"
#include "mankai/seen/detail/digest_run.hpp"
#include "mankai/seen/detail/digest_table.hpp"

namespace mankai {
namespace {

using detail::DigestRun;
using detail::DigestTable;

/// Runs up to this many times larger than the new run are merged into it.
constexpr std::uint64_t kMergeRatio = 2;

std::uint64_t checksum_of(const DigestLogHeader& header) noexcept {
  return checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(DigestLogHeader, checksum)));
}

std::uint64_t checksum_of(const DigestBatchHeader& batch, std::uint64_t salt) noexcept {
  return checksum(std::as_bytes(std::span(&batch, 1)).subspan(sizeof(batch.checksum)), salt);
}

std::uint64_t checksum_of(std::span<const WideDigest> digests, std::uint64_t salt) noexcept {
  return checksum(std::as_bytes(digests), salt + 1);
}

DigestBatchHeader header_of(std::span<const WideDigest> digests, std::uint64_t before, std::uint64_t durable,
                            std::uint64_t salt) noexcept {
  DigestBatchHeader batch{.checksum = 0,
                          .digests_checksum = checksum_of(digests, salt),
                          .before = before,
                          .durable = durable,
                          .digests = digests.size()};
  batch.checksum = checksum_of(batch, salt);
  return batch;
}

bool is_batch(const DigestBatchHeader& batch, std::uint64_t salt) noexcept {
  // Tests the sizes first: they reject nearly all bytes that are not a header, and durable_after_end searches
  // everywhere.
  return batch.before <= kMaxLoggedDigests && batch.durable <= batch.before && batch.digests <= kMaxLoggedDigests &&
         batch.checksum == checksum_of(batch, salt);
}

std::uint64_t digests_in(std::span<const DigestRunEntry> runs) noexcept {
  std::uint64_t digests = 0;
  for (const DigestRunEntry& run : runs) {
    digests += run.digests;
  }
  return digests;
}

DigestLogHeader header_of(const DigestLogKeys& keys) noexcept {
  return {.magic = kDigestLogMagic,
          .version = kDigestLogVersion,
          .canonical_version = keys.canonical_version,
          .hash_kind = static_cast<std::uint32_t>(keys.first.kind),
          .run_count = 0,
          .first_seed = keys.first.seed,
          .second_seed = keys.second.seed,
          .next_run = 1,
          .retired_count = 0,
          .zero = 0,
          .runs = {},
          .retired = {},
          .salt = 0,
          .durable = 0,
          .reserved = {},
          .checksum = 0};
}

DigestLogKeys keys_of(const DigestLogHeader& header) noexcept {
  const auto kind = static_cast<HashKind>(header.hash_kind);
  return {.first = {.kind = kind, .seed = header.first_seed},
          .second = {.kind = kind, .seed = header.second_seed},
          .canonical_version = header.canonical_version};
}

// The id is the checksum of the random seeds.
detail::DigestRunOwner owner_of(const std::string& path, const DigestLogKeys& keys) {
  const std::array seeds = {keys.first.seed, keys.second.seed};
  return {.path = path, .id = checksum(std::as_bytes(std::span(seeds)))};
}

bool has_zeros(const DigestLogHeader& header) noexcept {
  return header.zero == 0 &&
         std::ranges::all_of(std::span(header.runs).subspan(header.run_count),
                             [](const DigestRunEntry& run) { return run == DigestRunEntry{}; }) &&
         std::ranges::all_of(std::span(header.retired).subspan(header.retired_count),
                             [](std::uint64_t number) { return number == 0; }) &&
         is_zero(header.reserved);
}

// Detects contradictions in forged files with a valid checksum.
bool is_consistent(const DigestLogHeader& header) noexcept {
  if (header.run_count > kMaxDigestRuns || header.retired_count > kMaxDigestRuns || !is_hash_kind(header.hash_kind) ||
      !has_zeros(header)) {
    return false;
  }
  const auto runs = std::span(header.runs).first(header.run_count);
  std::uint64_t before = 0;
  for (const DigestRunEntry& run : runs) {
    if (run.digests == 0 || run.digests > kMaxLoggedDigests || run.number <= before || run.number >= header.next_run) {
      return false;
    }
    before = run.number;
  }
  // A retired run will be removed, so it must not be in use.
  const auto is_in_use = [&](std::uint64_t number) {
    return std::ranges::find(runs, number, &DigestRunEntry::number) != runs.end();
  };
  return digests_in(runs) <= kMaxLoggedDigests &&
         std::ranges::none_of(std::span(header.retired).first(header.retired_count), is_in_use);
}

Result<void> check_header(const DigestLogHeader& header) {
  if (header.magic != kDigestLogMagic) {
    return fail(ErrorCode::corrupt, "is not a log of digests; name another file");
  }
  if (header.checksum != checksum_of(header)) {
    return fail(ErrorCode::corrupt,
                "its first page is damaged: the checksum does not match; restore the log and its runs from a copy");
  }
  if (header.version != kDigestLogVersion) {
    return fail(ErrorCode::unsupported_version,
                "is a log of version " + std::to_string(header.version) + ", and this library reads version " +
                    std::to_string(kDigestLogVersion) + "; use a newer version of Mankai");
  }
  if (!is_consistent(header)) {
    return fail(ErrorCode::corrupt, "its first page contradicts itself; restore the log and its runs from a copy");
  }
  return {};
}

Result<DigestLogHeader> read_header(const OpenFile& file, const std::string& path) {
  DigestLogHeader header{};
  if (file.size() < sizeof(header)) {
    return fail(ErrorCode::corrupt, path + ": has only " + std::to_string(file.size()) +
                                        " bytes and is not a log of digests; name another file");
  }
  MANKAI_TRY(file.read(0, std::as_writable_bytes(std::span(&header, 1))));
  MANKAI_TRY(within(path, check_header(header)));
  return header;
}

}  // namespace

class DigestLog::Impl {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Impl>> open(const std::string& given, const DigestLogKeys& if_new,
                                                          const DigestLogOptions& options) {
    FileCalls& calls = options.calls == nullptr ? system_calls() : *options.calls;
    MANKAI_TRY(make_if_missing(given, if_new, calls, options.mode));
    // Runs are beside the file itself, wherever a link to it is, and also after the process has changed its folder.
    MANKAI_ASSIGN(const std::string path, resolve_links(given, calls));
    MANKAI_ASSIGN(auto lock, FileLock::acquire(path, calls));
    MANKAI_ASSIGN(auto file, OpenFile::open(path, OpenFile::Mode::write, calls));
    MANKAI_ASSIGN(auto header, read_header(file, path));
    std::unique_ptr<Impl> impl(new Impl(path, std::move(lock), std::move(file), header, options.recent_digests, calls));
    MANKAI_TRY(impl->load());
    return impl;
  }

  // Holds no lock: a writer may change the files.
  [[nodiscard]] static Result<DigestLogFacts> verify(const std::string& path, OpenFile file, FileCalls& calls) {
    MANKAI_ASSIGN(auto header, read_header(file, path));
    Impl log(path, std::nullopt, std::move(file), header, 0, calls);
    MANKAI_TRY(log.load_contents());
    return DigestLogFacts{.digests = log.digests(),
                          .runs = log.runs(),
                          .file_bytes = log.file_bytes(),
                          .dropped_bytes = log.file_.size() - log.end_};
  }

  [[nodiscard]] const DigestLogKeys& keys() const noexcept { return keys_; }

  [[nodiscard]] bool contains(WideDigest digest) const noexcept {
    return recent_.contains(digest) ||
           std::ranges::any_of(runs_, [digest](const DigestRun& run) { return run.contains(digest); });
  }

  void add(WideDigest digest) { recent_.add(digest); }

  [[nodiscard]] Result<void> commit() {
    return unless_failed([this] { return commit_added(); });
  }

  [[nodiscard]] Result<void> sync() {
    return unless_failed([this] { return sync_batches(); });
  }

  // A batch records what was durable before it; only the first page can reveal a truncated file.
  [[nodiscard]] Result<void> close() {
    return unless_failed([this] { return is_as_closed() ? Result<void>{} : write_anew(header_); });
  }

  [[nodiscard]] Result<void> for_each(const std::function<void(std::span<const WideDigest>)>& use) const {
    for (const DigestRun& run : runs_) {
      MANKAI_TRY(run.for_each(use));
    }
    use(recent_.digests().first(committed_));
    return {};
  }

  [[nodiscard]] std::uint64_t in_runs() const noexcept {
    return digests_in(std::span(header_.runs).first(header_.run_count));
  }
  [[nodiscard]] std::uint64_t digests() const noexcept { return in_runs() + recent_.digests().size(); }
  [[nodiscard]] std::size_t runs() const noexcept { return runs_.size(); }
  [[nodiscard]] std::uint64_t file_bytes() const noexcept {
    return end_ + in_runs() * sizeof(WideDigest) + runs_.size() * sizeof(DigestRunFooter);
  }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return recent_.memory_bytes(); }
  [[nodiscard]] std::uint64_t dropped_bytes() const noexcept { return dropped_bytes_; }

 private:
  Impl(std::string path, std::optional<FileLock> lock, OpenFile file, const DigestLogHeader& header,
       std::size_t recent_most, FileCalls& calls)
      : path_(std::move(path)),
        recent_most_(recent_most),
        calls_(&calls),
        lock_(std::move(lock)),
        file_(std::move(file)),
        header_(header),
        keys_(keys_of(header)) {}

  // If another process creates the log at the same time, that log is used.
  [[nodiscard]] static Result<void> make_if_missing(const std::string& path, const DigestLogKeys& keys,
                                                    FileCalls& calls, FileMode mode) {
    if (calls.access(path.c_str(), F_OK) == 0) {
      return {};
    }
    // Does not overwrite the runs of a log that was moved away without them.
    for (std::uint64_t number = 1; number <= kMaxDigestRuns; ++number) {
      MANKAI_TRY(detail::check_run_is_free(owner_of(path, keys), number, calls));
    }
    DigestLogHeader header = header_of(keys);
    header.checksum = checksum_of(header);
    auto made = write_file(path, std::as_bytes(std::span(&header, 1)), Existing::refuse, nullptr, calls, mode);
    return !made && calls.access(path.c_str(), F_OK) == 0 ? Result<void>{} : made;
  }

  [[nodiscard]] Result<void> load_contents() {
    for (const DigestRunEntry& entry : std::span(header_.runs).first(header_.run_count)) {
      MANKAI_ASSIGN(auto run, DigestRun::open(path_, entry, *calls_));
      runs_.push_back(std::move(run));
    }
    return load_batches();
  }

  [[nodiscard]] Result<void> load() {
    MANKAI_TRY(load_contents());
    MANKAI_TRY(detail::check_run_is_free(owner_of(path_, keys_), header_.next_run, *calls_));
    dropped_bytes_ = file_.size() - end_;
    MANKAI_TRY(settle());
    MANKAI_TRY(remove_retired());
    return remove_if_there(detail::new_digest_run_path(path_));
  }

  // The last writer may have ended before the disk had the file's name, without which runs that it retired are needed.
  // Or a sync failed: the system does not try again to write what the disk then lacks, and the next sync succeeds.
  [[nodiscard]] Result<void> settle() {
    if (dropped_bytes_ != 0 || !is_as_closed()) {
      return write_anew(header_);
    }
    return sync_folder_of(path_, *calls_);
  }

  /// Whether the file is as close() writes it, or as a new one.
  [[nodiscard]] bool is_as_closed() const noexcept { return header_.durable == digests_committed(); }

  // Loads batches up to the first incomplete one.
  [[nodiscard]] Result<void> load_batches() {
    end_ = sizeof(DigestLogHeader);
    durable_ = header_.durable;
    while (file_.size() - end_ >= sizeof(DigestBatchHeader)) {
      MANKAI_ASSIGN(const auto is_whole, load_batch());
      if (!is_whole) {
        break;
      }
    }
    return check_end();
  }

  [[nodiscard]] Result<bool> load_batch() {
    DigestBatchHeader batch{};
    MANKAI_TRY(file_.read(end_, std::as_writable_bytes(std::span(&batch, 1))));
    const std::uint64_t most = (file_.size() - end_ - sizeof(batch)) / sizeof(WideDigest);
    if (!is_batch(batch, header_.salt) || batch.before != digests_committed() || batch.digests > most) {
      return false;
    }
    std::vector<WideDigest> digests(static_cast<std::size_t>(batch.digests));
    MANKAI_TRY(file_.read(end_ + sizeof(batch), std::as_writable_bytes(std::span(digests))));
    if (checksum_of(digests, header_.salt) != batch.digests_checksum) {
      return false;
    }
    for (const WideDigest digest : digests) {
      if (!recent_.contains(digest)) {
        recent_.add(digest);
      }
    }
    committed_ = recent_.digests().size();
    durable_ = std::max(durable_, batch.durable);
    end_ += sizeof(batch) + digests.size() * sizeof(WideDigest);
    return true;
  }

  // A crash may tear or drop any batch that was not synced, but no digest that the file declares durable.
  [[nodiscard]] Result<void> check_end() const {
    MANKAI_ASSIGN(const auto durable, durable_after_end());
    if (const std::uint64_t known = std::max(durable, durable_); known > digests_committed()) {
      return fail(ErrorCode::corrupt,
                  path_ + ": is damaged at offset " + std::to_string(end_) + ": there are " +
                      std::to_string(digests_committed()) + " digests before it, but the file says that " +
                      std::to_string(known) +
                      " were on the disk; restore the log and its runs from a copy, or create a new log");
    }
    return {};
  }

  // Returns the largest `durable` of batches after the end. A valid header proves that a batch existed: the salt that
  // seeds its checksum changes whenever the file is rewritten.
  [[nodiscard]] Result<std::uint64_t> durable_after_end() const {
    constexpr std::uint64_t kAlign = sizeof(std::uint64_t);
    constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 16;
    std::uint64_t most = 0;
    std::vector<std::byte> piece;
    for (std::uint64_t at = end_; file_.size() - at >= sizeof(DigestBatchHeader);
         at += piece.size() - sizeof(DigestBatchHeader) + kAlign) {
      piece.resize(static_cast<std::size_t>(std::min(kPieceBytes, file_.size() - at) / kAlign * kAlign));
      MANKAI_TRY(file_.read(at, piece));
      for (std::size_t i = 0; i + sizeof(DigestBatchHeader) <= piece.size(); i += kAlign) {
        DigestBatchHeader batch{};
        std::memcpy(&batch, piece.data() + i, sizeof(batch));
        most = is_batch(batch, header_.salt) ? std::max(most, batch.durable) : most;
      }
    }
    return most;
  }

  [[nodiscard]] Result<void> append(std::span<const WideDigest> digests) {
    const DigestBatchHeader batch = header_of(digests, digests_committed(), durable_, header_.salt);
    std::vector<std::byte> bytes;
    bytes.reserve(sizeof(batch) + digests.size_bytes());
    std::ranges::copy(std::as_bytes(std::span(&batch, 1)), std::back_inserter(bytes));
    std::ranges::copy(std::as_bytes(digests), std::back_inserter(bytes));
    MANKAI_TRY(file_.write(end_, bytes));
    end_ += bytes.size();
    committed_ += digests.size();
    return {};
  }

  [[nodiscard]] Result<void> commit_added() {
    const auto added = recent_.digests().subspan(committed_);
    MANKAI_TRY(added.empty() ? Result<void>{} : append(added));
    return recent_.digests().size() < recent_most_ ? Result<void>{} : make_run();
  }

  [[nodiscard]] Result<void> sync_batches() {
    const std::uint64_t written = digests_committed();
    MANKAI_TRY(file_.sync());
    durable_ = written;
    return {};
  }

  // Returns work(). After an error, or if memory runs out, the state of the file is unknown, so further writes could
  // contradict it.
  template <class Work>
  [[nodiscard]] Result<void> unless_failed(const Work& work) {
    if (failure_) {
      return std::unexpected(*failure_);
    }
    failure_ = Error{.code = ErrorCode::out_of_space, .detail = "no memory"};  // so short that it takes none
    auto done = work();
    if (done) {
      failure_.reset();
    } else {
      failure_ = done.error();
    }
    return done;
  }

  [[nodiscard]] std::uint64_t digests_committed() const noexcept { return in_runs() + committed_; }

  // Returns the first run to merge with the recent digests.
  [[nodiscard]] std::size_t first_merged() const noexcept {
    std::uint64_t together = recent_.digests().size();
    std::size_t first = runs_.size();
    while (first > 0 && (runs_[first - 1].entry().digests <= kMergeRatio * together || first == kMaxDigestRuns)) {
      together += runs_[--first].entry().digests;
    }
    return first;
  }

  // Syncs the new run first. Then replacing the log's file exchanges the old runs and the batches for the new run in
  // one step. A crash may leave a file whose number is used again, a retired run, or an incomplete new run.
  [[nodiscard]] Result<void> make_run() {
    std::vector<WideDigest> sorted(recent_.digests().begin(), recent_.digests().end());
    std::ranges::sort(sorted);
    const std::size_t first = first_merged();
    const auto merged = std::span(runs_).subspan(first);
    MANKAI_ASSIGN(const auto entry,
                  detail::write_digest_run(owner_of(path_, keys_), header_.next_run, sorted, merged, *calls_));
    MANKAI_ASSIGN(auto run, DigestRun::open(path_, entry, *calls_));
    DigestLogHeader header = header_;
    header.retired = {};
    std::ranges::transform(merged, header.retired.begin(), [](const DigestRun& old) { return old.entry().number; });
    header.retired_count = static_cast<std::uint32_t>(merged.size());
    header.runs = {};
    std::ranges::transform(std::span(runs_).first(first), header.runs.begin(), &DigestRun::entry);
    header.runs[first] = entry;
    header.run_count = static_cast<std::uint32_t>(first + 1);
    header.next_run = header_.next_run + 1;
    recent_.clear();
    committed_ = 0;
    MANKAI_TRY(write_anew(header));
    runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(first), runs_.end());
    runs_.push_back(std::move(run));
    return remove_retired();
  }

  // Replaces the file atomically, after a sync, by one with this first page and the recent digests as a single batch.
  [[nodiscard]] Result<void> write_anew(DigestLogHeader header) {
    const auto digests = recent_.digests().first(committed_);
    const std::uint64_t before = digests_in(std::span(header.runs).first(header.run_count));
    header.salt = header_.checksum;
    header.durable = before + digests.size();
    header.checksum = checksum_of(header);
    const DigestBatchHeader batch = header_of(digests, before, before, header.salt);
    std::vector<std::span<const std::byte>> parts = {std::as_bytes(std::span(&header, 1))};
    if (!digests.empty()) {
      parts.push_back(std::as_bytes(std::span(&batch, 1)));
      parts.push_back(std::as_bytes(digests));
    }
    MANKAI_TRY(write_file_parts(path_, parts, Existing::replace, &*lock_, *calls_));
    MANKAI_ASSIGN(auto file, OpenFile::open(path_, OpenFile::Mode::write, *calls_));
    file_ = std::move(file);
    header_ = header;
    end_ = file_.size();
    durable_ = header.durable;
    return {};
  }

  [[nodiscard]] Result<void> remove_retired() {
    for (const std::uint64_t number : std::span(header_.retired).first(header_.retired_count)) {
      MANKAI_TRY(remove_if_there(detail::digest_run_path(path_, number)));
    }
    return {};
  }
  [[nodiscard]] Result<void> remove_if_there(const std::string& path) {
    return calls_->access(path.c_str(), F_OK) == 0 ? remove_file(path, *calls_) : Result<void>{};
  }

  std::string path_;
  std::size_t recent_most_;
  FileCalls* calls_;
  std::optional<FileLock> lock_;  ///< empty: read-only
  OpenFile file_;
  DigestLogHeader header_;
  DigestLogKeys keys_;
  std::vector<DigestRun> runs_;
  DigestTable recent_;
  std::size_t committed_ = 0;  // of the recent digests
  std::uint64_t end_ = 0;      // of the complete batches
  std::uint64_t durable_ = 0;  // number of digests known to be on disk
  std::uint64_t dropped_bytes_ = 0;
  std::optional<Error> failure_;
};

DigestLog::DigestLog(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
DigestLog::DigestLog(DigestLog&&) noexcept = default;
DigestLog& DigestLog::operator=(DigestLog&&) noexcept = default;
DigestLog::~DigestLog() = default;

Result<DigestLog> DigestLog::open(const std::string& path, const DigestLogKeys& if_new,
                                  const DigestLogOptions& options) {
  MANKAI_ASSERT(if_new.first.kind == if_new.second.kind);
  MANKAI_ASSIGN(auto impl, Impl::open(path, if_new, options));
  return DigestLog(std::move(impl));
}

const DigestLogKeys& DigestLog::keys() const noexcept { return impl_->keys(); }
bool DigestLog::contains(WideDigest digest) const noexcept { return impl_->contains(digest); }
void DigestLog::add(WideDigest digest) { impl_->add(digest); }
Result<void> DigestLog::commit() { return impl_->commit(); }
Result<void> DigestLog::sync() { return impl_->sync(); }
Result<void> DigestLog::close() { return impl_->close(); }
Result<void> DigestLog::for_each(const std::function<void(std::span<const WideDigest>)>& use) const {
  return impl_->for_each(use);
}
std::uint64_t DigestLog::digests() const noexcept { return impl_->digests(); }
std::size_t DigestLog::runs() const noexcept { return impl_->runs(); }
std::uint64_t DigestLog::file_bytes() const noexcept { return impl_->file_bytes(); }
std::uint64_t DigestLog::memory_bytes() const noexcept { return impl_->memory_bytes(); }
std::uint64_t DigestLog::dropped_bytes() const noexcept { return impl_->dropped_bytes(); }

Result<DigestLogFacts> verify_digest_log(const std::string& path, FileCalls& calls) {
  // Retries if a writer replaced the file and removed merged runs.
  constexpr int kMaxAttempts = 100;
  for (int attempt = 1;; ++attempt) {
    MANKAI_ASSIGN(auto file, OpenFile::open(path, OpenFile::Mode::read, calls));
    const FileIdentity identity = file.identity();
    auto facts = DigestLog::Impl::verify(path, std::move(file), calls);
    const auto now = identify(path, calls);
    if (facts || attempt == kMaxAttempts || (now && *now == identity)) {
      return facts;
    }
  }
}

Result<DigestLogFacts> verify_digest_run(const std::string& path, FileCalls& calls) {
  MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::read, calls));
  DigestRunFooter footer{};
  if (file.size() < sizeof(footer)) {
    return fail(ErrorCode::corrupt,
                path + ": has only " + std::to_string(file.size()) + " bytes and is not a run of a log of digests");
  }
  MANKAI_TRY(file.read(file.size() - sizeof(footer), std::as_writable_bytes(std::span(&footer, 1))));
  const std::string name = detail::digest_run_path("", footer.entry.number);
  if (!path.ends_with(name)) {
    return fail(ErrorCode::corrupt, path + ": is run " + std::to_string(footer.entry.number) +
                                        " of a log of digests, but has another name; rename it to LOG" + name);
  }
  MANKAI_ASSIGN(const auto run, DigestRun::open(path.substr(0, path.size() - name.size()), footer.entry, calls));
  return DigestLogFacts{.digests = footer.entry.digests, .runs = 1, .file_bytes = file.size()};
}

}  // namespace mankai
