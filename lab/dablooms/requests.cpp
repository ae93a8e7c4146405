#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lab/dablooms/filters.hpp"
#include "lab/dablooms/ladder.hpp"
#include "lab/dablooms/spam_table.hpp"
#include "lab/outside.hpp"
#include "lab/parts.hpp"
#include "lab/traffic/url_generator.hpp"
#include "mankai/file/file.hpp"
#include "mankai/gate/gate.hpp"

namespace mankai::lab::spam {
namespace {

constexpr std::uint64_t kListed = 100'000;  // hosts; every second one of the generator's

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// One connection to a server on this machine, kept open between requests.
class Connection {
 public:
  // Errors: io.
  static Result<Connection> open(std::uint16_t port) {
    Connection made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (made.socket_ < 0 || ::connect(made.socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      return fail(ErrorCode::io, "cannot connect to guard serve");
    }
    const int on = 1;
    ::setsockopt(made.socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return made;
  }
  Connection(Connection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Connection& operator=(Connection&&) = delete;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    if (socket_ >= 0) {
      ::close(socket_);
    }
  }

  // Returns the body of the answer; nothing after a failure.
  std::optional<std::string_view> get(std::string_view path) {
    request_ = fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    if (::send(socket_, request_.data(), request_.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request_.size())) {
      return std::nullopt;
    }
    answer_.clear();
    while (true) {
      if (const auto body = whole_body()) {
        return body;
      }
      std::array<char, 4096> part{};
      const ssize_t count = ::recv(socket_, part.data(), part.size(), 0);
      if (count <= 0) {
        return std::nullopt;
      }
      answer_.append(part.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  explicit Connection(int socket) noexcept : socket_(socket) {}
  [[nodiscard]] std::optional<std::string_view> whole_body() const {
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    const std::string_view all = answer_;
    const std::size_t length = all.find(kLength);
    const std::size_t end = all.find("\r\n\r\n");
    if (length == std::string_view::npos || end == std::string_view::npos) {
      return std::nullopt;
    }
    std::size_t bytes = 0;
    std::from_chars(all.data() + length + kLength.size(), all.data() + end, bytes);
    const std::string_view body = all.substr(end + 4);
    return body.size() >= bytes ? std::optional(body) : std::nullopt;
  }

  int socket_;
  std::string request_;
  std::string answer_;
};

std::string encoded(std::string_view url) {
  std::string text;
  for (const char c : url) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '/';
    text += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

// What is asked for: links as they are decoded, of which half lead to listed hosts.
struct Decoded {
  std::string url;
  bool is_listed = false;
};

Result<std::vector<Decoded>> make_decoded(const UrlGenerator& generator) {
  std::vector<Decoded> decoded(20'000);
  for (std::uint64_t i = 0; i < decoded.size(); ++i) {
    generator.append_url(i, decoded[i].url);
    decoded[i].is_listed = generator.host_rank(i) % 2 == 0;
  }
  return decoded;
}

struct Served {
  double per_second = 0;
  double cpu_us = 0;  // of the server per request
  std::uint64_t denied = 0;
  std::uint64_t asked = 0;
};

// Clients ask as fast as they are answered, for a time.
Result<Served> ask_server(std::uint16_t port, const Program& server, const std::vector<Decoded>& decoded) {
  constexpr std::size_t kClients = 4;
  constexpr double kSeconds = 0.5;
  std::vector<Connection> connections;
  for (std::size_t i = 0; i < kClients; ++i) {
    MANKAI_ASSIGN(auto connection, Connection::open(port));
    connections.push_back(std::move(connection));
  }
  std::atomic<std::uint64_t> asked = 0;
  std::atomic<std::uint64_t> denied = 0;
  std::atomic<bool> has_failed = false;
  const double cpu = server.cpu_seconds();
  const auto start = Clock::now();
  {
    std::vector<std::jthread> clients;
    for (std::size_t client = 0; client < kClients; ++client) {
      clients.emplace_back([&, client] {
        for (std::size_t i = client; seconds_since(start) < kSeconds && !has_failed; i += kClients) {
          const Decoded& link = decoded[i % decoded.size()];
          const auto answer = connections[client].get("/check?url=" + encoded(link.url));
          has_failed = has_failed || !answer;
          denied += answer && link.is_listed && !answer->contains("\"blocked\"") ? 1U : 0U;
          ++asked;
        }
      });
    }
  }
  const double seconds = seconds_since(start);
  if (has_failed) {
    return fail(ErrorCode::io, "guard serve closed a connection");
  }
  const auto count = static_cast<double>(asked);
  return Served{.per_second = count / seconds,
                .cpu_us = (server.cpu_seconds() - cpu) * 1e6 / count,
                .denied = denied,
                .asked = asked};
}

Result<void> measure_server(const std::string& mankai, const UrlGenerator& generator,
                            const std::vector<Decoded>& decoded, const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto folder, TemporaryFolder::create());
  std::string list;
  for (std::uint64_t i = 0; i < kListed; ++i) {
    if (!loses_insert(context.fault, i)) {
      generator.append_host(2 * i, list);
      list += '\n';
    }
  }
  MANKAI_TRY(write_file(folder.file("list.txt"), std::as_bytes(std::span(list)), Existing::refuse));
  MANKAI_ASSIGN(auto build, Program::start({mankai, "guard", "build", "list.mkg", "list.txt"}, folder.path()));
  MANKAI_TRY(build.wait());
  MANKAI_ASSIGN(
      auto server,
      Program::start({mankai, "guard", "serve", "list.mkg", "--listen", "127.0.0.1:0", "--no-watch"}, folder.path()));
  MANKAI_ASSIGN(const auto line, server.read_line());
  std::uint16_t port = 0;
  std::from_chars(line.data() + line.rfind(':') + 1, line.data() + line.size(), port);
  std::vector<double> per_second;
  std::vector<double> cpu_us;
  std::uint64_t denied = 0;
  std::uint64_t asked = 0;
  for (int round = 0; round < 10; ++round) {
    MANKAI_ASSIGN(const auto served, ask_server(port, server, decoded));
    denied += served.denied;
    asked += served.asked;
    per_second.push_back(served.per_second);
    cpu_us.push_back(served.cpu_us);
  }
  findings.judged({"thousands-of-requests-served", kListed, mean(cpu_us).value},
                  at_least(findings.threshold("thousands-of-requests-served")), mean(per_second));
  findings.judged({"requests-are-warned", asked}, equals(0), exact(denied));
  return {};
}

// A gate holds the listed hosts in memory, and asks the database about the few URLs that may be listed.
Result<void> measure_gate(const UrlGenerator& generator, const std::vector<Decoded>& decoded, const Context& context,
                          Findings& findings) {
  MANKAI_ASSIGN(const auto folder, TemporaryFolder::create());
  MANKAI_ASSIGN(auto table, SpamTable::create(folder.file("spam.sqlite"), SpamTable::Times::none));
  MANKAI_ASSIGN(auto gate,
                Gate::create({.keys = kListed, .fpr = kRate, .hash = HashKind::xxh3, .seed = {{context.seed, 0}}}));
  std::vector<std::string> hosts(kListed);
  std::vector<std::string_view> keys;
  for (std::uint64_t i = 0; i < kListed; ++i) {
    generator.append_host(2 * i, hosts[i]);
    hosts[i] += '/';
    if (!loses_insert(context.fault, i)) {
      keys.push_back(hosts[i]);
    }
  }
  MANKAI_TRY(table.insert(hosts, {}));
  MANKAI_TRY(gate.apply({.inserted = keys}, 1));
  Ladder ladder;
  std::uint64_t wrong = 0;
  std::uint64_t queries = 0;
  const auto ask = [&](const Decoded& link) -> Result<void> {
    MANKAI_TRY(ladder.climb(link.url));
    bool is_spam = false;
    for (const std::string& key : ladder.keys()) {
      if (!is_spam && gate.maybe(key)) {
        ++queries;
        MANKAI_ASSIGN(is_spam, table.contains(key));
      }
    }
    wrong += static_cast<std::uint64_t>(is_spam != link.is_listed);
    return {};
  };
  constexpr std::size_t kBatch = 1000;
  std::vector<double> asked;
  std::vector<double> seconds;
  for (std::size_t first = 0; first < decoded.size(); first += kBatch) {
    const double before = thread_cpu_seconds();
    for (const Decoded& link : std::span(decoded).subspan(first, kBatch)) {
      MANKAI_TRY(ask(link));
    }
    seconds.push_back(thread_cpu_seconds() - before);
    asked.push_back(kBatch);
  }
  findings.judged({"gate-answers-exactly", decoded.size()}, equals(0), exact(wrong));
  if (!context.quick) {
    const auto count = static_cast<double>(decoded.size());
    findings.judged(
        {"thousands-of-requests-gate", 1e6 * ratio_of_sums(seconds, asked).value, static_cast<double>(queries) / count},
        at_least(findings.threshold("thousands-of-requests-gate")), ratio_of_sums(asked, seconds));
  }
  return {};
}

}  // namespace

Result<void> measure_requests(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto generator,
                UrlGenerator::create({.hosts = 2 * kListed, .zipf_exponent = 0, .seed = context.seed}));
  MANKAI_ASSIGN(const auto decoded, make_decoded(generator));
  MANKAI_TRY(measure_gate(generator, decoded, context, findings));
  if (context.quick) {
    return {};
  }
  const auto mankai = Program::find("mankai");
  if (!mankai) {
    findings.skipped({"thousands-of-requests-served", kListed, 0.0}, {}, Missing::mankai);
    findings.skipped({"requests-are-warned", 0}, {}, Missing::mankai);
    return {};
  }
  return measure_server(*mankai, generator, decoded, context, findings);
}

}  // namespace mankai::lab::spam
