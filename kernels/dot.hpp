// Dot products of several rows with one query, by instruction set.
#pragma once

#include <cstdint>
#include <vector>

#if defined(__x86_64__) && defined(__GNUC__)
#define NAVI_X86 1
#endif

namespace navi {

// Rows of one call: their loads overlap, and the query is read once for all.
constexpr std::int64_t kDotRows = 4;

// out[i] = rows[i] . query. A row's result does not depend on its place or on the other rows, to the bit.
using DotRows = void (*)(const float* const rows[kDotRows], const float* query, std::int64_t dims, float out[kDotRows]);

enum class InstructionSet { plain, avx2, avx512 };

// Those that this processor has, the fastest first.
std::vector<InstructionSet> instruction_sets();

DotRows dot_rows(InstructionSet isa);

void dot_rows_plain(const float* const rows[kDotRows], const float* query, std::int64_t dims, float out[kDotRows]);
#ifdef NAVI_X86
void dot_rows_avx2(const float* const rows[kDotRows], const float* query, std::int64_t dims, float out[kDotRows]);
void dot_rows_avx512(const float* const rows[kDotRows], const float* query, std::int64_t dims, float out[kDotRows]);
#endif

}  // namespace navi
