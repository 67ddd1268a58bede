// Brown clusters from raw text.

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/index.hpp"
#include "clusters/brown.hpp"
#include "python/bindings.hpp"

namespace dualstruct {

using namespace nb::literals;
using clusters::Brown;
using clusters::Merge;
using clusters::Neighbours;
using clusters::RawText;

namespace {

using MergeRows = Input<std::int32_t, nb::shape<-1, 2>>;

std::vector<Merge> merges_from(const MergeRows& rows) {
    std::vector<Merge> merges(rows.shape(0));
    for (std::size_t i = 0; i < merges.size(); ++i) merges[i] = {rows.data()[2 * i], rows.data()[2 * i + 1]};
    return merges;
}

// Merges come from files; their numbers are places in memory.
std::vector<Merge> checked_merges(const MergeRows& rows, std::int64_t words) {
    std::vector<Merge> merges = merges_from(rows);
    for (const auto& [kept, gone] : merges) {
        if (kept < 0 || kept >= gone || gone >= words) throw InputError("these merges are of other words");
    }
    return merges;
}

}  // namespace

void bind_clusters(nb::module_& m) {
    nb::class_<Neighbours>(m, "Neighbours", "Words from the most frequent on, and which stand beside which.")
        .def("__len__", &Neighbours::size)
        .def_ro("pairs", &Neighbours::pairs)
        .def_ro("digest", &Neighbours::digest)
        .def("occurrences", [](const Neighbours& found) { return to_numpy(std::vector(found.occurrences)); })
        .def("words",
             [](const Neighbours& found) {
                 nb::list words;
                 for (std::size_t i = 0; i < found.words.size(); ++i) {
                     const std::string_view word = found.words[i];
                     words.append(nb::str(word.data(), word.size()));
                 }
                 return nb::typed<nb::list, nb::str>(std::move(words));
             })
        .def(
            "mutual_information",
            [](const Neighbours& found, const Input<std::int32_t>& cluster_of) {
                if (std::ssize(view(cluster_of)) != found.size())
                    throw InputError("a cluster for each word is expected");
                for (const std::int32_t cluster : view(cluster_of)) {
                    if (cluster < 0 || cluster >= found.size()) throw InputError("there is no such cluster");
                }
                const GilReleased unlocked;
                return clusters::mutual_information(found, view(cluster_of));
            },
            "cluster_of"_a, "In bits, with the words in these clusters.");

    nb::class_<RawText>(m, "RawText", "Text with a sentence on each line, which may come in several pieces.")
        .def(nb::init<bool>(), "lowercase"_a = false)
        .def(
            "add",
            [](RawText& text, const nb::bytes& lines, std::int64_t first_line) {
                const std::string_view data(lines.c_str(), lines.size());
                const GilReleased unlocked;
                text.add(data, first_line);
            },
            "lines"_a, "first_line"_a = 1)
        .def(
            "restrict_to",
            [](RawText& text, const nb::bytes& lines, std::int64_t first_line) {
                const std::string_view data(lines.c_str(), lines.size());
                const GilReleased unlocked;
                text.restrict_to(data, first_line);
            },
            "lines"_a, "first_line"_a = 1)
        .def_prop_ro("tokens", &RawText::tokens)
        .def_prop_ro("types", &RawText::types)
        .def(
            "neighbours",
            [](const RawText& text, std::int64_t min_count, int threads) {
                const GilReleased unlocked;
                return std::make_shared<Neighbours>(text.neighbours(min_count, threads));
            },
            "min_count"_a = 1, "threads"_a = 1);

    nb::class_<Brown>(m, "Brown", "Merges words into clusters that lose the least mutual information of neighbours.")
        .def(
            "__init__",
            [](Brown* self, std::shared_ptr<Neighbours> neighbours, std::int64_t clusters, const MergeRows& merges,
               int threads) {
                std::vector<Merge> before = checked_merges(merges, neighbours->size());
                const GilReleased unlocked;
                new (self) Brown(std::move(neighbours), clusters, std::move(before), threads);
            },
            "neighbours"_a, "clusters"_a, "merges"_a, "threads"_a = 1)
        .def(
            "advance",
            [](Brown& brown, std::int64_t merges, int threads) {
                const GilReleased unlocked;
                brown.advance(merges, threads);
            },
            "merges"_a, "threads"_a = 1, "So many more merges, or as many as are left.")
        .def_prop_ro("merges_in_all", &Brown::merges_in_all)
        .def_prop_ro("merges_done", [](const Brown& brown) { return brown.merges().size(); })
        .def(
            "merges",
            [](const Brown& brown) {
                std::vector<std::int32_t> flat;
                for (const auto& [kept, gone] : brown.merges()) flat.insert(flat.end(), {kept, gone});
                const std::size_t rows = brown.merges().size();
                return shaped(nb::cast(to_numpy(std::move(flat))), nb::make_tuple(rows, 2));
            },
            nb::sig("def merges(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None, 2), order='C')]"));

    m.def(
        "clusters_after",
        [](std::int64_t words, const MergeRows& merges) {
            return to_numpy(clusters::clusters_after(words, checked_merges(merges, words)));
        },
        "words"_a, "merges"_a, "The cluster of each word, by its most frequent word, after these merges.");
}

}  // namespace dualstruct
