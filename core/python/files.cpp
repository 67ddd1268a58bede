// Binds what reading and writing model files takes.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "base/checksum.hpp"
#include "base/errors.hpp"
#include "base/index.hpp"
#include "base/packed_rows.hpp"
#include "python/bindings.hpp"
#include "python/strings.hpp"
#include "text/templates.hpp"

namespace dualstruct {

using namespace nb::literals;

namespace {

// As a matrix of zeros.
template <class T>
void bind_expand_rows(nb::module_& m) {
    m.def(
        "expand_rows",
        [](const Input<T>& counts, const Input<T>& columns, const Input<float>& values,
           const nb::ndarray<float, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>& out) {
            if (counts.size() != out.shape(0)) {
                throw InputError("rows: there are more or fewer numbers than it says");
            }
            expand_rows<T>(view(counts), view(columns), view(values), out.shape(1), out.data());
        },
        "counts"_a, "columns"_a, "values"_a, "out"_a);
}

}  // namespace

void bind_files(nb::module_& m) {
    m.def(
        "checksum",
        [](const Input<std::uint8_t>& bytes) {
            const GilReleased unlocked;
            return Checksum::of(view(bytes));
        },
        "bytes"_a, "Of the bytes; it notices damage, and is no signature.");
    bind_expand_rows<std::uint8_t>(m);
    bind_expand_rows<std::uint16_t>(m);
    bind_expand_rows<std::uint32_t>(m);
    m.def(
        "front_coded",
        [](const Input<std::uint8_t>& bytes, const Input<std::int64_t>& offsets) {
            FrontCoded coded = front_coded(strings_from(bytes, offsets));
            return std::pair(to_numpy(std::move(coded.shared)),
                             to_numpy(std::vector<std::uint8_t>(coded.rest.begin(), coded.rest.end())));
        },
        "name_bytes"_a, "name_offsets"_a, "How many bytes each name shares with the one before it, and the rests.");
    m.def(
        "from_front_coded",
        [](const Input<std::uint8_t>& shared, const Input<std::uint8_t>& rest, std::size_t most) {
            const std::string_view bytes(reinterpret_cast<const char*>(rest.data()), rest.size());
            return strings_to_numpy(from_front_coded(view(shared), bytes, most));
        },
        "shared"_a, "rest"_a, "most"_a);
    m.def(
        "feature_hash",
        [](const TemplateFeatures& features, std::size_t number, const std::vector<std::string>& values) {
            return features.hash_of(number, values);
        },
        "features"_a, "template_number"_a, "values"_a, "What a feature is known by.");
    m.def(
        "templates_of_names",
        [](const TemplateFeatures& features, const Input<std::uint8_t>& bytes, const Input<std::int64_t>& offsets,
           const Input<std::uint64_t>& hashes) {
            const Strings names = strings_from(bytes, offsets);
            if (names.size() != hashes.size()) throw InputError("features: as many names as hashes are expected");
            return to_numpy(features.templates_of(names, view(hashes)));
        },
        "features"_a, "name_bytes"_a, "name_offsets"_a, "hashes"_a,
        "The number of the template that gives each name its hash, 65535 if none does.");
    m.def(
        "hashes_of_names",
        [](const TemplateFeatures& features, const Input<std::uint8_t>& bytes, const Input<std::int64_t>& offsets,
           const Input<std::uint16_t>& templates) {
            const Strings names = strings_from(bytes, offsets);
            if (names.size() != templates.size()) throw InputError("features: a template is expected for each name");
            std::vector<std::uint64_t> hashes(names.size(), 0);
            for (std::size_t id = 0; id < names.size(); ++id) {
                const std::uint16_t number = templates.data()[id];
                if (number != TemplateFeatures::no_template) hashes[id] = features.hash_of_name(number, names[id]);
            }
            return to_numpy(std::move(hashes));
        },
        "features"_a, "name_bytes"_a, "name_offsets"_a, "templates"_a,
        "The hash of each name as a feature of its template; 0 where it is none.");
}

}  // namespace dualstruct
