#include "lab/traffic/log_generator.hpp"

#include "lab/traffic/draws.hpp"
#include "lab/traffic/log_text.hpp"
#include "lab/traffic/log_traffic.hpp"
#include "lab/traffic/log_writer.hpp"
#include "mankai/base/assert.hpp"

namespace mankai {
namespace {

constexpr double kLongestSeconds = 100.0 * 365 * 24 * 3600;
constexpr std::uint64_t kCountMax = 1'000'000'000'000;
constexpr std::uint64_t kPathsMax = 10'000'000;
constexpr std::uint64_t kClientsMax = std::uint64_t{1} << 24;

bool is_within(double value, double smallest, double largest) { return value >= smallest && value <= largest; }

template <class Number>
bool is_from_to(Number value, Number smallest, Number largest) {
  return smallest <= value && value <= largest;
}

const char* problem_of(const LogGeneratorOptions& options) {
  if (options.format == LogFormat::automatic) {
    return "a log is generated in one format: combined, squid, w3c, json or keys";
  }
  if (options.is_common && options.format != LogFormat::combined) {
    return "only combined has a common form";
  }
  if (!is_within(options.rate, 0.001, 1e6)) {
    return "the rate must be from 0.001 to 1000000 records per second";
  }
  if (options.count > kCountMax || static_cast<double>(options.count) / options.rate > kLongestSeconds) {
    return "count must be at most 10^12, and no more than 100 years at the rate";
  }
  if (!is_from_to(options.start, Time(), detail::kLatestStart)) {
    return "the start must be from 1970 to 2200";
  }
  if (!is_from_to<std::uint64_t>(options.paths, 1, kPathsMax)) {
    return "paths must be from 1 to 10000000";
  }
  if (!is_from_to<std::uint64_t>(options.clients, 1, kClientsMax)) {
    return "clients must be from 1 to 16777216";
  }
  if (!is_within(options.zipf_exponent, 0, 10)) {
    return "the Zipf exponent must be from 0 to 10";
  }
  if (!is_within(options.late_share, 0, 1) || !is_within(options.malformed_share, 0, 1)) {
    return "the shares of late and malformed records must be from 0 to 1";
  }
  if (!is_from_to<Duration>(options.late_by, std::chrono::milliseconds(1), std::chrono::days(30))) {
    return "records can be late by 1 millisecond to 30 days";
  }
  if (options.drift != Duration::zero() &&
      !is_from_to<Duration>(options.drift, std::chrono::seconds(1), std::chrono::days(36'500))) {
    return "the drift must be 0, or from 1 second to 100 years";
  }
  return nullptr;
}

// Makes the line that begins at `begin` malformed: see LogGenerator.
void spoil(LogFormat format, std::size_t begin, std::string& out, detail::Random& random) {
  constexpr std::size_t kMonthAt = 5;        // in "2024-01-01T"
  constexpr std::uint64_t kSafeLength = 17;  // less than any valid record needs
  if (format == LogFormat::keys) {
    out.replace(begin + kMonthAt, 2, "13");
  } else {
    out.resize(begin + 1 + random.below(kSafeLength));
  }
}

}  // namespace

LogGenerator::LogGenerator(const LogGeneratorOptions& options)
    : options_(options), traffic_(std::make_unique<detail::LogTraffic>(options)) {}

LogGenerator::LogGenerator(LogGenerator&& other) noexcept = default;
LogGenerator& LogGenerator::operator=(LogGenerator&& other) noexcept = default;
LogGenerator::~LogGenerator() = default;

Result<LogGenerator> LogGenerator::create(const LogGeneratorOptions& options) {
  if (const char* const problem = problem_of(options); problem != nullptr) {
    return fail(ErrorCode::invalid_argument, problem);
  }
  return LogGenerator(options);
}

void LogGenerator::append_header(std::string& out) const {
  detail::LogWriter(options_.format, options_.is_common, *traffic_).append_header(options_.start, out);
}

GeneratedRecord LogGenerator::append_next(std::string& out) {
  MANKAI_ASSERT(has_next());
  ++emitted_;
  detail::Request request;
  traffic_->next(request);
  const detail::LogWriter writer(options_.format, options_.is_common, *traffic_);
  const std::size_t begin = out.size();
  writer.append(request, out);
  detail::Random& random = traffic_->random();
  const bool is_malformed = detail::happens(options_.malformed_share, random);
  if (is_malformed) {
    spoil(options_.format, begin, out, random);
  }
  return {.time = writer.shown(request.time),
          .path = request.path,
          .client = request.client,
          .status = request.status,
          .is_late = request.is_late,
          .is_malformed = is_malformed};
}

void LogGenerator::append_target(std::uint64_t path, std::string& out) const {
  if (options_.format == LogFormat::squid) {
    out += "http://";
    traffic_->append_host(path, out);
  }
  traffic_->append_path(path, out);
}

void LogGenerator::append_client(std::uint64_t client, std::string& out) const { traffic_->append_client(client, out); }

}  // namespace mankai
