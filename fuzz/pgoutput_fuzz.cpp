// Any bytes as what a PostgreSQL server sends: CopyData, a message of pgoutput, a line of COPY, a place in the log.
// Whatever is understood lies in the bytes that it came from; one byte more or less is no message; what is read of
// places is written and read again.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "mankai/base/assert.hpp"
#include "mankai/gate/database/pgoutput.hpp"

namespace mankai {
namespace {

/// Asserts that every text of a message lies in it.
class Within {
 public:
  explicit Within(std::string_view bytes) : bytes_(bytes) {}

  void operator()(std::string_view text) const {
    const std::less_equal<> before;
    MANKAI_ASSERT(text.empty() || (before(bytes_.data(), text.data()) &&
                                   before(text.data() + text.size(), bytes_.data() + bytes_.size())));
  }
  void operator()(const PgRow& row) const {
    for (const PgColumn& column : row) {
      (*this)(column.value);
      const bool has_value = column.state == PgColumn::State::text || column.state == PgColumn::State::binary;
      MANKAI_ASSERT(has_value || column.value.empty());
    }
  }
  void operator()(const PgRelation& relation) const {
    for (const PgRelationColumn& column : relation.columns) {
      (*this)(column.name);
    }
  }
  void operator()(const PgInsert& insert) const { (*this)(insert.row); }
  void operator()(const PgUpdate& update) const {
    (*this)(update.old_row);
    (*this)(update.row);
    MANKAI_ASSERT(update.old_is != PgOldRow::none || update.old_row.empty());
  }
  void operator()(const PgDelete& erased) const {
    (*this)(erased.old_row);
    MANKAI_ASSERT(erased.old_is != PgOldRow::none);
  }
  void operator()(const PgTruncate& truncate) const {
    MANKAI_ASSERT(truncate.relations.size() * sizeof(std::uint32_t) <= bytes_.size());
  }
  void operator()(const PgIgnored& /*ignored*/) const {}
  void operator()(const PgBegin& /*begin*/) const {}
  void operator()(const PgCommit& /*commit*/) const {}

 private:
  std::string_view bytes_;
};

void check_message(std::string_view bytes) {
  const auto message = parse_pgoutput(bytes);
  if (!message) {
    MANKAI_ASSERT(message.error().code == ErrorCode::corrupt);
    return;
  }
  std::visit(Within(bytes), *message);
  MANKAI_ASSERT(!parse_pgoutput(bytes.substr(0, bytes.size() - 1)));
  MANKAI_ASSERT(!parse_pgoutput(std::string(bytes) + '\0'));
}

void check_copy_data(std::string_view bytes) {
  const auto data = parse_copy_data(bytes);
  if (data && std::holds_alternative<PgChunk>(*data)) {
    const PgChunk& chunk = std::get<PgChunk>(*data);
    Within{bytes}(chunk.message);
    check_message(chunk.message);
  }
}

void check_line(std::string_view bytes) {
  std::string value;
  const auto is_value = parse_copy_line(bytes, value);
  MANKAI_ASSERT(value.size() <= bytes.size());
  MANKAI_ASSERT(!is_value || *is_value || value.empty());
}

void check_place(std::string_view bytes) {
  if (const auto place = parse_lsn(bytes); place) {
    MANKAI_ASSERT(parse_lsn(to_text(*place)).value() == *place);
  }
}

}  // namespace
}  // namespace mankai

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  mankai::check_message(bytes);
  mankai::check_copy_data(bytes);
  mankai::check_line(bytes);
  mankai::check_place(bytes);
  return 0;
}
