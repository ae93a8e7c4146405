#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai {

namespace detail {
class Decoder;
struct DecodeStep;
class InputDescriptor;
}  // namespace detail

/// The compression of an input, detected from its content, not from the file's name.
enum class Compression : std::uint8_t { plain, gzip, zstd, xz };

/// Returns the format's name, such as "gzip".
[[nodiscard]] std::string_view name(Compression compression) noexcept;

/// Fills a prefix of the span with raw bytes and returns its length; 0 at the end. May wait only for the first byte.
using ReadFunction = std::move_only_function<Result<std::size_t>(std::span<char>)>;

/// Settings of a Source.
struct SourceOptions {
  /// The largest read(2), and the buffer for compressed input. More than a second-level cache holds was not faster.
  std::size_t buffer_bytes = std::size_t{256} << 10;

  /// A descriptor, or -1: `read` fails with io and EINTR as soon as it is readable. Use the reading end of a pipe that
  /// a signal handler writes to: a signal alone would not interrupt read(2) if it arrived just before.
  int stop_fd = -1;
};

/// The decompressed bytes of a file, a pipe or a block of memory. Threads: one at a time.
///
/// The magic number selects the format: gzip (any number of members), zstd (any number of frames, including skippable
/// ones, windows up to 128 MiB as of `zstd --long=27`) or xz (any number of streams, up to 256 MiB of decoder memory).
/// Zero bytes after a member, frame or stream are skipped; anything else that is not the next one is corrupt. The magic
/// numbers of bzip2, lz4, lzip, lzop, compress, zip, 7z and RAR, and the header of a tar file are corrupt: such bytes
/// are no text. Inside compressed data all of these are. Everything else is plain, also an input that is truncated
/// inside its magic number. If the first `read` is for less than 262 bytes, tar files are not recognized.
///
/// Files are read, not mapped: mapped pages would count as this process's memory.
class Source {
 public:
  /// Opens a file; "-" is standard input. Errors: not_found; io with errno if the file cannot be opened or is a
  /// directory. Every error, here and in `read`, begins with the path.
  [[nodiscard]] static Result<Source> open(const std::string& path, const SourceOptions& options = {});

  /// Reads a descriptor that the caller owns and keeps open; `label` names it in errors. Errors: io, as `open`.
  [[nodiscard]] static Result<Source> from_descriptor(int fd, std::string label, const SourceOptions& options = {});

  /// Reads memory that the caller owns and keeps alive.
  [[nodiscard]] static Source from_memory(std::string_view bytes, std::string label, const SourceOptions& options = {});

  /// Reads the output of a function; `options.stop_fd` has no effect.
  [[nodiscard]] static Source from_function(ReadFunction read, std::string label, const SourceOptions& options = {});

  Source(Source&& other) noexcept;
  Source& operator=(Source&& other) noexcept;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source();

  /// Fills a prefix of `into` with decompressed bytes and returns its length; 0 at the end. Waits only while there is
  /// nothing to deliver, so a stalled pipe never delays bytes that have arrived.
  /// Shape:   into[c], c > 0.
  /// Cost:    plain: one read(2) straight into `into`. Compressed: one read(2) per `buffer_bytes`.
  /// Errors:  io with errno; corrupt with the offset in the compressed input, the reason and a remedy; out_of_space
  ///          above the limits of decoder memory. Bytes before the error are delivered first; the error then repeats on
  ///          every call.
  [[nodiscard]] Result<std::size_t> read(std::span<char> into);

  /// Returns the first line, without its line feed, but at most `most` bytes, without consuming them. The view is valid
  /// until the next call. Shape: most > 0. Errors: as read. Pre: nothing has been read.
  [[nodiscard]] Result<std::string_view> peek_line(std::size_t most);

  /// The path, or the label given at creation.
  [[nodiscard]] const std::string& label() const noexcept { return label_; }
  /// The detected format; plain before the first `read`.
  [[nodiscard]] Compression compression() const noexcept;
  /// Number of consumed raw (compressed) bytes.
  [[nodiscard]] std::uint64_t raw_bytes_consumed() const noexcept { return raw_bytes_read_ - (raw_end_ - raw_begin_); }
  /// The raw size of the memory, or of the rest of a regular file at creation; empty for pipes.
  [[nodiscard]] std::optional<std::uint64_t> raw_bytes_total() const noexcept { return raw_bytes_total_; }

 private:
  [[nodiscard]] static Result<Source> from(detail::InputDescriptor descriptor, std::string label,
                                           const SourceOptions& options);
  Source(ReadFunction read, std::string label, std::optional<std::uint64_t> total, const SourceOptions& options);

  [[nodiscard]] Result<std::size_t> read_input(std::span<char> into);
  [[nodiscard]] Result<void> detect();
  [[nodiscard]] Result<std::size_t> read_bytes(std::span<char> into);
  [[nodiscard]] Result<std::size_t> begin(std::span<char> into, std::size_t got);
  [[nodiscard]] Result<std::size_t> read_plain(std::span<char> into);
  [[nodiscard]] Result<bool> begin_member();
  [[nodiscard]] Result<std::size_t> read_decoded(std::span<char> into);
  [[nodiscard]] std::optional<Error> failure_of(const detail::DecodeStep& step, bool is_cut_off, int idle_steps) const;
  [[nodiscard]] Result<std::size_t> read_raw(std::span<char> into);
  [[nodiscard]] Result<void> refill();
  [[nodiscard]] Error corrupt(const std::string& problem, const std::string& rest) const;
  [[nodiscard]] std::unexpected<Error> keep_failure(const Error& error);
  [[nodiscard]] std::string_view raw() const noexcept { return {raw_.get() + raw_begin_, raw_end_ - raw_begin_}; }

  ReadFunction read_;
  std::string label_;
  std::size_t buffer_bytes_;
  std::optional<std::uint64_t> raw_bytes_total_;
  std::uint64_t raw_bytes_read_ = 0;
  std::unique_ptr<char[]> raw_;  // [raw_begin_, raw_end_) is not consumed; null while plain input needs no buffer
  std::size_t raw_begin_ = 0;
  std::size_t raw_end_ = 0;
  std::unique_ptr<detail::Decoder> decoder_;  // null for plain input
  std::string peeked_;                        // bytes of peek_line that read has not delivered
  std::optional<Error> failure_;
  bool is_detected_ = false;
  bool is_begun_ = false;  // the first bytes were delivered
  bool is_between_members_ = true;
  bool is_raw_ended_ = false;             // a terminal delivers more after its end of file: do not read again
  bool decoder_may_hold_output_ = false;  // the last step filled its output
};

}  // namespace mankai
