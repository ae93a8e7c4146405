#include <array>

#include "lab/fading/parts.hpp"
#include "lab/sources.hpp"

namespace mankai::lab {
namespace {

struct Part {
  const char* title;
  Result<void> (*measure)(const Context&, Findings&);
};

// In the order of the text, then of the code behind it.
constexpr std::array<Part, 9> kParts = {{{"survival", forgetting::measure_survival},
                                         {"fingerprints", forgetting::measure_fingerprints},
                                         {"plateau", forgetting::measure_plateau},
                                         {"threads", forgetting::measure_threads},
                                         {"recurring events", forgetting::measure_trace},
                                         {"least matches", forgetting::measure_min_matches},
                                         {"addressing", forgetting::measure_addressing},
                                         {"shapes in use", forgetting::measure_production},
                                         {"recent values", forgetting::measure_values}}};

Result<void> run_parts(const Context& context, Findings& findings) {
  for (const Part& part : kParts) {
    context.progress(part.title);
    MANKAI_TRY(part.measure(context, findings));
  }
  return {};
}

constexpr const char* kEssay =
    "A system is to find out which of its many events recur, and rather forgets old ones than remembers all; it has "
    "very many such memories, each small, and reads and writes them often. The text writes each event into n places of "
    "an array, chosen by n hash functions, whatever was there. An event is known while one of its places is intact. "
    "First the places hold whole integers, then fingerprints of b bits, which match by chance.\n\n"
    "Three formulas and three graphs are in the text as pictures that are lost; the formulas follow from the words "
    "around them, and the graphs are drawn again, with measured points on their lines. Each sentence that can be "
    "measured is: survival, half-life and capacity for several n, the same with s growing like log2 n, what "
    "fingerprints end at, the advice for n and b, concurrency and memory. The code that its authors ran until 2016 "
    "continues where the text ends: it asks for several matches, has an addressing of its own, a test, and a sibling "
    "that remembers values. With --data, two traces of a real shop are the recurring events, beside an exact LRU and a "
    "rotating Bloom filter of equal bytes. That it is easy to implement and that LRU is what people think of is not "
    "measured.";

}  // namespace

Source fading() {
  return {
      .name = "fading",
      .title = "Fingerprints that are forgotten by being overwritten",
      .origin =
          "Kifi engineering blog, an approximate membership filter with probabilistic time decay, 2013; and its "
          "production code, to 2016",
      .essay = kEssay,
      .readings =
          {{"The formulas are lost.",
            "From the words: a place is intact after t events with p = (1 - 1/s)^(nt); one of n is with 1 - (1 - p)^n; "
            "it matches by chance with f = 2^-b; so a yes has 1 - ((1 - p)(1 - f))^n."},
           {"What are n, s and b of the graphs?",
            "The first has s = 1000, the third b = 8, as said. n = 1, 2, 4 to 32, to which the advice goes; s is 1000 "
            "log2 n in the second, and 1000 in the third."},
           {"What is capacity?",
            "How many events are known at a time, which is the area below the curve, s H_n / n. The half-life is given "
            "beside it. About constant is within a factor of two."},
           {"What does a practical choice mean?",
            "A plateau of at most 1.2 % for b = 8 and n < 4, of at most 0.05 % for b = 16 and n to 32."},
           {"What is an empty place?",
            "The text does not say, and zeros are fingerprints. Ours leaves 0 for empty places, so that f is 1 / (2^b "
            "- "
            "1) and an empty array knows nothing. Models of the text's and the code's arrays show the difference."},
           {"One fingerprint an event, or one for each place?",
            "The text has one, and so has ours; the code has one for each place. With one, two places overwritten by "
            "one later event match together, which matters for large n and small s only."},
           {"Which LRU?",
            "An exact one. Its entries take 12 bytes where nothing is wasted (the event in 32 bits and four links of "
            "16), "
            "and 72 with two nodes of the standard library; each is given as many entries as fit. A rotating filter "
            "gets "
            "as many keys as fit at the same rate of false alarms, and turns after so many events as bring them."},
           {"What is a recurring event's age?",
            "The number of events since it came last, whatever they were, as in the text's t. Those in between that "
            "are "
            "known already overwrite nothing, so that real events survive longer than the formula says."},
           {"Which keys had the code's test?",
            "Unknown to us; random ones for ours, ids in order from a random one on for the code's array."}},
      .run = run_parts};
}

}  // namespace mankai::lab
