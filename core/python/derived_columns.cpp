// Binds columns that Python works out from those of a table.

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/index.hpp"
#include "python/bindings.hpp"
#include "text/token_table.hpp"

namespace dualstruct {

void bind_derived_columns(nb::module_& m) {
    using namespace nb::literals;
    m.def(
        "with_columns",
        [](const TokenTable& table, std::size_t keep,
           const std::vector<std::pair<Input<std::int32_t>, std::vector<std::string>>>& columns) {
            std::vector<TokenTable::Column> made;
            for (const auto& [ids, strings] : columns) {
                TokenTable::Column& column = made.emplace_back();
                for (const std::string& each : strings) column.types.intern(each);
                if (column.types.size() != strings.size()) throw InputError("a new column has a string twice");
                column.ids.assign(ids.data(), ids.data() + ids.size());
            }
            return with_columns(table, keep, std::move(made));
        },
        "table"_a, "keep"_a, "columns"_a, "A table with the first columns and new ones: the tokens' ids, the strings.");
}

}  // namespace dualstruct
