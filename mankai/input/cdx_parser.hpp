#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "mankai/base/time.hpp"
#include "mankai/input/detail/text_arena.hpp"

namespace mankai {

/// The kind of a line in an index of captures.
enum class CdxLine : std::uint8_t {
  capture,
  heading,    ///< the legend of the columns, or metadata of a CDXJ file
  malformed,  ///< without a URL
};

/// A line of an index; the views are valid as long as the line and the parser's batch.
struct CdxCapture {
  CdxLine what = CdxLine::malformed;
  std::string_view url{};      ///< the requested URL, not its sort key; empty unless the line is a capture
  std::optional<Time> time{};  ///< if the timestamp is valid
};

/// Whether this first line proves an index: a legend, a line of CDXJ, or 7, 9, 10 or 11 columns as usual.
[[nodiscard]] bool looks_like_cdx(std::string_view line) noexcept;

/// Reads the lines of CDX files and CDXJ files, which may be mixed. The legend of a CDX file begins with the separator
/// of its columns, as in " CDX N b a m s k r M S V g"; without a legend, spaces separate N b a and others. A line of
/// CDXJ has a sort key, a timestamp and a JSON object with a member "url". Source: [Cdx2006] the letters of the
/// columns; [Cdxj2015]. Threads: one at a time.
class CdxParser {
 public:
  /// Takes the legend of another parser, to parse what follows the lines that it has parsed.
  void continue_after(const CdxParser& other) noexcept { columns_ = other.columns_; }

  /// Shape: lines[c], captures[c]. Cost: a pass over the first columns; for CDXJ over the object.
  void parse(std::span<const std::string_view> lines, std::span<CdxCapture> captures);

 private:
  struct Columns {
    char separator = ' ';
    std::size_t time = 1;  // from 0; kNone: missing
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
