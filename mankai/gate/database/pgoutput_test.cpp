#include "mankai/gate/database/pgoutput.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "mankai/gate/database/pgoutput_test_support.hpp"

namespace mankai {
namespace {

using test::PgBytes;
using State = PgColumn::State;

constexpr std::uint64_t kCommit = 0x16'B374'D848;
constexpr std::uint64_t kEnd = 0x16'B374'D880;
constexpr std::uint64_t kSecond = 1'000'000;
const Time kTime(std::chrono::sys_days(std::chrono::year(2000) / 1 / 1) + std::chrono::seconds(1));

std::string begin() { return PgBytes('B').u64(kCommit).u64(kSecond).i32(731).bytes(); }
std::string commit() { return PgBytes('C').u8(0).u64(kCommit).u64(kEnd).u64(kSecond).bytes(); }
std::string origin() { return PgBytes('O').u64(kCommit).text("elsewhere").bytes(); }
std::string relation() {
  return PgBytes('R')
      .i32(16385)
      .text("public")
      .text("baskets")
      .letter('f')
      .i16(2)
      .u8(1)
      .text("cookie")
      .i32(25)
      .i32(-1)
      .u8(0)
      .text("items")
      .i32(23)
      .i32(-1)
      .bytes();
}
std::string type() { return PgBytes('Y').i32(16400).text("public").text("mood").bytes(); }
std::string insert() { return PgBytes('I').i32(16385).letter('N').i16(2).column("c1").letter('n').bytes(); }
std::string update() {
  return PgBytes('U')
      .i32(16385)
      .letter('O')
      .i16(2)
      .column("c1")
      .column("1")
      .letter('N')
      .i16(2)
      .letter('u')
      .column("2")
      .bytes();
}
std::string plain_update() { return PgBytes('U').i32(16385).letter('N').i16(1).column("c1").bytes(); }
std::string erased() { return PgBytes('D').i32(16385).letter('K').i16(1).letter('b').i32(1).raw("x").bytes(); }
std::string truncate() { return PgBytes('T').i32(2).u8(3).i32(16385).i32(16386).bytes(); }
std::string note() { return PgBytes('M').u8(1).u64(kCommit).text("mankai").i32(2).raw("hi").bytes(); }

std::vector<std::string> all() {
  return {begin(),  commit(),       origin(), relation(), type(), insert(),
          update(), plain_update(), erased(), truncate(), note()};
}

template <class T>
T parsed(const std::string& bytes) {
  return std::get<T>(parse_pgoutput(bytes).value());
}

TEST(Pgoutput, a_transaction_has_its_places_and_its_time) {
  const std::string first = begin();
  const auto started = parsed<PgBegin>(first);
  EXPECT_EQ(started.commit, Lsn{kCommit});
  EXPECT_EQ(started.transaction, 731U);
  const std::string last = commit();
  const auto ended = parsed<PgCommit>(last);
  EXPECT_EQ(ended.commit, Lsn{kCommit});
  EXPECT_EQ(ended.end, Lsn{kEnd});
  EXPECT_EQ(ended.committed, kTime);
}

TEST(Pgoutput, a_relation_names_its_columns) {
  const std::string bytes = relation();
  const auto seen = parsed<PgRelation>(bytes);
  EXPECT_EQ(seen.id, 16385U);
  ASSERT_EQ(seen.columns.size(), 2U);
  EXPECT_EQ(seen.columns[0].name, "cookie");
  EXPECT_EQ(seen.columns[0].type, 25U);
  EXPECT_EQ(seen.columns[1].name, "items");
}

TEST(Pgoutput, rows_keep_their_nulls_and_what_did_not_change) {
  const std::string in = insert();
  EXPECT_EQ(parsed<PgInsert>(in).row, (PgRow{{State::text, "c1"}, {State::null, ""}}));
  const std::string changed = update();
  const auto both = parsed<PgUpdate>(changed);
  EXPECT_EQ(both.old_is, PgOldRow::full);
  EXPECT_EQ(both.old_row, (PgRow{{State::text, "c1"}, {State::text, "1"}}));
  EXPECT_EQ(both.row, (PgRow{{State::unchanged, ""}, {State::text, "2"}}));
  const std::string without = plain_update();
  EXPECT_EQ(parsed<PgUpdate>(without).old_is, PgOldRow::none);
  const std::string out = erased();
  const auto gone = parsed<PgDelete>(out);
  EXPECT_EQ(gone.old_is, PgOldRow::identity);
  EXPECT_EQ(gone.old_row, (PgRow{{State::binary, "x"}}));
}

TEST(Pgoutput, truncates_name_relations_and_others_are_ignored) {
  const std::string emptied = truncate();
  const auto seen = parsed<PgTruncate>(emptied);
  EXPECT_EQ(seen.relations, (std::vector<std::uint32_t>{16385, 16386}));
  for (const std::string& bytes : {origin(), type(), note()}) {
    EXPECT_TRUE(std::holds_alternative<PgIgnored>(parse_pgoutput(bytes).value())) << bytes.front();
  }
}

TEST(Pgoutput, a_message_that_is_cut_or_too_long_is_an_error) {
  for (const std::string& bytes : all()) {
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const auto cut = parse_pgoutput(std::string_view(bytes).substr(0, length));
      ASSERT_FALSE(cut.has_value()) << bytes.front() << " of " << length;
      EXPECT_EQ(cut.error().code, ErrorCode::corrupt);
    }
    EXPECT_FALSE(parse_pgoutput(bytes + '\0').has_value()) << bytes.front();
  }
}

TEST(Pgoutput, what_is_not_of_this_version_is_an_error) {
  const std::vector<std::string> strange{
      "S",                                                         // a stream of version 2
      PgBytes('C').u8(1).u64(1).u64(2).u64(3).bytes(),             // flags
      PgBytes('I').i32(1).letter('O').i16(0).bytes(),              // an insert of an old row
      PgBytes('I').i32(1).letter('N').i16(1).letter('z').bytes(),  // a column of no kind
      PgBytes('I').i32(1).letter('N').i16(-1).bytes(),             // fewer columns than none
      PgBytes('I').i32(1).letter('N').i16(1).letter('t').i32(-1).bytes(),
      PgBytes('I').i32(1).letter('N').i16(1).letter('t').i32(std::numeric_limits<std::int32_t>::max()).bytes(),
      PgBytes('D').i32(1).letter('N').i16(0).bytes(),                     // a delete of a new row
      PgBytes('U').i32(1).letter('O').i16(0).letter('O').i16(0).bytes(),  // an update without a new row
      PgBytes('T').i32(-1).u8(0).bytes(),
      PgBytes('T').i32(0).u8(4).bytes(),
      PgBytes('R').i32(1).text("").text("t").letter('x').i16(0).bytes(),
      PgBytes('R').i32(1).text("").text("t").letter('f').i16(1).u8(2).text("c").i32(1).i32(1).bytes(),
      PgBytes('M').u8(2).u64(1).text("").i32(0).bytes(),
  };
  for (const std::string& bytes : strange) {
    const auto result = parse_pgoutput(bytes);
    ASSERT_FALSE(result.has_value()) << testing::PrintToString(bytes);
    EXPECT_EQ(result.error().code, ErrorCode::corrupt);
  }
}

TEST(Pgoutput, times_at_the_end_of_the_world_do_not_overflow) {
  for (const std::uint64_t time : {std::uint64_t{1} << 63U, (std::uint64_t{1} << 63U) - 1}) {
    const std::string bytes = PgBytes('C').u8(0).u64(1).u64(2).u64(time).bytes();
    EXPECT_EQ(parsed<PgCommit>(bytes).committed < kTime, time >> 63U == 1);
  }
}

TEST(CopyData, chunks_and_signs_of_life) {
  const std::string data = PgBytes('w').u64(kCommit).u64(kEnd).u64(kSecond).raw("Bxyz").bytes();
  const auto chunk = std::get<PgChunk>(parse_copy_data(data).value());
  EXPECT_EQ(chunk.start, Lsn{kCommit});
  EXPECT_EQ(chunk.message, "Bxyz");
  const std::string alive = PgBytes('k').u64(kEnd).u64(kSecond).u8(1).bytes();
  const auto keepalive = std::get<PgKeepalive>(parse_copy_data(alive).value());
  EXPECT_EQ(keepalive.end, Lsn{kEnd});
  EXPECT_TRUE(keepalive.wants_reply);
  for (std::size_t length = 0; length < alive.size(); ++length) {
    EXPECT_FALSE(parse_copy_data(std::string_view(alive).substr(0, length)).has_value()) << length;
  }
  EXPECT_FALSE(parse_copy_data(alive + "x").has_value());
  EXPECT_FALSE(parse_copy_data("p").has_value());
}

TEST(CopyData, the_answer_says_what_is_durable_twice) {
  const std::string answer =
      to_copy_data({.received = Lsn{kEnd}, .durable = Lsn{kCommit}, .now = kTime, .wants_reply = true});
  EXPECT_EQ(answer, PgBytes('r').u64(kEnd).u64(kCommit).u64(kCommit).u64(kSecond).u8(1).bytes());
}

TEST(Lsn, is_written_and_read_as_postgresql_does) {
  EXPECT_EQ(to_text(Lsn{kCommit}), "16/B374D848");
  EXPECT_EQ(to_text(Lsn{0}), "0/0");
  EXPECT_EQ(to_text(Lsn{std::numeric_limits<std::uint64_t>::max()}), "FFFFFFFF/FFFFFFFF");
  EXPECT_EQ(parse_lsn("16/B374D848").value(), Lsn{kCommit});
  EXPECT_EQ(parse_lsn("16/b374d848").value(), Lsn{kCommit});
  for (const char* const wrong : {"", "/", "16", "16/", "/16", "16/B374D8480", "1G/0", " 1/0", "1/0 ", "-1/0"}) {
    EXPECT_FALSE(parse_lsn(wrong).has_value()) << wrong;
  }
}

TEST(CopyLine, escapes_are_taken_out) {
  std::string value;
  EXPECT_TRUE(parse_copy_line("plain\n", value).value());
  EXPECT_EQ(value, "plain");
  EXPECT_TRUE(parse_copy_line(R"(\b\f\n\r\t\v\\\101\x41\x4z\1012)", value).value());
  EXPECT_EQ(value, "\b\f\n\r\t\v\\AA\x04zA2");
  EXPECT_TRUE(parse_copy_line("\n", value).value());
  EXPECT_EQ(value, "");
  EXPECT_TRUE(parse_copy_line(R"(\\N)", value).value());
  EXPECT_EQ(value, "\\N");
  EXPECT_FALSE(parse_copy_line("\\N\n", value).value());
  EXPECT_EQ(value, "");
}

TEST(CopyLine, what_copy_does_not_write_is_an_error) {
  std::string value;
  for (const char* const line : {"a\tb", "a\\", "\\", "\\q", "\\x", "\\xg", "a\nb", "\\8"}) {
    const auto result = parse_copy_line(line, value);
    ASSERT_FALSE(result.has_value()) << line;
    EXPECT_EQ(result.error().code, ErrorCode::corrupt);
  }
}

}  // namespace
}  // namespace mankai
