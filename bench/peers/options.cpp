#include "bench/peers/options.hpp"

#include <cstdlib>
#include <sstream>
#include <string_view>

namespace mankai::bench {
namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) {
    parts.push_back(part);
  }
  return parts;
}

}  // namespace

std::optional<Options> parse(int argc, char** argv) {
  Options options{.workloads = {"int-1e5", "int-1e7", "url-1e7"}};
  const char* const strict = std::getenv("BENCH_STRICT");
  options.is_strict = strict != nullptr && std::string_view(strict) == "1";
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (i + 1 == argc) {
      return std::nullopt;
    }
    const std::string value = argv[i + 1];
    if (option == "--workloads") {
      options.workloads = split(value);
    } else if (option == "--repetitions") {
      options.repetitions = std::strtoul(value.c_str(), nullptr, 10);
    } else if (option == "--out") {
      options.out = value;
    } else if (option == "--commit") {
      options.commit = value;
    } else {
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace mankai::bench
