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

// The least median among the others' rows; limits and exact sets do not compete.
double best_other(const Table& table, Operation operation) {
  double best = 0;
  for (const Measured& peer : table) {
    if (peer.side == Side::peer && !peer.of(operation).empty()) {
      const double ns = median(peer.of(operation));
      best = best == 0 ? ns : std::min(best, ns);
    }
  }
  return best;
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

const char* outcome(const Verdict& verdict) {
  if (verdict.is_missing()) {
    return "MISSING";
  }
  return verdict.is_met() ? "met" : "MISSED";
}

}  // namespace

Report::Report(const Options& options, const std::vector<Presence>& presences)
    : peers_(std::fopen((options.out + "/peers-" + kCaller + ".tsv").c_str(), "w")),
      targets_(std::fopen((options.out + "/targets-" + kCaller + ".tsv").c_str(), "w")) {
  if (!is_open()) {
    return;
  }
  write_header(peers_, options, presences);
  write_header(stdout, options, presences);
  std::fprintf(peers_,
               "workload\tclass\tpeer\tside\tbits_per_key\tfpr\toperation\tsamples\tns_median\tns_min\tto_best_other\t"
               "blocked_bloom_speedup\n");
  std::fprintf(targets_, "caller\tworkload\tclass\ttarget\trival\twanted\tmeasured\toutcome\n");
}

Report::~Report() {
  for (std::FILE* file : {peers_, targets_}) {
    if (file != nullptr) {
      std::fclose(file);
    }
  }
}

void Report::add(const Table& table) {
  print_table(table);
  write_rows(table);
  for (const Verdict& verdict : judge(table, kIsNative)) {
    write_verdict(verdict);
    verdicts_.push_back(verdict);
  }
  std::fflush(nullptr);
}

void Report::write_rows(const Table& table) {
  const Measured* const ours = find(table, "blocked-bloom");
  for (const Measured& peer : table) {
    for (const Operation operation : kAllOperations) {
      const auto& samples = peer.of(operation);
      if (samples.empty()) {
        continue;
      }
      const double best = best_other(table, operation);
      std::fprintf(peers_, "%s\t%g\t%s\t%s\t%.3f\t%.6f\t%s\t%zu\t%.3f\t%.3f\t%.3f\t%.3f\n", peer.workload.c_str(),
                   peer.fpr_class, peer.peer.c_str(), kSideNames[static_cast<std::size_t>(peer.side)],
                   peer.bits_per_key, peer.fpr, std::string(name(operation)).c_str(), samples.size(), median(samples),
                   least(samples), best == 0 ? 0 : median(samples) / best,
                   ours == nullptr ? 0 : paired_speedup(ours->of(operation), samples));
    }
  }
}

void Report::write_verdict(const Verdict& verdict) {
  std::fprintf(targets_, "%s\t%s\t%g\t%s\t%s\t%s%.2f\t%.2f\t%s\n", kCaller, verdict.workload.c_str(), verdict.fpr_class,
               verdict.target.c_str(), verdict.rival.c_str(), verdict.is_ceiling ? "<=" : ">=", verdict.wanted,
               verdict.measured, outcome(verdict));
}

void Report::close_with_targets() const {
  std::printf("\ntargets, %s caller: how many times ours the rival's time is; medians of paired samples\n", kCaller);
  for (const Verdict& verdict : verdicts_) {
    std::printf("%-8s %4.1f %%  %-46s %-40s %s%5.2f  got %5.2f  %s\n", verdict.workload.c_str(),
                verdict.fpr_class * 100, verdict.target.c_str(), verdict.rival.c_str(),
                verdict.is_ceiling ? "<=" : ">=", verdict.wanted, verdict.measured, outcome(verdict));
  }
}

}  // namespace mankai::bench
