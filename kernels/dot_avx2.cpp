#include "dot.hpp"

#ifdef NAVI_X86
#include "reduce_avx2.hpp"

namespace navi {
namespace {

constexpr std::int64_t kLanes = 8;

// -1 for the lanes that a tail of `left` floats fills.
__attribute__((target("avx2"))) __m256i tail_mask(std::int64_t left) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(left)), lanes);
}

}  // namespace

__attribute__((target("avx2,fma"))) void dot_rows_avx2(const float* const rows[kDotRows], const float* query,
                                                       std::int64_t dims, float out[kDotRows]) {
  __m256 sums[kDotRows];
  for (auto& sum : sums) sum = _mm256_setzero_ps();
  std::int64_t at = 0;
  for (; at + kLanes <= dims; at += kLanes) {
    const __m256 q = _mm256_loadu_ps(query + at);
    for (std::int64_t i = 0; i < kDotRows; ++i) sums[i] = _mm256_fmadd_ps(_mm256_loadu_ps(rows[i] + at), q, sums[i]);
  }
  if (at < dims) {
    const __m256i mask = tail_mask(dims - at);
    const __m256 q = _mm256_maskload_ps(query + at, mask);
    for (std::int64_t i = 0; i < kDotRows; ++i) {
      sums[i] = _mm256_fmadd_ps(_mm256_maskload_ps(rows[i] + at, mask), q, sums[i]);
    }
  }
  _mm_storeu_ps(out, reduce4(sums[0], sums[1], sums[2], sums[3]));
}

}  // namespace navi
#endif
