#include "bench/peers/report.hpp"

#include <array>
#include <fstream>
#include <string_view>

#ifndef MANKAI_BENCH_FLAGS
#define MANKAI_BENCH_FLAGS "unknown"
#endif

namespace mankai::bench {
namespace {

constexpr std::array kSideNames{"ours", "peer", "exact", "limit"};
constexpr const char* kCaller = kIsNative ? "native" : "plain";

std::string first_line_with(const char* path, std::string_view word) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(word)) {
      return line.substr(line.find_first_not_of("\t :", word.size()));
    }
  }
  return "unknown";
}

std::string processor() {
  const char* const info = "/proc/cpuinfo";
  const char* const cache = "/sys/devices/system/cpu/cpu0/cache/";
  std::string text = first_line_with(info, "model name") + ", family " + first_line_with(info, "cpu family") +
                     " model " + first_line_with(info, "model\t");
  for (const char* level : {"2", "3"}) {
    text += std::string(", L") + level + ' ' +
            first_line_with((cache + ("index" + std::string(level)) + "/size").c_str(), "");
  }
  return text;
}

void write_header(std::FILE* file, const Options& options, const std::vector<Presence>& presences) {
  std::fprintf(file, "# caller\t%s\n# compiler\tg++ %s\n# flags\t%s\n# cpu\t%s\n# commit\t%s\n", kCaller, __VERSION__,
               MANKAI_BENCH_FLAGS, processor().c_str(), options.commit.c_str());
  for (const Presence& peer : presences) {
    const bool is_missing = !peer.missing.empty();
    std::fprintf(file, "# %s\t%s\t%s\n", is_missing ? "MISSING" : "peer", peer.name.c_str(),
                 (is_missing ? peer.missing : peer.version).c_str());
  }
}

void print_header_row(const Table& table) {
  std::printf("\n%s, %.1f %% class, %s caller: ns per key, medians\n%-28s %8s %7s", table.front().workload.c_str(),
              table.front().fpr_class * 100, kCaller, "", "bits/key", "fpr %");
  for (const std::string_view operation : kOperationNames) {
    std::printf(" %12s", std::string(operation).c_str());
  }
  std::printf("\n");
}

void print_table(const Table& table) {
  print_header_row(table);
  for (const Measured& peer : table) {
    std::printf("%-28s %8.2f %7.4f", peer.peer.c_str(), peer.bits_per_key,
                peer.side == Side::limit ? 0.0 : peer.fpr * 100);
    for (const auto& samples : peer.ns) {
      if (samples.empty()) {
        std::printf(" %12s", "-");
      } else {
        std::printf(" %12.2f", median(samples));
      }
    }
    std::printf("\n");
  }
}

}  // namespace

Report::Report(const Options& options, const std::vector<Presence>& presences)
    : peers_(std::fopen((options.out + "/peers-" + kCaller + ".tsv").c_str(), "w")) {
  if (!is_open()) {
    return;
  }
  write_header(peers_, options, presences);
  write_header(stdout, options, presences);
  std::fprintf(peers_, "caller\tworkload\tclass\tpeer\tside\tbits_per_key\tfpr\toperation\tns\n");
}

Report::~Report() {
  if (peers_ != nullptr) {
    std::fclose(peers_);
  }
}

void Report::add(const Table& table) {
  print_table(table);
  write_rows(table);
  std::fflush(nullptr);
}

// All samples: sample i of one row ran beside sample i of another, so that their ratios can be taken in pairs.
void Report::write_rows(const Table& table) {
  for (const Measured& peer : table) {
    for (const Operation operation : kAllOperations) {
      if (peer.of(operation).empty()) {
        continue;
      }
      std::fprintf(peers_, "%s\t%s\t%g\t%s\t%s\t%.3f\t%.6f\t%s\t", kCaller, peer.workload.c_str(), peer.fpr_class,
                   peer.peer.c_str(), kSideNames[static_cast<std::size_t>(peer.side)], peer.bits_per_key, peer.fpr,
                   std::string(name(operation)).c_str());
      const char* separator = "";
      for (const double ns : peer.of(operation)) {
        std::fprintf(peers_, "%s%.4g", separator, ns);
        separator = " ";
      }
      std::fputc('\n', peers_);
    }
  }
}

}  // namespace mankai::bench
