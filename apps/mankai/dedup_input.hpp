#pragma once

/// Reads inputs of any format as lines to print, keys to compare and times.

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai/input.hpp"
#include "mankai/input/cdx_parser.hpp"
#include "mankai/input/line_reader.hpp"
#include "mankai/input/warc_reader.hpp"

namespace mankai::command {

enum class DedupFormat : std::uint8_t { automatic, lines, warc, cdx };

[[nodiscard]] std::span<const std::string_view> dedup_format_names() noexcept;
[[nodiscard]] Result<DedupFormat> parse_dedup_format(std::string_view name);

using WarcTypes = std::bitset<static_cast<std::size_t>(WarcType::other) + 1>;
/// Records of a fetched URL.
inline constexpr WarcTypes kCaptures = 1U << static_cast<unsigned>(WarcType::response) |
                                       1U << static_cast<unsigned>(WarcType::resource) |
                                       1U << static_cast<unsigned>(WarcType::revisit);
/// Reads "response,request" or "all". Errors: invalid_argument.
[[nodiscard]] Result<WarcTypes> parse_warc_types(std::string_view text);

struct DedupInputRequest {
  InputRequest input;
  DedupFormat format = DedupFormat::automatic;
  std::optional<WarcTypes> records;
  std::optional<std::uint64_t> field;
  std::optional<std::uint64_t> time_field;
  std::optional<char> delimiter;
};

/// A batch of input. `lines`, `keys` and `times` have the same size.
struct DedupBatch {
  std::span<const std::string_view> headings;  ///< headings of the lines; never compared
  std::span<const std::string_view> lines;
  std::span<const std::string_view> keys;
  std::span<const std::optional<Time>> times;
};

/// Totals over all inputs.
struct DedupInputCounts {
  std::uint64_t without_key = 0;  ///< lines without the field or a URL, compared as a whole
  std::uint64_t records = 0;
  std::uint64_t other_records = 0;  ///< of types that were not requested
  std::uint64_t without_uri = 0;    ///< of requested types, but without a URI
};

class LineFields {
 public:
  explicit LineFields(const DedupInputRequest& request);

  /// Returns how many lines lack the key field. Shape: keys[c], times[c]. Keys are valid until the next call.
  std::size_t read(std::span<const std::string_view> lines, std::span<std::string_view> keys,
                   std::span<std::optional<Time>> times);

 private:
  [[nodiscard]] std::optional<std::string_view> field_of(std::string_view line, std::uint64_t field) const;

  std::optional<std::uint64_t> key_field_;
  std::optional<std::uint64_t> time_field_;
  char delimiter_;
  std::vector<std::string> without_key_;
};

/// The lines or URLs of several inputs in order. With DedupFormat::automatic, each input's format is detected.
class DedupInput {
 public:
  [[nodiscard]] static Result<DedupInput> open(const DedupInputRequest& request, std::function<void()> before_waiting);

  /// Returns at most kBatchLinesMax lines, valid until the next call; none at the end or after a stop signal. Errors:
  /// as LineReader and WarcReader.
  [[nodiscard]] Result<DedupBatch> next_batch();

  [[nodiscard]] const DedupInputCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] std::uint64_t bytes_read() const noexcept;

 private:
  DedupInput(Sources sources, const DedupInputRequest& request);

  [[nodiscard]] Result<bool> open_next();
  [[nodiscard]] Result<void> open_reader(Source source);
  [[nodiscard]] Result<DedupFormat> format_of(Source& source) const;
  [[nodiscard]] Result<DedupBatch> read();
  [[nodiscard]] Result<DedupBatch> read_lines();
  [[nodiscard]] Result<DedupBatch> read_records();
  [[nodiscard]] DedupBatch take_lines(std::span<const std::string_view> lines);
  [[nodiscard]] DedupBatch take_index(std::span<const std::string_view> lines);
  [[nodiscard]] DedupBatch batch_of(std::size_t count) const;
  [[nodiscard]] const Source* source() const noexcept;
  void close_current();

  Sources sources_;
  DedupFormat format_;
  WarcTypes records_;
  std::optional<std::uint64_t> max_line_bytes_;
  bool has_fields_;
  LineFields fields_;
  CdxParser index_;
  std::optional<LineReader> lines_reader_;
  std::optional<WarcReader> warc_reader_;
  bool is_index_ = false;
  bool is_at_end_ = false;  // of the current input; a batch of WARC records may be empty before the end
  DedupInputCounts counts_;
  std::uint64_t bytes_before_ = 0;
  std::uint64_t read_ = 0;
  Progress progress_;
  std::vector<std::string_view> headings_;
  std::array<CdxCapture, kBatchLinesMax> captures_;
  std::array<std::string_view, kBatchLinesMax> shown_;
  std::array<std::string_view, kBatchLinesMax> keys_;
  std::array<std::optional<Time>, kBatchLinesMax> times_;
};

}  // namespace mankai::command
