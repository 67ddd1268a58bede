// Leaves out features that occur too rarely, and renumbers the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"

namespace dualstruct {

// Which of the ids to keep: those below `known`, and those that occur at least `min_count` times.
inline std::vector<std::uint8_t> frequent(std::span<const std::int32_t> ids, std::size_t dimension, std::size_t known,
                                          std::int64_t min_count) {
    std::vector<std::int64_t> counts(dimension, 0);
    for (const std::int32_t id : ids) ++counts[at(id)];
    std::vector<std::uint8_t> keep(dimension);
    for (std::size_t id = 0; id < dimension; ++id) keep[id] = id < known || counts[id] >= min_count;
    return keep;
}

// Drops the ids not kept from rows, in place; `values` may be null. The sizes are then offsets.back().
inline void renumber_rows(std::vector<std::int64_t>& offsets, std::int32_t* ids, double* values,
                          const std::vector<std::uint8_t>& keep) {
    std::vector<std::int32_t> renamed(keep.size(), -1);
    std::int32_t kept = 0;
    for (std::size_t id = 0; id < keep.size(); ++id) {
        if (keep[id] != 0) renamed[id] = kept++;
    }
    std::int64_t out = 0, begin = 0;
    for (std::size_t row = 1; row < offsets.size(); ++row) {
        const std::int64_t end = offsets[row];
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int32_t id = renamed[at(ids[i])];
            if (id < 0) continue;
            if (values != nullptr) values[out] = values[i];
            ids[out++] = id;
        }
        begin = end;
        offsets[row] = out;
    }
}

}  // namespace dualstruct
