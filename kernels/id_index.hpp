// From ids to rows: built once, read by any number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "hash_table.hpp"

namespace navi {

// Two rows that hold one id, the earlier first.
using Repeat = std::pair<std::int64_t, std::int64_t>;

class IntegerIndex {
 public:
  IntegerIndex(const std::int64_t* ids, std::int64_t count);

  // The row of each id, -1 where it is absent.
  void lookup(const std::int64_t* ids, std::int64_t count, std::int64_t* rows) const;

  // The first repeated id, at which the build stopped.
  std::optional<Repeat> repeat() const { return repeat_; }

 private:
  HashTable table_;
  std::optional<Repeat> repeat_;
};

// UTF-8 texts in Arrow's layout: text i is data[offsets[i] .. offsets[i + 1]).
struct Texts {
  const std::uint8_t* data;
  const std::int64_t* offsets;
  std::int64_t count;
};

class TextIndex {
 public:
  // Keeps the pointers: the texts must outlive the index, unchanged.
  explicit TextIndex(const Texts& ids);

  void lookup(const Texts& ids, std::int64_t* rows) const;

  std::optional<Repeat> repeat() const { return repeat_; }

 private:
  void lookup_block(const Texts& ids, std::int64_t begin, std::int64_t end, std::int64_t* rows) const;

  Texts ids_;
  HashTable table_;
  std::optional<Repeat> repeat_;
};

}  // namespace navi
