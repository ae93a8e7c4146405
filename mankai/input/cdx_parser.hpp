#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "mankai/base/time.hpp"
#include "mankai/input/detail/text_arena.hpp"

namespace mankai {

/// What a line of an index of captures is.
enum class CdxLine : std::uint8_t {
  capture,
  heading,    ///< the legend of the columns, or what a CDXJ file says about itself
  malformed,  ///< has no URL where there should be one
};

/// A line of an index; the views stand as long as the line and the parser's batch.
struct CdxCapture {
  CdxLine what = CdxLine::malformed;
  std::string_view url{};      ///< as it was asked for, not its sort key; empty unless it is a capture
  std::optional<Time> time{};  ///< where the timestamp is a moment
};

/// Whether a file that begins with this line is an index for sure: a legend of columns, a line of CDXJ, or one of 7, 9,
/// 10 or 11 columns that looks like no other: timestamp, URL, status and place stand where they do without a legend.
[[nodiscard]] bool looks_like_cdx(std::string_view line) noexcept;

/// Reads the lines of CDX files (columns between spaces or what its legend has in front, such as
/// " CDX N b a m s k r M S V g"; without a legend, N b a first) and of CDXJ files (sort key, timestamp, a JSON object
/// with a member "url"), which may be mixed.
///
/// Source: [Cdx2006] the letters of the columns; [Cdxj2015]. Threads: one at a time.
class CdxParser {
 public:
  /// Begins another file: its columns are those of its own legend.
  void restart() noexcept { columns_ = {}; }

  /// Shape: lines[c], captures[c]. Cost: a pass over the first columns, for CDXJ over the object. Errors: none; total.
  void parse(std::span<const std::string_view> lines, std::span<CdxCapture> captures);

 private:
  struct Columns {
    char separator = ' ';
    std::size_t time = 1;  // counted from 0; kNone: there is none
    std::size_t url = 2;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  [[nodiscard]] CdxCapture parse_line(std::string_view line);
  [[nodiscard]] CdxCapture parse_columns(std::string_view line) const;
  [[nodiscard]] CdxCapture parse_object(std::string_view time, std::string_view object);
  void take_legend(std::string_view line);

  Columns columns_;
  detail::TextArena texts_;
};

}  // namespace mankai
