/// The parts of `mankai guard serve` that need no service: a connection, the access log, what a header wants.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "apps/mankai/serve/access_log.hpp"
#include "apps/mankai/serve/connection.hpp"
#include "apps/mankai/serve/request_head.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai::command::serve {
namespace {

class ConnectionTest : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    client_ = Descriptor(ends[0]);
    connection_ = std::make_unique<Connection>(Descriptor(ends[1]), "127.0.0.1", limits_);
  }
  void send_to_it(std::string_view text) const {
    ASSERT_EQ(::send(client_.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  void read_from_it() const {
    std::array<char, 64> bytes{};
    EXPECT_GT(::recv(client_.get(), bytes.data(), bytes.size(), 0), 0);
  }
  [[nodiscard]] Connection& connection() const { return *connection_; }

 private:
  TimeLimits limits_;
  Descriptor client_;
  std::unique_ptr<Connection> connection_;
};

constexpr std::string_view kRequest = "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n";

TEST_F(ConnectionTest, its_phases) {
  EXPECT_EQ(connection().phase(), Phase::fresh);
  EXPECT_EQ(connection().advance(), Step::wait_input);
  EXPECT_EQ(connection().phase(), Phase::fresh);
  send_to_it(kRequest.substr(0, 9));
  EXPECT_EQ(connection().advance(), Step::wait_input);
  EXPECT_EQ(connection().phase(), Phase::receiving);
  send_to_it(kRequest.substr(9));
  EXPECT_EQ(connection().advance(), Step::answer);
  connection().put("x");
  connection().end_request(false);
  EXPECT_EQ(connection().advance(), Step::wait_input);
  EXPECT_EQ(connection().phase(), Phase::idle);
  EXPECT_EQ(connection().deadline(), connection().state().since + TimeLimits().idle);
  EXPECT_FALSE(connection().is_ending());
  EXPECT_TRUE(connection().cut(Phase::idle));
  EXPECT_TRUE(connection().is_ending());
}

// Goal: a phase and its time belong together, since who looks from outside ends what is overdue. Method: one thread
// looks while another one goes from phase to phase, whose limits differ: one's deadline minus the other's limit is
// before the beginning, or to come.
TEST_F(ConnectionTest, a_phase_is_seen_with_its_own_limit) {
  const auto begun = connection().state().since;
  const std::jthread looker([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const PhaseState state = connection().state();
      EXPECT_GE(state.since, begun);
      EXPECT_LE(state.since, std::chrono::steady_clock::now());
    }
  });
  for (int i = 0; i < 2000; ++i) {
    send_to_it(kRequest);
    ASSERT_EQ(connection().advance(), Step::answer);
    connection().end_request(false);
    connection().put("x");
    ASSERT_EQ(connection().advance(), Step::wait_input);
    read_from_it();
  }
}

// Goal: who was cut without a request, had one on its way and does not read the answer, is ended by the limit of that.
TEST_F(ConnectionTest, one_that_was_cut_can_be_cut_again) {
  send_to_it(kRequest);
  EXPECT_TRUE(connection().cut(Phase::idle));
  EXPECT_EQ(connection().advance(), Step::answer);
  const std::string large(std::size_t{8} << 20, 'x');
  connection().put(large);
  connection().end_request(false);
  EXPECT_EQ(connection().advance(), Step::wait_output);
  EXPECT_EQ(connection().phase(), Phase::sending);
  EXPECT_FALSE(connection().cut(Phase::sending));
  EXPECT_EQ(connection().advance(), Step::close);
}

TEST_F(ConnectionTest, a_request_that_is_not_complete_in_time_is_refused) {
  send_to_it(kRequest);
  send_to_it(kRequest.substr(0, 9));
  EXPECT_EQ(connection().advance(), Step::answer);
  EXPECT_TRUE(connection().expire(Phase::receiving));
  connection().end_request(false);
  EXPECT_EQ(connection().advance(), Step::refuse);
  EXPECT_EQ(connection().refusal().status, 408);
  EXPECT_EQ(connection().received_line(), kRequest.substr(0, 9));
  connection().put("x");
  connection().end_request(true);
  EXPECT_EQ(connection().advance(), Step::close);
  EXPECT_FALSE(connection().expire(Phase::sending));
}

TEST_F(ConnectionTest, a_request_that_arrived_in_time_is_answered_after_it) {
  send_to_it(kRequest.substr(0, 9));
  EXPECT_EQ(connection().advance(), Step::wait_input);
  send_to_it(kRequest.substr(9));
  EXPECT_TRUE(connection().expire(Phase::receiving));
  EXPECT_EQ(connection().advance(), Step::answer);
}

class AccessLogTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("log"); }
  [[nodiscard]] static std::string available(int file) {
    std::string text(std::size_t{1} << 20, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(file, text.data(), text.size()))));
    return text;
  }

 private:
  test::TemporaryFolder folder_;
};

const Exchange kExchange = {.request_line = "GET / HTTP/1.1", .address = "127.0.0.1", .status = 200, .answer_bytes = 7};

// Goal: a pipe that nobody reads costs its lines, and nobody's time. Method: more lines than a pipe holds; without the
// mending the test does not end.
TEST_F(AccessLogTest, a_full_pipe_costs_lines_only) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  auto log = AccessLog::open(path());
  ASSERT_TRUE(log.has_value()) << log.error().message();
  const std::string long_line(5000, 'x');
  for (int i = 0; i < 100; ++i) {
    (*log)->write({.request_line = long_line, .address = "127.0.0.1", .status = 200, .answer_bytes = 7});
  }
  const std::uint64_t lost = (*log)->lost();
  EXPECT_GT(lost, 0U);
  EXPECT_LT(lost, 100U);
  const Descriptor reader(::open(path().c_str(), O_RDONLY | O_NONBLOCK));
  const std::string before = available(reader.get());
  (*log)->write(kExchange);
  const std::string after = available(reader.get());
  EXPECT_EQ((*log)->lost(), lost);
  EXPECT_EQ(std::ranges::count(before, '\n'), 100 - static_cast<std::ptrdiff_t>(lost));
  EXPECT_NE(after.find("\"GET / HTTP/1.1\" 200 7\n"), std::string::npos);
  EXPECT_TRUE(before.ends_with('\n') || after.starts_with('\n')) << "a line of its own, whatever was torn";
}

TEST_F(AccessLogTest, lines_are_appended_to_a_file) {
  std::ofstream(path()) << "before\n";
  for (int i = 0; i < 2; ++i) {
    auto log = AccessLog::open(path());
    ASSERT_TRUE(log.has_value());
    (*log)->write(kExchange);
    EXPECT_EQ((*log)->lost(), 0U);
  }
  std::ifstream file(path());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(text.starts_with("before\n127.0.0.1 - - ["));
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
}

TEST(Accept, what_is_wanted) {
  EXPECT_EQ(wanted("application/json", "application/json"), 1);
  EXPECT_EQ(wanted("text/html, Application/JSON ; q=0.25", "application/json"), 0.25);
  EXPECT_EQ(wanted("application/json;q=0", "application/json"), 0);
  EXPECT_EQ(wanted("application/json;charset=utf-8;q=0.000", "application/json"), 0);
  EXPECT_EQ(wanted("application/json;q=0.1,application/json;q=0.5", "application/json"), 0.5);
  EXPECT_EQ(wanted("application/json;Q=7", "application/json"), 1);
  for (const std::string_view text : {"", "*/*", "application/jsonx", "xapplication/json", "application/json;q=",
                                      "application/json;q=x", "application/json;q=-1", ",;,", ";q=1"}) {
    EXPECT_EQ(wanted(text, "application/json"), 0) << text;
  }
}

TEST(Query, other_parameters) {
  for (const std::string_view query :
       {"url=a&x=1", "x=1&url=a", "url=a&", "&url=a", "url=a&&", "url=a&x", "URL=b&url=a"}) {
    const std::string target = "/check?" + std::string(query);
    EXPECT_FALSE(query_value(target, "url", OtherParameters::refused).has_value()) << query;
    EXPECT_EQ(query_value(target, "url", OtherParameters::ignored).value_or(""), "a") << query;
  }
  EXPECT_EQ(query_value("/check?url=a", "url", OtherParameters::refused).value_or(""), "a");
  EXPECT_FALSE(query_value("/check?url=a&url=b", "url", OtherParameters::ignored).has_value());
  EXPECT_FALSE(query_value("/check?x=b", "url", OtherParameters::ignored).has_value());
}

}  // namespace
}  // namespace mankai::command::serve
