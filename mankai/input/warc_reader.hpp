#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"
#include "mankai/input/detail/text_arena.hpp"
#include "mankai/input/source.hpp"

namespace mankai {

/// What a WARC record is, as far as the standard names it.
enum class WarcType : std::uint8_t {
  warcinfo,
  response,
  resource,
  request,
  metadata,
  revisit,
  conversion,
  continuation,
  other,
};

/// Returns the name that stands in files, such as "response"; "other" for what the standard does not name.
[[nodiscard]] std::string_view name(WarcType type) noexcept;

/// The header of a record whose block was there whole.
struct WarcRecord {
  WarcType type = WarcType::other;
  std::string_view
      target_uri{};            ///< without the angle brackets that some writers put around it; empty if there is none
  std::optional<Time> date{};  ///< of WARC-Date, where it is a moment
  std::uint64_t offset = 0;    ///< of its first byte in the decompressed input
  std::uint64_t block_bytes = 0;

  friend bool operator==(const WarcRecord&, const WarcRecord&) = default;
};

/// The sizes that bound a WarcReader's memory.
struct WarcReaderOptions {
  std::size_t buffer_bytes = std::size_t{256} << 10;
  /// A longer header is an error: URLs are some kilobytes at most. The buffer grows so far, and only for a header.
  std::size_t max_header_bytes = std::size_t{1} << 20;
};

/// Whether a file that begins with this is a WARC file.
[[nodiscard]] bool looks_like_warc(std::string_view line) noexcept;

/// Reads the headers of a WARC file's records, versions 1.0 and 1.1 and the drafts before, and skips their blocks
/// without keeping them, however long they are. Compressed files, with a gzip member a record or otherwise, are the
/// source's business.
///
/// Lines of a header may end without CR, fields may be folded and in any order, and any number of empty lines may stand
/// between records. Nothing else is forgiven: behind a block that is shorter or longer than its header says nothing can
/// be found for sure, and what is missing would not be missed.
///
/// Source: [Warc2017]. Threads: one at a time.
class WarcReader {
 public:
  /// Errors: invalid_argument when a size is 0.
  [[nodiscard]] static Result<WarcReader> create(Source source, const WarcReaderOptions& options = {});

  /// Returns the next records whose blocks have been read to their end, at most kBatchLinesMax; an empty span at the
  /// end. The views are valid until the next call. A batch never waits to become full: it ends where what has arrived
  /// does.
  ///
  /// Cost:    one read(2) for each `buffer_bytes`, and a pass over the headers.
  /// Errors:  those of Source::read; corrupt with the offset in the decompressed input, when what stands there is no
  ///          record or the input ends within one; unsupported_version for a WARC of 2.0 or later. All whole records
  ///          before the trouble are delivered first; the error then repeats on every call.
  [[nodiscard]] Result<std::span<const WarcRecord>> next_batch();

  /// Returns the source, for its progress counters.
  [[nodiscard]] const Source& source() const noexcept { return source_; }

 private:
  enum class Step : std::uint8_t { took, wants_more, failed };

  WarcReader(Source source, const WarcReaderOptions& options);

  void take_records();
  [[nodiscard]] Step take_record();
  [[nodiscard]] Step skip_block();
  [[nodiscard]] Step skip_empty_lines();
  [[nodiscard]] Step find_header_end(std::size_t& length);
  [[nodiscard]] Step take_header();
  void fill();
  void make_room();
  void check_end();
  Step fail_at(std::uint64_t offset, std::string_view problem, ErrorCode code = ErrorCode::corrupt);
  [[nodiscard]] std::string_view buffered() const noexcept { return {data_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] std::uint64_t here() const noexcept { return data_offset_ + begin_; }

  Source source_;
  std::size_t max_header_bytes_;
  std::vector<WarcRecord> batch_;
  detail::TextArena texts_;
  std::unique_ptr<char[]> data_;
  std::size_t capacity_;
  std::size_t begin_ = 0;
  std::size_t scanned_ = 0;  // lines of the header at begin_ that have been looked at
  std::size_t end_ = 0;
  std::uint64_t data_offset_ = 0;  // of data_[0] in the decompressed input
  // A record whose block is being skipped.
  std::optional<WarcRecord> pending_;
  std::string pending_uri_;
  std::uint64_t block_left_ = 0;
  bool is_ended_ = false;
  std::optional<Error> failure_;
};

}  // namespace mankai
