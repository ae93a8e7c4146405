#include <array>

#include "lab/fading/parts.hpp"
#include "lab/sources.hpp"

namespace mankai::lab {
namespace {

struct Part {
  const char* title;
  Result<void> (*measure)(const Context&, Findings&);
};

constexpr std::array<Part, 8> kParts = {{{"survival", forgetting::measure_survival},
                                         {"fingerprints", forgetting::measure_fingerprints},
                                         {"plateau", forgetting::measure_plateau},
                                         {"least matches", forgetting::measure_min_matches},
                                         {"addressing", forgetting::measure_addressing},
                                         {"production", forgetting::measure_production},
                                         {"threads", forgetting::measure_threads},
                                         {"trace", forgetting::measure_trace}}};

Result<void> run_parts(const Context& context, Findings& findings) {
  for (const Part& part : kParts) {
    context.progress(part.title);
    if (auto done = part.measure(context, findings); !done) {
      return done;
    }
  }
  return {};
}

}  // namespace

Source fading() {
  return {.name = "fading", .title = "T", .origin = "O", .essay = "E", .readings = {}, .run = run_parts};
}

}  // namespace mankai::lab
