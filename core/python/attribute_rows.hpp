// Rows of attributes as numpy arrays.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "python/bindings.hpp"
#include "text/attribute_features.hpp"

namespace dualstruct {

// Sentences, offsets, ids, and values unless all are 1.
using AttributeArrays =
    std::tuple<Array<std::int64_t>, Array<std::int64_t>, Array<std::int32_t>, std::optional<Array<double>>>;

inline AttributeArrays attributes_to_numpy(AttributeRows&& rows) {
    std::optional<Array<double>> values;
    if (!rows.values.empty()) values = to_numpy(std::move(rows.values));
    return {to_numpy(std::move(rows.sentences)), to_numpy(std::move(rows.offsets)), to_numpy(std::move(rows.ids)),
            std::move(values)};
}

}  // namespace dualstruct
