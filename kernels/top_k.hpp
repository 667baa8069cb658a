// The best k under the one total order of scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace navi {

// Finite scores descending, then all others as equals; each by `tie` ascending, then by position.
struct Ranked {
  std::uint32_t key;  // ascending is better
  std::uint32_t position;
  std::int64_t tie;
};

bool operator<(const Ranked& a, const Ranked& b);

// Takes scores in any number of pieces and keeps the best k of them.
class TopK {
 public:
  // k: at least 1. count: scores to come in all, below 2^32.
  TopK(std::int64_t k, std::int64_t count);

  // Scores of positions [first, first + count). ties: by position, or null where the position itself is the tie.
  void offer(const float* scores, const std::int64_t* ties, std::int64_t first, std::int64_t count);

  // Writes the min(k, count) best positions, best first.
  void finish(std::int64_t* positions);

 private:
  void add(const Ranked& entry);
  void prune();

  std::size_t k_;
  std::size_t limit_;            // entries at which the worst are dropped
  float floor_;                  // a score below it cannot be among the best
  bool full_ = false;            // k entries are known, the worst of them `worst_`
  Ranked worst_{};
  std::vector<Ranked> entries_;  // the best k so far are among them
};

}  // namespace navi
