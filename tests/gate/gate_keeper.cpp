// Keeps a gate in step until it is killed, or with --once until it has caught up. A program of its own, so that its
// end is the end of a process.
//
// gate_keeper GATE [--once]

#include <cstdio>
#include <string_view>

#include "mankai/gate/database/gate_sync.hpp"
#include "mankai/gate/database/source_settings.hpp"

int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape): ends the program, which is an answer too
  if (argc < 2) {
    return 2;
  }
  const bool is_once = argc > 2 && std::string_view(argv[2]) == "--once";
  const auto settings = mankai::read_source_settings(argv[1]);
  auto gate = mankai::Gate::open(argv[1]);
  if (!settings || !gate) {
    std::fprintf(stderr, "%s\n", (settings ? gate.error() : settings.error()).message().c_str());
    return 1;
  }
  mankai::GateSync sync(*gate, *settings,
                        {.acknowledge_every = std::chrono::milliseconds(20),
                         .longest_wait = std::chrono::milliseconds(200),
                         .until_caught_up = is_once});
  if (const auto done = sync.run(); !done) {
    std::fprintf(stderr, "%s\n", done.error().message().c_str());
    return 1;
  }
  if (gate->missed_erasures() > 0) {
    std::fprintf(stderr, "%llu erased keys were not in the gate\n",
                 static_cast<unsigned long long>(gate->missed_erasures()));
    return 1;
  }
  return 0;
}
