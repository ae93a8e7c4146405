#pragma once

/// Reads inputs of any format as lines to print, keys to compare and times.

#include <bitset>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai/input.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/change.hpp"
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

/// A batch of input, at most kBatchLinesMax lines. `lines`, `keys` and, if it is not empty, `times` have the same size.
struct DedupBatch {
  std::span<const std::string_view> headings;  ///< headings of the lines; never compared
  std::span<const std::string_view> lines;
  std::span<const std::string_view> keys;
  std::span<const std::optional<Time>> times;
  std::optional<Result<Change>> change = {};  ///< the keys, encoded for a filter
};

/// Totals over all inputs.
struct DedupInputCounts {
  std::uint64_t without_key = 0;  ///< lines without the field or a URL, compared as a whole
  std::uint64_t records = 0;
  std::uint64_t other_records = 0;  ///< of types that were not requested
  std::uint64_t without_uri = 0;    ///< of requested types, but without a URI
};

/// Lines or records of one input, their keys, and the digests of these.
class DedupBlock {
 public:
  /// `filter`: whose digests are computed, if it is not nullptr.
  DedupBlock(const DedupInputRequest& request, const AnyFilter* filter) : request_(&request), filter_(filter) {}

  [[nodiscard]] std::span<const DedupBatch> batches() const noexcept { return batches_; }
  [[nodiscard]] const DedupInputCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] std::size_t size() const noexcept { return shown_.size(); }
  void parse();

 private:
  friend class DedupReader;

  void take_fields();
  void take_index(CdxParser& legend);
  void take_records(std::span<const WarcRecord> records, WarcTypes types);
  void add_batch(std::size_t begin, std::size_t end, std::size_t heading);
  [[nodiscard]] std::optional<std::string_view> field_of(std::string_view line, std::uint64_t field) const;
  void clear(std::size_t lines);

  const DedupInputRequest* request_;
  const AnyFilter* filter_;
  LinesBlock lines_;
  CdxParser index_;
  DedupInputCounts counts_;
  std::vector<DedupBatch> batches_;
  std::vector<ChangeEncoder> encoders_;  // of each batch
  std::vector<CdxCapture> captures_;
  std::vector<std::string_view> headings_;
  std::span<const std::string_view> shown_;
  std::vector<std::string_view> shown_here_;
  std::vector<std::string_view> keys_;
  std::vector<std::optional<Time>> times_;
  std::string texts_;  // of records
  std::deque<std::string> without_key_;
};

/// Reads one input. With DedupFormat::automatic, its format is detected.
class DedupReader {
 public:
  using Block = DedupBlock;

  /// Errors: as Source::read.
  [[nodiscard]] static Result<DedupReader> open(Source source, const DedupInputRequest& request);

  /// Errors: as LineReader and WarcReader.
  [[nodiscard]] Result<std::size_t> read(DedupBlock& block, bool keeps);
  [[nodiscard]] const Source& source() const noexcept { return lines_ ? lines_->source() : records_->source(); }

 private:
  std::optional<LineReader> lines_;
  std::optional<WarcReader> records_;
  std::optional<CdxParser> legend_;  // of an index
  WarcTypes types_;
};

/// The lines or URLs of several inputs in order.
class DedupInput {
 public:
  /// `filter`: as of DedupBlock. Errors: as Pipeline::open.
  [[nodiscard]] static Result<DedupInput> open(const DedupInputRequest& request, const AnyFilter* filter,
                                               std::function<void()> before_waiting);

  /// Returns the next batch, valid until the next call; nullptr at the end or after a stop signal. Errors: as
  /// DedupReader.
  [[nodiscard]] Result<const DedupBatch*> next_batch();

  [[nodiscard]] const DedupInputCounts& counts() const noexcept { return counts_; }
  /// As of Pipeline.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return pipeline_->bytes_read(); }
  [[nodiscard]] bool has_compressed() const noexcept { return pipeline_->has_compressed(); }

 private:
  explicit DedupInput(std::unique_ptr<Pipeline<DedupReader>> pipeline) : pipeline_(std::move(pipeline)) {}

  std::unique_ptr<Pipeline<DedupReader>> pipeline_;
  std::span<const DedupBatch> batches_;  // of the last block, not returned yet
  DedupInputCounts counts_;
};

}  // namespace mankai::command
