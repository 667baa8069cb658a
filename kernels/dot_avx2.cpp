#include "dot.hpp"

#ifdef NAVI_X86
#include "x86_lanes.hpp"

namespace navi {
namespace {

constexpr std::int64_t kLanes = 8;

// All bits of the lanes that the tail fills.
__attribute__((target("avx2"))) __m256i mask_of(const Tail& tail) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i begun = _mm256_cmpgt_epi32(lanes, _mm256_set1_epi32(tail.first - 1));
  const __m256i left = _mm256_cmpgt_epi32(_mm256_set1_epi32(tail.first + tail.count), lanes);
  return _mm256_and_si256(begun, left);
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
    const Tail tail = tail_of(at, dims, kLanes);
    const __m256i mask = mask_of(tail);
    const __m256 q = _mm256_maskload_ps(query + tail.begin, mask);
    for (std::int64_t i = 0; i < kDotRows; ++i) {
      sums[i] = _mm256_fmadd_ps(_mm256_maskload_ps(rows[i] + tail.begin, mask), q, sums[i]);
    }
  }
  _mm_storeu_ps(out, reduce4(sums[0], sums[1], sums[2], sums[3]));
}

}  // namespace navi
#endif
