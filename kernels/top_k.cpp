#include "top_k.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace navi {

bool operator<(const Ranked& a, const Ranked& b) {
  if (a.key != b.key) return a.key < b.key;
  if (a.tie != b.tie) return a.tie < b.tie;
  return a.position < b.position;
}

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t kStride = 32;  // scores that are compared with the floor at once
constexpr std::size_t kSpare = 1024;  // room for newcomers where k is small

constexpr std::uint32_t kNotFinite = std::numeric_limits<std::uint32_t>::max();

// Bits of finite floats, descending, to ascending integers, and back.
std::uint32_t flip(std::uint32_t bits) { return (bits >> 31) != 0 ? bits : ~bits & 0x7fffffffU; }

std::uint32_t key_of(float score) {
  if (!std::isfinite(score)) return kNotFinite;
  const float canonical = score + 0.0F;  // -0.0 becomes 0.0
  std::uint32_t bits;
  std::memcpy(&bits, &canonical, sizeof bits);
  return flip(bits);
}

bool all_below(const float* scores, std::int64_t count, float floor) {
  int kept = 0;
  for (std::int64_t i = 0; i < count; ++i) kept += scores[i] < floor ? 0 : 1;
  return kept == 0;
}

std::size_t checked_k(std::int64_t k, std::int64_t count) {
  if (count > std::numeric_limits<std::uint32_t>::max()) throw std::length_error("more than 2^32 - 1 scores");
  return static_cast<std::size_t>(std::min(k, count));
}

}  // namespace

TopK::TopK(std::int64_t k, std::int64_t count)
    : k_(checked_k(k, count)), limit_(k_ + std::max(k_, kSpare)), floor_(-kInfinity) {
  entries_.reserve(std::min(limit_, static_cast<std::size_t>(count)));
}

void TopK::offer(const float* scores, const std::int64_t* ties, std::int64_t first, std::int64_t count) {
  for (std::int64_t begin = 0; begin < count; begin += kStride) {
    const std::int64_t end = std::min(begin + kStride, count);
    if (all_below(scores + begin, end - begin, floor_)) continue;
    for (std::int64_t i = begin; i < end; ++i) {
      // False for NaN, which `add` judges by its key.
      if (scores[i] < floor_) continue;
      const std::int64_t position = first + i;
      add({key_of(scores[i]), static_cast<std::uint32_t>(position), ties == nullptr ? position : ties[position]});
    }
  }
}

void TopK::add(const Ranked& entry) {
  if (full_ && !(entry < worst_)) return;
  entries_.push_back(entry);
  if (entries_.size() == limit_) prune();
}

void TopK::prune() {
  const auto last = entries_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
  std::nth_element(entries_.begin(), last, entries_.end());
  entries_.resize(k_);
  worst_ = entries_.back();
  full_ = true;
  if (worst_.key == kNotFinite) return;  // even NaN still counts: no floor
  const std::uint32_t bits = flip(worst_.key);
  std::memcpy(&floor_, &bits, sizeof bits);
}

void TopK::finish(std::int64_t* positions) {
  if (entries_.size() > k_) prune();
  std::sort(entries_.begin(), entries_.end());
  for (const Ranked& entry : entries_) *positions++ = entry.position;
}

}  // namespace navi
