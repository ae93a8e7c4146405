#include <array>

#include "lab/sources.hpp"
#include "lab/url_dedup/parts.hpp"

namespace mankai::lab {
namespace {

struct Part {
  const char* title;
  Result<void> (*measure)(const Context&, Findings&);
};

// In the order of the report.
constexpr std::array<Part, 8> kParts = {{{"exact searches", dedup::measure_exact},
                                         {"one Bloom filter", dedup::measure_bloom},
                                         {"classes of absent keys", dedup::measure_classes},
                                         {"certain errors", dedup::measure_certain},
                                         {"number of URLs", dedup::measure_growth},
                                         {"the repository's figures", dedup::measure_repository},
                                         {"real URLs", dedup::measure_real},
                                         {"times", dedup::measure_times}}};

Result<void> run_parts(const Context& context, Findings& findings) {
  for (const Part& part : kParts) {
    context.progress(part.title);
    MANKAI_TRY(part.measure(context, findings));
  }
  return {};
}

constexpr const char* kEssay =
    "A crawler asks of every link whether it has been there. The report compares linear search, binary search and "
    "hashing with a Bloom filter and with a multi-layer one: the URL is split at its slashes, each level of the path "
    "has "
    "a Bloom filter of its own, and one more array holds, for each hash function, the XOR of the levels' addresses. "
    "All "
    "levels share the hash functions. Its printed false positive rate is the product of the levels' rates, f^L.\n\n"
    "That product assumes that every segment of an absent key is one that was never seen, at a level that is as full "
    "as "
    "the "
    "others. Real absent keys share their host and mostly their directories with members, and then only the levels "
    "that "
    "do "
    "not know their segment, and the last array, can say no. We measure six classes of absent keys that differ in what "
    "they "
    "share, in the filter as it is printed and in a repaired one, whose levels have hash functions of their own and "
    "whose "
    "last array holds a hash of the URL in its order. Beside them stand one Bloom filter of one array's size and one "
    "of all "
    "arrays' size. The latter is better by three orders of magnitude on the source's own test, and everywhere else but "
    "where all segments are new.\n\n"
    "XOR does not know order, and a value that comes twice cancels: for three kinds of absent keys the answer is yes "
    "with "
    "certainty. And the algorithms that the report prints for its baseline, the classic filter, insert the segments "
    "one by "
    "one, so that they accept every URL that can be put together from seen parts; the program behind its figures "
    "hashes "
    "the whole URL. Both are here, under their own names.";

}  // namespace

Source url_dedup() {
  return {
      .name = "url-dedup",
      .title = "A multi-layer Bloom filter for duplicate URLs",
      .origin = "Saha, Navale and Navandar, a report with a program, after Cen, Xu and Sun (ICACTE 2010)",
      .essay = kEssay,
      .readings =
          {{"Algorithms 1 and 2 are called a Bloom filter of URLs, but insert segments.",
            "Taken literally they are no filter of URLs; measured as they are printed, under the name of segments in "
            "one "
            "filter. The baseline is the whole URL's hash, as in the program."},
           {"The XOR of two addresses below m can be m or more.",
            "m is a power of two here, as the conference paper's nearly is (16 829 152 and 2^24 = 16 777 216). The "
            "program folds with % m, which favors low addresses."},
           {"Which n sizes the arrays?",
            "The number of URLs, for every level, as in the program: level 1 stays nearly "
            "empty."},
           {"k = (m/n) ln 2 is no whole number.", "Rounded down, as in the program: 4 at 5 %, 3 at 10 %."},
           {"The number of levels differs from URL to URL.",
            "Levels are made on demand, and a URL deeper than all of them is answered no. The last array does not know "
            "the number of levels, which is one of the certain errors."},
           {"What is a false positive in the figures?",
            "The conference paper appends an identifier to members, so that all but the last segment are known. The "
            "program asks filters of two halves for members of both and divides by all of them, which halves the "
            "rate."},
           {"'Takes more time' in the results, 'the same time' in the conclusion.",
            "Both are claims here; the number of cells decides, and times are shown beside it."},
           {"How long does fetching a page take?", "50 ms here, which is fast."},
           {"Empty segments and schemes.",
            "'a/' has an empty last segment and is not 'a'. The scheme is taken off the "
            "front only; the program removes it wherever it stands."}},
      .run = run_parts};
}

}  // namespace mankai::lab
