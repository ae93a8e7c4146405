#include "mankai/gate/database/detail/gate_pieces.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "mankai/base/assert.hpp"
#include "mankai/hash/checksum.hpp"

namespace mankai::detail {
namespace {

constexpr std::string_view kMagic = "mankaigt";
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kPrefixBytes = 16;
constexpr std::size_t kMarkBytes = 16;
constexpr std::size_t kIdBytes = 32;
constexpr std::uint64_t kHeaderPlace = ~std::uint64_t{0};

template <class T>
void append_value(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void append_padded(std::string& out, const std::string& word, std::size_t bytes) {
  MANKAI_ASSERT(word.size() <= bytes);
  out += word;
  out.append(bytes - word.size(), '\0');
}

}  // namespace

GatePieces::GatePieces(const CountingBloom& filter, const GatePosition& position) : filter_(filter), header_(kMagic) {
  append_value(header_, kVersion);
  header_.resize(kPrefixBytes);
  append_value(header_, position.position);
  append_padded(header_, position.mark, kMarkBytes);
  append_padded(header_, position.source_id, kIdBytes);
  append_value(header_, checksum(filter.cells()));
  append_value(header_, filter.sealed_header());
  const auto all = std::as_bytes(std::span(header_));
  moment_ = checksum(all.subspan(kPrefixBytes), kHeaderPlace);
  append_value(header_, checksum(all, kHeaderPlace));
}

std::string GatePieces::cells(std::size_t start, std::size_t most_bytes) const {
  const auto cells = filter_.cells();
  if (start >= cells.size()) {
    return {};
  }
  const auto piece = cells.subspan(start, std::min(most_bytes, cells.size() - start));
  std::string out(reinterpret_cast<const char*>(piece.data()), piece.size());
  append_value(out, checksum(piece, start ^ moment_));
  return out;
}

}  // namespace mankai::detail
