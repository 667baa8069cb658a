// Binds the kernels. Shapes and dtypes are checked by the Python faces in navi/ops; the GIL is free while they run.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "gather_dot.hpp"
#include "id_index.hpp"
#include "top_k.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Integers = Vector<const std::int64_t>;

template <class Array>
std::int64_t length(const Array& array) {
  return static_cast<std::int64_t>(array.shape(0));
}

navi::Texts texts(const Vector<const std::uint8_t>& data, const Integers& offsets) {
  const std::int64_t count = length(offsets) - 1;
  bool ordered = offsets(0) >= 0 && offsets(static_cast<std::size_t>(count)) <= length(data);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) ordered &= offsets(i) <= offsets(i + 1);
  if (!ordered) throw nb::value_error("ids: offsets do not ascend within the text");
  return {data.data(), offsets.data(), count};
}

navi::GatherDot task(const Matrix& matrix, const Integers& rows, const Vector<const float>& query,
                     navi::InstructionSet isa) {
  const auto total = static_cast<std::int64_t>(matrix.shape(0));
  const auto dims = static_cast<std::int64_t>(matrix.shape(1));
  if (!rows.is_valid()) return {matrix.data(), dims, nullptr, total, query.data(), navi::dot_rows(isa)};
  const std::int64_t bad = navi::first_outside(rows.data(), length(rows), total);
  if (bad >= 0) {
    const std::string problem = "rows: position " + std::to_string(bad) + " holds row " +
                                std::to_string(rows(static_cast<std::size_t>(bad))) + ", the matrix has " +
                                std::to_string(total) + " rows";
    throw nb::index_error(problem.c_str());
  }
  return {matrix.data(), dims, rows.data(), length(rows), query.data(), navi::dot_rows(isa)};
}

void bind_ids(nb::module_& module) {
  nb::class_<navi::IntegerIndex>(module, "IntegerIndex")
      .def(
          "__init__",
          [](navi::IntegerIndex* self, const Integers& ids) {
            nb::gil_scoped_release free;
            new (self) navi::IntegerIndex(ids.data(), length(ids));
          },
          "ids"_a.noconvert())
      .def(
          "lookup",
          [](const navi::IntegerIndex& self, const Integers& ids, const Vector<std::int64_t>& rows) {
            nb::gil_scoped_release free;
            self.lookup(ids.data(), length(ids), rows.data());
          },
          "ids"_a.noconvert(), "rows"_a.noconvert())
      .def_prop_ro("repeat", &navi::IntegerIndex::repeat);

  nb::class_<navi::TextIndex>(module, "TextIndex")
      .def(
          "__init__",
          [](navi::TextIndex* self, const Vector<const std::uint8_t>& data, const Integers& offsets) {
            const navi::Texts ids = texts(data, offsets);
            nb::gil_scoped_release free;
            new (self) navi::TextIndex(ids);
          },
          "data"_a.noconvert(), "offsets"_a.noconvert(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def(
          "lookup",
          [](const navi::TextIndex& self, const Vector<const std::uint8_t>& data, const Integers& offsets,
             const Vector<std::int64_t>& rows) {
            const navi::Texts ids = texts(data, offsets);
            nb::gil_scoped_release free;
            self.lookup(ids, rows.data());
          },
          "data"_a.noconvert(), "offsets"_a.noconvert(), "rows"_a.noconvert())
      .def_prop_ro("repeat", &navi::TextIndex::repeat);
}

void bind_scores(nb::module_& module) {
  nb::enum_<navi::InstructionSet>(module, "InstructionSet")
      .value("plain", navi::InstructionSet::plain)
      .value("avx2", navi::InstructionSet::avx2)
      .value("avx512", navi::InstructionSet::avx512);
  module.def("instruction_sets", &navi::instruction_sets);

  module.def(
      "top_k",
      [](const Vector<const float>& scores, const Integers& ties, std::int64_t k, const Vector<std::int64_t>& out) {
        nb::gil_scoped_release free;
        navi::TopK best(k, length(scores));
        best.offer(scores.data(), ties.data(), 0, length(scores));
        best.finish(out.data());
      },
      "scores"_a.noconvert(), "ties"_a.noconvert(), "k"_a, "positions"_a.noconvert());

  module.def(
      "gather_dot",
      [](const Matrix& matrix, const Integers& rows, const Vector<const float>& query, navi::InstructionSet isa,
         const Vector<float>& out) {
        const navi::GatherDot work = task(matrix, rows, query, isa);
        nb::gil_scoped_release free;
        navi::gather_dot(work, out.data());
      },
      "matrix"_a.noconvert(), "rows"_a.noconvert(), "query"_a.noconvert(), "isa"_a, "scores"_a.noconvert());

  module.def(
      "gather_dot_top_k",
      [](const Matrix& matrix, const Integers& rows, const Vector<const float>& query, const Integers& ties,
         navi::InstructionSet isa, const Vector<std::int64_t>& positions, const Vector<float>& out) {
        const navi::GatherDot work = task(matrix, rows, query, isa);
        nb::gil_scoped_release free;
        navi::gather_dot_top_k(work, length(positions), ties.is_valid() ? ties.data() : nullptr, positions.data(),
                               out.data());
      },
      "matrix"_a.noconvert(), "rows"_a.noconvert().none(), "query"_a.noconvert(), "ties"_a.noconvert().none(),
      "isa"_a, "positions"_a.noconvert(), "scores"_a.noconvert());
}

}  // namespace

NB_MODULE(_native, module) {
  // At exit, indexes that threads or frames still hold are reported as leaks; the process is ending, they are none.
  nb::set_leak_warnings(false);
  bind_ids(module);
  bind_scores(module);
}
