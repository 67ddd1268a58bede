// What the binding files share: array types and the functions each of them offers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace dualstruct {

namespace nb = nanobind;

// A C-contiguous numpy vector or matrix that the core reads.
template <class T, class Shape = nb::ndim<1>>
using Input = nb::ndarray<const T, nb::numpy, Shape, nb::c_contig, nb::device::cpu>;

template <class T, class Shape = nb::ndim<1>>
using Array = nb::ndarray<T, nb::numpy, Shape, nb::c_contig, nb::device::cpu>;

// Hands a vector to numpy without copying it.
template <class T>
Array<T> to_numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Array<T>(owned->data(), {owned->size()}, owner);
}

void bind_text(nb::module_& m);
void bind_learning(nb::module_& m);
void bind_trees(nb::module_& m);

}  // namespace dualstruct
