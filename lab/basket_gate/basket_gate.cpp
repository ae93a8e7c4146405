#include <array>

#include "lab/basket_gate/parts.hpp"
#include "lab/sources.hpp"

namespace mankai::lab {
namespace {

struct Part {
  const char* title;
  Result<void> (*measure)(const Context&, Findings&);
};

// In the order of the paper.
constexpr std::array<Part, 7> kParts = {{{"hyphenation", basket::measure_hyphenation},
                                         {"sessions", basket::measure_sessions},
                                         {"database", basket::measure_database},
                                         {"addressing", basket::measure_addressing},
                                         {"saturation and phase", basket::measure_grid},
                                         {"tuning", basket::measure_tuning},
                                         {"emptied baskets", basket::measure_drift}}};

Result<void> run_parts(const Context& context, Findings& findings) {
  for (const Part& part : kParts) {
    context.progress(part.title);
    MANKAI_TRY(part.measure(context, findings));
  }
  return {};
}

constexpr const char* kEssay =
    "A shop's every page shows whether the visitor's basket has something in it, and asks the database for that, "
    "although most baskets are empty. The paper puts a Bloom filter of the cookies with a filled basket in front: a no "
    "is certain and needs no query, a yes is checked in the database, so that a false positive costs one query and "
    "never a wrong page. It calls the share of set bits saturation and the number of probes phase.\n\n"
    "The paper prints one formula, one optimum and no measurement. Each sentence that can be measured is measured "
    "here: the formula over three saturations and four phases, with the paper's own addressing (consecutive fields of "
    "one long hash) and with ours; the example of hyphenation that it takes from Bloom; sessions of 12 pages on "
    "average, of which 5 % have a basket; and a database stub of stated latency in simulated time. What the paper "
    "leaves out is measured too: baskets get emptied, and a false positive meets the same shopper on every page. "
    "Sentences of history and opinion (who was first, what surprises people) have nothing to measure.";

}  // namespace

Source basket_gate() {
  return {.name = "basket-gate",
          .title = "A Bloom filter as a gate in front of a database",
          .origin = "Beach Software, Web Caching with Dynamic Content, seminar white paper, 2000",
          .essay = kEssay,
          .readings =
              {{"The formula is printed as one word, SaturationPhase.",
                "A lost superscript: the text right after it raises the saturation to the power of the phase."},
               {"N is the length of the array and also the number of bits taken from the hash.",
                "The array has N = 2^w bits, and each index is a field of w bits."},
               {"Which hash, and what if it is too short? 20 fields of 20 bits are 400 bits.",
                "Any good one; literal addressing stretches a 64-bit digest to as many bits as are needed, ours steps "
                "it by multiplication. Both are measured."},
               {"How large is the array, how many shoppers, what latency?",
                "The paper does not say. 2^20 bits; sessions of 12 pages on average, geometrically distributed, 5 % of "
                "them with a basket from the first page on; a filter at 1 %; 150 pages a second of 10 ms, one "
                "connection of 5 ms a query."},
               {"Is the optimum of 50 % over the phase or over the keys?",
                "Over the phase, with keys and array given. With the phase given, fewer keys are always better."},
               {"Does 'likely has content' have a number?",
                "More often than not; and the formula b / (b + (1 - b) f) beside it."},
               {"Baskets get emptied, which the paper does not mention.",
                "Bits cannot be cleared, since others may share them. We measure what happens without care and with a "
                "rebuild from the database. A deletable filter is the other way."},
               {"A basket that is filled while a page asks, several web servers, a restart.",
                "Not in the paper and not measured: the bit has to be set before the database commits, or a filled "
                "basket looks empty for a moment."}},
          .run = run_parts};
}

}  // namespace mankai::lab
