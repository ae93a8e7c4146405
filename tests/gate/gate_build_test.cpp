// A build that is stopped or killed in the midst, over a real PostgreSQL: what it has put there can always be found,
// and is taken out; and a stop reaches whoever waits for a server.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>

#include "mankai/gate/database/gate_build.hpp"
#include "mankai/gate/database/gate_sync.hpp"
#include "mankai/gate/database/source_settings.hpp"
#include "tests/gate/postgres_server.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai::test {
namespace {

namespace fs = std::filesystem;

class GateBuildTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("baskets.mk"); }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

 private:
  TemporaryFolder folder_;
};

RowSourceSettings settings_for(const PostgresServer& server) {
  return {
      .source = "postgres:" + server.dsn(), .table = "baskets", .key = "cookie", .where = "items > 0", .installed = {}};
}

void make_table(Sql& sql) {
  sql.run(
      "CREATE TABLE baskets (id bigserial PRIMARY KEY, cookie text, items int); "
      "ALTER TABLE baskets REPLICA IDENTITY FULL; INSERT INTO baskets (cookie, items) VALUES ('a', 1)");
}

std::size_t things_in(Sql& sql) {
  return sql
      .column("SELECT pubname::text FROM pg_publication UNION ALL SELECT slot_name::text FROM pg_replication_slots")
      .size();
}

void wait_for_slot(Sql& sql) {
  while (sql.column("SELECT slot_name::text FROM pg_replication_slots").empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// A slot is made when all transactions that run have ended: here one does not.
TEST_F(GateBuildTest, stopped_or_killed_while_its_slot_is_made) {
  const PostgresServer server;
  Sql sql = server.sql();
  make_table(sql);
  Sql open_one = server.sql();
  open_one.run("BEGIN; INSERT INTO baskets (cookie, items) VALUES ('b', 1)");

  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    static_cast<void>(build_gate(path(), settings_for(server), {}));
    _exit(0);
  }
  wait_for_slot(sql);
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(files(), std::vector<std::string>{"baskets.mk-leftover"});
  EXPECT_GE(drop_gate(path()).value(), 1U);
  EXPECT_EQ(things_in(sql), 0U);
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(drop_gate(path()).error().code, ErrorCode::not_found);

  std::atomic<bool> is_stopped{false};
  std::jthread stopper([&] {
    Sql looking = server.sql();
    wait_for_slot(looking);
    is_stopped = true;
  });
  const auto built = build_gate(path(), settings_for(server), {.should_stop = [&] { return is_stopped.load(); }});
  ASSERT_FALSE(built.has_value());
  EXPECT_EQ(built.error().os_error, EINTR) << built.error().message();
  EXPECT_EQ(things_in(sql), 0U);
  EXPECT_TRUE(files().empty());
  open_one.run("COMMIT");

  // A build takes out what an earlier one has left.
  RowSourceSettings left = settings_for(server);
  left.installed = "mankai_00000000";
  sql.run("CREATE PUBLICATION mankai_00000000");
  sql.run("SELECT pg_create_logical_replication_slot('mankai_00000000', 'pgoutput')");
  ASSERT_TRUE(write_source_settings(path(), left, Existing::refuse));
  fs::rename(path() + "-source", path() + "-leftover");
  ASSERT_TRUE(build_gate(path(), settings_for(server), {}).has_value());
  EXPECT_EQ(things_in(sql), 2U);
  EXPECT_FALSE(fs::exists(path() + "-leftover"));
  EXPECT_EQ(drop_gate(path()).value(), 2U);
}

// Goal: what cannot be taken out after an error is said, and stays listed.
TEST_F(GateBuildTest, what_cannot_be_taken_out_is_said_and_stays_listed) {
  PostgresServer server;
  Sql sql = server.sql();
  make_table(sql);
  bool is_gone = false;
  const auto end_in_the_midst = [&] {
    if (!is_gone && things_in(sql) == 2) {
      server.end(SIGKILL);
      is_gone = true;
    }
    return is_gone;
  };
  const auto built = build_gate(path(), settings_for(server), {.should_stop = end_in_the_midst});
  ASSERT_FALSE(built.has_value());
  EXPECT_NE(built.error().message().find("could not be removed"), std::string::npos) << built.error().message();
  EXPECT_EQ(files(), std::vector<std::string>{"baskets.mk-leftover"});
  EXPECT_FALSE(drop_gate(path()).has_value());
  server.start();
  EXPECT_GE(drop_gate(path()).value(), 1U);
  EXPECT_TRUE(files().empty());
}

// Goal: a stop reaches a sync that waits for a server which takes the connection and says nothing. One that it did not
// reach would end with the error that the server gave no answer.
TEST_F(GateBuildTest, a_sync_that_connects_can_be_stopped) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const RowSourceSettings settings{
      .source = "postgres:host=127.0.0.1 dbname=shop port=" + std::to_string(ntohs(address.sin_port)),
      .table = "baskets",
      .key = "cookie",
      .where = {},
      .installed = "mankai_00000000"};
  auto gate = Gate::create({.keys = 100, .source_id = settings.installed});
  ASSERT_TRUE(gate->apply({}, 1));
  GateSync sync(*gate, settings, {.until_caught_up = true});
  int accepted = -1;
  std::jthread stopper([&] {
    accepted = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    sync.stop();
  });
  const auto ran = sync.run();
  EXPECT_TRUE(ran.has_value()) << ran.error().message();
  stopper.join();
  close(accepted);
  close(listener);
}

}  // namespace
}  // namespace mankai::test
