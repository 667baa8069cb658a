#include "dot.hpp"

namespace navi {

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets;
#ifdef NAVI_X86
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && __builtin_cpu_supports("avx512f")) sets.push_back(InstructionSet::avx512);
  if (avx2) sets.push_back(InstructionSet::avx2);
#endif
  sets.push_back(InstructionSet::plain);
  return sets;
}

DotRows dot_rows(InstructionSet isa) {
#ifdef NAVI_X86
  if (isa == InstructionSet::avx512) return dot_rows_avx512;
  if (isa == InstructionSet::avx2) return dot_rows_avx2;
#endif
  (void)isa;
  return dot_rows_plain;
}

}  // namespace navi
