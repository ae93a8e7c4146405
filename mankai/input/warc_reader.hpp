#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"
#include "mankai/input/detail/input_buffer.hpp"
#include "mankai/input/detail/text_arena.hpp"

namespace mankai {

/// The type of a WARC record; `other` for types outside the standard.
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

/// Returns the name in files, such as "response".
[[nodiscard]] std::string_view name(WarcType type) noexcept;

/// The header of a record whose block is complete.
struct WarcRecord {
  WarcType type = WarcType::other;
  std::string_view target_uri{};  ///< without the angle brackets that some writers add; empty if there is none
  std::optional<Time> date{};     ///< WARC-Date, if valid
  std::uint64_t offset = 0;       ///< of the first byte, in the decompressed input
  std::uint64_t block_bytes = 0;

  friend bool operator==(const WarcRecord&, const WarcRecord&) = default;
};

/// Settings of a WarcReader.
struct WarcReaderOptions {
  std::size_t buffer_bytes = std::size_t{256} << 10;
  /// A longer header is an error: URLs have at most some kilobytes. The buffer grows up to this, only for a header.
  std::size_t max_header_bytes = std::size_t{1} << 20;
};

/// Returns whether a file that begins with this line is a WARC file.
[[nodiscard]] bool looks_like_warc(std::string_view line) noexcept;

/// Reads the headers of a WARC file's records (versions 1.0 and 1.1 and earlier drafts) and skips their blocks, however
/// long, in constant memory. The source decompresses, whether per record or whole.
///
/// Header lines may end without CR, fields may be folded and in any order, and empty lines may separate records.
/// Anything else is corrupt: after a wrong block length nothing can be found reliably.
///
/// Source: [Warc2017]. Threads: one at a time.
class WarcReader {
 public:
  /// Errors: invalid_argument if a size is 0.
  [[nodiscard]] static Result<WarcReader> create(Source source, const WarcReaderOptions& options = {});

  /// Returns the next complete records, at most kBatchLinesMax; an empty span at the end. The views are valid until the
  /// next call. A batch never waits to become full.
  /// Cost:    one read(2) per `buffer_bytes`, and a pass over the headers.
  /// Errors:  as Source::read; corrupt, with the offset, if no record begins there or the input ends within one;
  ///          unsupported_version from WARC 2.0 on; out_of_space. Complete records before the error are delivered
  ///          first; the error then repeats on every call.
  [[nodiscard]] Result<std::span<const WarcRecord>> next_batch();

  [[nodiscard]] const Source& source() const noexcept { return buffer_.source(); }

 private:
  enum class Step : std::uint8_t { took, wants_more, failed };

  WarcReader(Source source, const WarcReaderOptions& options);

  [[nodiscard]] Step take_record();
  [[nodiscard]] Step skip_block();
  [[nodiscard]] Step skip_empty_lines();
  [[nodiscard]] Step find_header_end(std::size_t& length);
  [[nodiscard]] Step take_header();
  void fill();
  void check_end();
  Step fail_at(std::uint64_t offset, std::string_view problem, ErrorCode code = ErrorCode::corrupt);

  detail::InputBuffer buffer_;
  std::size_t max_header_bytes_;
  std::vector<WarcRecord> batch_;
  detail::TextArena texts_;
  // The record whose block is being skipped.
  std::optional<WarcRecord> pending_;
  std::string pending_uri_;
  std::uint64_t block_left_ = 0;
  std::optional<Error> failure_;
};

}  // namespace mankai
