#include <charconv>

#include "apps/mankai/output.hpp"
#include "apps/mankai/progress.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/catalog/spec.hpp"
#include "mankai/stream/url_generator.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::string what;
  UrlGeneratorOptions urls;
};

Result<double> parse_number(std::string_view text) {
  std::string_view digits = text;
  const bool is_share = digits.ends_with('%');
  digits.remove_suffix(is_share ? 1 : 0);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is wrong: give a number");
  }
  return is_share ? number / 100 : number;
}

Result<std::uint64_t> parse_seed_number(std::string_view text) {
  const auto seed = parse_seed(text);
  if (!seed || (*seed)[1] != 0) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is wrong: give a 64-bit number");
  }
  return (*seed)[0];
}

Result<int> run(const Request& request) {
  if (request.what != "urls") {
    return fail(ErrorCode::invalid_argument, "cannot generate '" + request.what + "'; there are: urls");
  }
  auto generator = UrlGenerator::create(request.urls);
  if (!generator) {
    return std::unexpected(generator.error());
  }
  constexpr std::uint64_t kBatch = 512;
  Output output;
  Progress progress(std::nullopt);
  std::string lines;
  std::uint64_t bytes = 0;
  while (generator->has_next() && !output.has_failed()) {
    lines.clear();
    for (std::uint64_t i = 0; i < kBatch && generator->has_next(); ++i) {
      generator->append_next(lines);
      lines += '\n';
    }
    output.append(lines);
    bytes += lines.size();
    progress.advance(bytes, generator->emitted_so_far());
  }
  progress.clear();
  if (auto finished = output.finish(); !finished) {
    return std::unexpected(finished.error());
  }
  return 0;
}

}  // namespace

Subcommand gen_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "gen",
      .summary = "generate a stream of realistic URLs",
      .description =
          "Prints plausible URLs, the same ones for the same options on every machine: hosts by Zipf's law, "
          "directories "
          "that neighbours share, and repeats of recent and of early URLs. The output for a count is the beginning of "
          "the output for a larger one.",
      .examples = {{"mankai gen urls --count 5M > urls.txt", "340 MB"},
                   {"mankai gen urls --hosts 100 --zipf 0.8 --repeat 0.5 --seed 7",
                    "few hosts, every second one a repeat"}},
  };
  Option what = positional("WHAT", "What to generate: urls.", ValueKind::choice, request->what);
  what.choices = {"urls"};
  UrlGeneratorOptions& urls = request->urls;
  command.options = {
      std::move(what),
      parsed_option("--count", "N", "How many, repeats included. 1M unless given.", parse_count, urls.count),
      parsed_option("--hosts", "H", "On how many hosts, 1 to 10M. 10k unless given.", parse_count, urls.hosts),
      parsed_option("--zipf", "Z", "The exponent of the hosts' popularity, 0 (all alike) to 10. 1 unless given.",
                    parse_number, urls.zipf_exponent),
      parsed_option("--repeat", "R", "The share of repeats, 0 to 1. 0.3 unless given.", parse_number,
                    urls.repeat_share),
      parsed_option("--seed", "S", "Another seed gives other URLs. 1 unless given.", parse_seed_number, urls.seed)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
