// The example program, on a server of its own.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/gate/postgres_server.hpp"

namespace mankai::test {
namespace {

struct Outcome {
  std::string output;
  int status = -1;
};

Outcome run(const std::string& command) {
  Outcome result;
  FILE* const pipe = popen(command.c_str(), "r");
  for (int letter = std::fgetc(pipe); letter != EOF; letter = std::fgetc(pipe)) {
    result.output.push_back(static_cast<char>(letter));
  }
  result.status = pclose(pipe);
  return result;
}

TEST(GateShop, saves_queries_and_hides_no_basket) {
  PostgresServer server;
  const Outcome shop = run(MANKAI_GATE_SHOP " '" + server.dsn() + "' 6 1500");
  EXPECT_EQ(shop.status, 0);
  EXPECT_NE(shop.output.find("committed baskets answered \"empty\""), std::string::npos) << shop.output;
  const std::size_t saved = shop.output.find("queries saved: ");
  ASSERT_NE(saved, std::string::npos) << shop.output;
  EXPECT_GT(std::stod(shop.output.substr(saved + 15)), 50) << shop.output;
  Sql sql = server.sql();
  EXPECT_EQ(sql.value("SELECT count(*) FROM pg_replication_slots"), "0");
  EXPECT_EQ(sql.value("SELECT count(*) FROM pg_publication"), "0");
}

TEST(GateShop, says_what_is_wrong) {
  const Outcome shop = run(MANKAI_GATE_SHOP " 'host=/nonexistent' 2>&1");
  EXPECT_NE(shop.status, 0);
  EXPECT_EQ(shop.output.rfind("gate_shop: ", 0), 0U) << shop.output;
}

}  // namespace
}  // namespace mankai::test
