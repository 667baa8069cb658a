// The sums of four vectors' lanes, each in the same order of additions.
#pragma once

#include <immintrin.h>

namespace navi {

__attribute__((target("avx2,fma"), always_inline)) inline __m128 reduce4(__m256 a, __m256 b, __m256 c, __m256 d) {
  const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  return _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
}

}  // namespace navi
