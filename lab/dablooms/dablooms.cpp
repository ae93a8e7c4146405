#include <array>

#include "lab/dablooms/parts.hpp"
#include "lab/sources.hpp"

namespace mankai::lab {
namespace {

struct Part {
  const char* title;
  Result<void> (*measure)(const Context&, Findings&);
};

// In the order of the article.
constexpr std::array<Part, 10> kParts = {{{"domains and paths", spam::measure_roll_up},
                                          {"one filter", spam::measure_basics},
                                          {"many filters together", spam::measure_compounding},
                                          {"growth", spam::measure_growth},
                                          {"removal", spam::measure_removal},
                                          {"ids", spam::measure_ids},
                                          {"old filters", spam::measure_old_filters},
                                          {"four-bit counters", spam::measure_counters},
                                          {"restart and damaged files", spam::measure_restart},
                                          {"memory and the hash table", spam::measure_memory}}};

Result<void> run_parts(const Context& context, Findings& findings) {
  for (const Part& part : kParts) {
    context.progress(part.title);
    MANKAI_TRY(part.measure(context, findings));
  }
  return {};
}

constexpr const char* kEssay =
    "A service that shortens links asks for every decoded link whether its target is spam, and keeps the answer in "
    "memory: first in a hash table of 2.5 GB that a restart had to rebuild from the database, then in a filter that "
    "grows (scalable: a list of filters with ever smaller errors) and forgets (counting: four-bit counters instead of "
    "bits). To take a key out one must know which of the filters has it, and the article's idea is to give every key a "
    "rising id, such as its time of insertion, and every filter the range of ids from its first one on.\n\n"
    "The article prints two formulas and one measurement, the 98.8 % of memory saved. Each sentence that can be "
    "measured is measured here, beside the formula that it gives or that follows from it, with our filters in the same "
    "shape: partitioned counters, equal filters, r = 0.9 as in the article or 0.5 as in the code.\n\n"
    "The library's code says more than the article, and in places something else: it removes without looking whether "
    "the key is in, counts counters down that overflowed, opens no filter for equal ids, and calls a file of zeros "
    "clean. Claims marked 'model of the original' hold a small model of that behavior, written from a description, "
    "beside the article's words; claims marked 'ours' hold the kind in this library beside them. Where figures of the "
    "original library itself are known, the reason has them. Sentences about the service's load, its people and its "
    "plans have nothing to measure.";

}  // namespace

Source dablooms() {
  return {.name = "dablooms",
          .title = "A Bloom filter that grows and forgets, for a list of spam",
          .origin =
              "bitly, dablooms: an open source, scalable, counting Bloom filter library; article, and C library "
              "version 0.9.1, 2012",
          .essay = kEssay,
          .readings =
              {{"The error of several filters is printed as 1 - SUM(1 - P).",
                "A misprint of a product: the sum gives negative probabilities. Both are measured."},
               {"Is P0 the error of the first filter, or of all together?",
                "The formula makes it the first one's, and calls the whole bounded; the code makes it the bound. Our "
                "filters have both (first, total). At r = 0.9 the first reading allows ten times P0."},
               {"r is 0.9 in the article and 0.5 in the code.",
                "Both are measured: 0.9 in both readings of P0, and the code's P0 0.5^(i+1)."},
               {"Which growth function? 'Any' can be applied, and none is named.",
                "The code's is constant: every filter has the same capacity. Constant, doubling and fourfold growth "
                "are measured from 1 to 50 times the first capacity, at r = 0.5. Ours makes no filter for less than "
                "1e-8, so its constant growth is cheaper than the model's."},
               {"When is a filter at capacity, and where does the next one begin?",
                "In the article: when it has its keys, and at the id of the key to be added. In the code: one key "
                "earlier, and at the greatest id so far plus one."},
               {"What does 'fairly distributed' mean for ids?",
                "That few keys share one: 7 here. The other extreme, one id for all, is measured too."},
               {"What is a sane error rate, and an excessive one?", "1 % and a half: the code's tests have 5 %."},
               {"What may be removed?",
                "The article says: members. The code takes anything, so keys that were never added are measured too."},
               {"98.8 % of what? The article gives neither the bytes of a table entry nor the error.",
                "Ours: a std::unordered_set of synthetic URLs of 67 bytes, counted by its allocator and not by the "
                "resident set; and from 98.8 % back to the error that it leaves room for."},
               {"Which database, and how far away?",
                "Not said. Ours is SQLite in a file on the same machine, so a restart over a network takes longer."},
               {"The paper on scalable filters is dated 2006.", "It is [Almeida2007]: 2007 in its journal."}},
          .run = run_parts};
}

}  // namespace mankai::lab
