// CRFsuite's model files for Python.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <string>
#include <tuple>

#include "base/errors.hpp"
#include "base/index.hpp"
#include "crfsuite/model_file.hpp"
#include "python/attribute_rows.hpp"
#include "python/bindings.hpp"
#include "python/objects.hpp"

namespace dualstruct {

using namespace nb::literals;
using crfsuite::ModelFile;
using crfsuite::NameTable;

namespace {

constexpr const char* escapes = "surrogateescape";  // bytes that are not UTF-8 come back as they were

nb::list names_of(const NameTable& table) {
    nb::list names;
    for (std::uint32_t number = 0; number < table.size(); ++number) {
        const std::string_view name = table[number];
        PyObject* const text = PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), escapes);
        if (text == nullptr) throw nb::python_error();
        names.append(nb::steal(text));
    }
    return names;
}

nb::bytes written(const nb::list& names, const std::string& what) {
    std::vector<nb::object> encoded;
    std::vector<std::string_view> views;
    for (const nb::handle name : names) {
        PyObject* const bytes = PyUnicode_AsEncodedString(name.ptr(), "utf-8", escapes);
        if (bytes == nullptr) throw nb::python_error();
        encoded.push_back(nb::steal(bytes));
        views.emplace_back(PyBytes_AS_STRING(bytes), at(PyBytes_GET_SIZE(bytes)));
    }
    const std::string table = crfsuite::write_names(views, what);
    return nb::bytes(table.data(), table.size());
}

auto arrays_of(crfsuite::Features&& features) {
    return std::make_tuple(to_numpy(std::move(features.sources)), to_numpy(std::move(features.targets)),
                           to_numpy(std::move(features.weights)));
}

auto numbering(const ModelFile& file) {
    return [&file](std::string_view name) { return static_cast<std::int32_t>(file.attributes().find(name)); };
}

}  // namespace

void bind_crfsuite(nb::module_& m) {
    nb::class_<ModelFile>(m, "CRFsuiteFile", "A model file of CRFsuite, read where it lies.")
        .def(
            "__init__",
            [](ModelFile* self, const nb::bytes& data, const std::string& name, std::int64_t max_labels) {
                new (self) ModelFile({data.c_str(), data.size()}, name, max_labels);
            },
            "data"_a, "name"_a, "max_labels"_a, nb::keep_alive<1, 2>())
        .def("check", &ModelFile::check, "Raise InputError unless all parts of the file agree.")
        .def_prop_ro("labels", [](const ModelFile& f) { return names_of(f.labels()); })
        .def_prop_ro("attributes", [](const ModelFile& f) { return names_of(f.attributes()); })
        .def("state_features", [](const ModelFile& f) { return arrays_of(f.state_features()); })
        .def("transition_features", [](const ModelFile& f) { return arrays_of(f.transition_features()); })
        .def(
            "transform",
            [](const ModelFile& f, const Items& items) {
                return attributes_to_numpy(number_items(items, numbering(f)));
            },
            "items"_a)
        .def(
            "transform",
            [](const ModelFile& f, nb::handle sentences) {
                return attributes_to_numpy(read_attributes(sentences.ptr(), numbering(f)));
            },
            "sentences"_a)
        .def(
            "emissions",
            [](const ModelFile& f, const Input<std::int64_t>& offsets, const Input<std::int32_t>& attributes,
               const std::optional<Input<double>>& values) {
                auto found = without_gil([&] { return f.emissions({view(offsets), view(attributes), view(values)}); });
                return shaped(nb::cast(to_numpy(std::move(found))),
                              nb::make_tuple(offsets.size() - 1, f.labels().size()));
            },
            "offsets"_a, "attributes"_a, "values"_a.none())
        .def_prop_ro(
            "chain",
            [](const ModelFile& f) {
                const std::int64_t no_attributes = 0;
                return PreciseChain(static_cast<int>(f.labels().size()), {&no_attributes, 1}, {}, {}, f.transitions());
            },
            "Its transitions as something that decodes.");
    m.def("write_crfsuite_names", &written, "names"_a, "what"_a);
}

}  // namespace dualstruct
