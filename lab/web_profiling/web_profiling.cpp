#include <array>

#include "lab/sources.hpp"
#include "lab/web_profiling/parts.hpp"

namespace mankai::lab {
namespace {

struct Part {
  const char* title;
  Result<void> (*measure)(const Context&, Findings&);
};

// In the order of the report.
constexpr std::array<Part, 10> kParts = {{{"skew", profiling::measure_skew},
                                          {"decayed counts", profiling::measure_counts},
                                          {"undercounts", profiling::measure_undercounts},
                                          {"false positives", profiling::measure_false_positives},
                                          {"digits", profiling::measure_digits},
                                          {"tiers", profiling::measure_tiers},
                                          {"space formula", profiling::measure_space},
                                          {"memory", profiling::measure_memory},
                                          {"goals", profiling::measure_goals},
                                          {"accuracy", profiling::measure_accuracy}}};

Result<void> run_parts(const Context& context, Findings& findings) {
  for (const Part& part : kParts) {
    context.progress(part.title);
    MANKAI_TRY(part.measure(context, findings));
  }
  return {};
}

constexpr const char* kEssay =
    "How often was each page of the web visited recently? The paper replaces the bits of a Bloom filter by counters, "
    "adds "
    "1 to each of a page's k counters for a visit, and multiplies all counters by λ whenever an epoch ends. The "
    "smallest counter of a page is its estimate. Since few pages get most visits, it then makes counters as long as "
    "their counts need: 4 bits each, and more digits from a pool for the few that grow.\n\n"
    "Counters are integers, and λ times an integer is none. Rounded down, as the printed algorithm does it, an "
    "estimate "
    "can be below the truth, against Claim 1; rounded up, small counts never fade. With fraction bits, rounded up, "
    "neither happens. All are measured here against exact counts.\n\n"
    "The memory that is saved depends on what the paper does not count: how the digits of a counter are found. Three "
    "ways are measured, in what is in use and in what is allocated. And no error is measured in the paper at all: the "
    "last part has the accuracy of every form at equal bytes, on drawn visits and on real logs.";

std::vector<Reading> readings() {
  return {
      {"Equation (1), the decayed count, is missing.",
       "Forced by (2) to (4): Σ (1 - λ) λ^a over a page's visits, a the epochs that ended since. Whether the end of "
       "an epoch is the same for all visits is open: the counters make it so, and the other reading is refuted."},
      {"What is a frequency count?",
       "Section 2 says the occurrences of an item; but what fades can only be held against the decayed count. The "
       "query multiplies by 1 - λ, which makes it a rate; at λ = 1 that is 0, so counts here are without it."},
      {"What is λ times an integer?",
       "Not said. The algorithm reads like integers rounded down, and Claim 1 is refuted for these; rounded up, with "
       "fraction bits, and by chance are measured beside it."},
      {"Do two hash functions of a page that meet add 1 or 2?",
       "Not said. Here each has a part of the counters to itself, so they never meet."},
      {"Equation (5) and its minimizer are garbled.",
       "(1 - e^(-kn/m))^k, and k = (m / n) ln 2; the other order, (n / m) ln 2, is refuted."},
      {"Equations (6) and (7), a condition and the improvement, are missing.",
       "The condition can only be Σ n_i = N, so C = N / H_n(z), which the closing note on H_n(z) confirms. The "
       "improvement is read as uniform counters of log2 C bits beside counters of log2 n_i bits: z log2(n!) bits "
       "less. Two honest forms stand beside it: whole bits, and digits of 4 bits."},
      {"When is an extra counter taken?",
       "The prose says when all k counters overflow, the algorithm each for itself. These are two filters, and both "
       "are measured; only the algorithm's gives the results of the basic one."},
      {"What happens when the pool is empty?", "Not said. Here it grows."},
      {"How is the lookup table made?",
       "Bi-directional links, and their space is not counted. Three ways are: a table of overflowed counters only "
       "(hash), two-way links, and an array with a link for every counter."},
      {"The classic Bloom filter in front never forgets.",
       "It fills up with every page that ever came. It is an option of our filter, and off here: a smallest counter "
       "of 0 says the same."},
      {"What is the exponential filter of the introduction?",
       "A series of basic filters for groups of bits, which Section 4 does not describe; it has the pool instead. "
       "Reconstructed: 2^a neighbors share a counter of the next tier, and at the decay a tier hands the remainder "
       "of its digit to the tier below."},
      {"The x-axis of figure 3 is 'Decaying Factor Lambda(%)' with ticks 1 to 13.",
       "Either percent, where hardly anything adds up, or numbers of categories. Both λ = 1 % to 13 % and 0.1 to "
       "1 are measured."},
      {"m, k, N, T and the log of figure 3 are not given.",
       "m = 80000 makes the basic filter 156 KB, which fits the figure; k = 4, 1e6 visits to 40000 pages by Zipf's "
       "law with z = 1, an epoch of 20000 visits."},
      {"'Up to 90 %' of the visits.", "Read as 90 % and more. Which exponents and logs give it is measured."}};
}

}  // namespace

Source web_profiling() {
  return {.name = "web-profiling",
          .title = "Time-decaying Bloom filters for profiles of the web",
          .origin =
              "Cheng, Iwaihara, Xiang and Ushijima, Efficient Web Profiling by Time-Decaying Bloom Filters, DBSJ "
              "Letters 4(1), 2005",
          .essay = kEssay,
          .readings = readings(),
          .run = run_parts};
}

}  // namespace mankai::lab
