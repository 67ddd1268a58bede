// Binds the text part of the core: tables of tokens, templates, attributes.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "base/errors.hpp"
#include "base/index.hpp"
#include "python/attribute_rows.hpp"
#include "python/bindings.hpp"
#include "python/objects.hpp"
#include "python/strings.hpp"
#include "text/attribute_features.hpp"
#include "text/conllu.hpp"
#include "text/templates.hpp"
#include "text/token_table.hpp"
#include "text/unicode.hpp"

namespace dualstruct {

namespace {

using namespace nb::literals;
using WithoutGil = nb::call_guard<GilReleased>;

// A numpy array over memory that `owner` keeps alive.
template <class T>
Input<T> array_over(const std::vector<T>& values, nb::handle owner) {
    return Input<T>(values.data(), {values.size()}, owner);
}

nb::str to_str(std::string_view s) { return nb::str(s.data(), s.size()); }

std::string_view bytes_of(const nb::bytes& data) { return {data.c_str(), data.size()}; }

std::pair<Array<std::int64_t>, Array<std::int32_t>> rows_to_numpy(Rows&& rows) {
    const auto size = at(rows.offsets.back());
    std::int32_t* const ids = rows.ids.release();
    const nb::capsule owner(ids, [](void* p) noexcept { delete[] static_cast<std::int32_t*>(p); });
    return {to_numpy(std::move(rows.offsets)), Array<std::int32_t>(ids, {size}, owner)};
}

Function function_from(const std::string& name, const std::variant<int, std::string>& argument) {
    using Known = std::pair<std::string_view, Function::Kind>;
    constexpr std::array known{Known{"lower", Function::lower},   Known{"digits", Function::digits},
                               Known{"prefix", Function::prefix}, Known{"suffix", Function::suffix},
                               Known{"shape", Function::shape},   Known{"shortshape", Function::short_shape},
                               Known{"kind", Function::kind},     Known{"cluster", Function::cluster},
                               Known{"match", Function::match},   Known{"test", Function::test}};
    const int* length = std::get_if<int>(&argument);
    for (const auto& [text, kind] : known) {
        if (name != text) continue;
        return length ? Function{kind, *length} : Function{kind, 0, Regex(std::get<std::string>(argument))};
    }
    throw InputError("there is no function \"" + name + "\"");
}

// Terms and templates as Python writes them down.
using FunctionTuple = std::pair<std::string, std::variant<int, std::string>>;
using TermTuple = std::tuple<int, int, bool, int, std::vector<FunctionTuple>>;
using TemplateTuple = std::tuple<std::string, std::vector<std::string>, std::vector<TermTuple>>;

std::vector<Template> templates_from(const std::vector<TemplateTuple>& tuples) {
    std::vector<Template> templates;
    for (const auto& [identity, literals, terms] : tuples) {
        Template& made = templates.emplace_back(Template{identity, literals, {}});
        for (const auto& [column, offset, absolute, gazetteer, functions] : terms) {
            Term& term = made.terms.emplace_back(Term{column, offset, absolute, gazetteer, {}});
            for (const auto& [name, argument] : functions) term.functions.push_back(function_from(name, argument));
        }
    }
    return templates;
}

Boundaries boundaries_of(const std::string& dialect) {
    if (dialect == "crf++") return {"_B-", "_B+", ""};
    if (dialect == "wapiti") return {"_x-", "_x+", "", 4, true};
    return {"<s", "</s", ">"};
}

void check_range(const TokenTable& table, std::size_t column, std::int64_t begin, std::int64_t end) {
    if (column >= table.columns.size()) throw nb::index_error("no such column");
    if (begin < 0 || begin > end || end > table.tokens()) throw nb::index_error("no such tokens");
}

void bind_columns(nb::module_& m) {
    nb::class_<ColumnFormat>(m, "ColumnFormat",
                             "How a column file is to be read, and which of its lines are no tokens.")
        .def_static(
            "of",
            [](const nb::bytes& data, const std::string& separator, std::optional<bool> comments) {
                if (separator.size() > 1 || separator == "\n" || separator == "\r") {
                    throw InputError("the separator has to be one ASCII character");
                }
                return ColumnFormat::of(bytes_of(data), separator.empty() ? '\0' : separator.front(), comments);
            },
            "data"_a, "separator"_a = "", "comments"_a = nb::none(),
            "From the beginning of a file; separator \"\" means tab or blanks, by the first token.")
        .def_prop_ro("n_columns", [](const ColumnFormat& f) { return f.columns; })
        .def_ro("comments", &ColumnFormat::comments)
        .def_ro("numbered", &ColumnFormat::numbered)
        .def("__getstate__",
             [](const ColumnFormat& f) {
                 return std::tuple(std::string(1, f.separator), f.columns, f.comments, f.numbered);
             })
        .def("__setstate__",
             [](ColumnFormat& f, const std::tuple<std::string, std::size_t, bool, bool>& state) {
                 const auto& [separator, columns, comments, numbered] = state;
                 if (separator.size() != 1) throw InputError("the separator has to be one ASCII character");
                 new (&f) ColumnFormat{separator.front(), columns, comments, numbered};
             })
        .def(
            "token_lines",
            [](const ColumnFormat& format, const nb::bytes& data) {
                const std::string_view text = bytes_of(data);
                return to_numpy(format.token_lines(text));
            },
            "data"_a, "The lines of a text that are tokens, counted from 1.");
    m.def(
        "parse_columns",
        [](const nb::bytes& data, const ColumnFormat& format) {
            const std::string_view text = bytes_of(data);
            auto found = without_gil([&] { return parse_columns(text, format); });
            nb::list others;
            for (const OtherLines& lines : found.others) {
                const auto begin = at(lines.begin);
                const auto length = at(lines.end - lines.begin);
                others.append(nb::make_tuple(lines.sentence, lines.tokens, to_str(text.substr(begin, length))));
            }
            return nb::make_tuple(found.table, others);
        },
        "data"_a, "format"_a,
        "Read a column file: its tokens, and its other lines with the places before which they stand.");
}

void bind_tokens(nb::module_& m) {
    nb::class_<TokenTable>(m, "TokenTable", "Sentences of tokens; every cell is the id of an interned string.")
        .def_static(
            "from_sentences", [](nb::handle sentences) { return read_tokens(sentences.ptr()); }, "sentences"_a)
        .def("__len__", &TokenTable::size)
        .def_prop_ro("n_tokens", &TokenTable::tokens)
        .def_prop_ro("n_columns", [](const TokenTable& t) { return t.columns.size(); })
        .def_prop_ro(
            "sentences",
            [](nb::handle_t<TokenTable> self) { return array_over(nb::cast<const TokenTable&>(self).sentences, self); })
        .def(
            "ids",
            [](nb::handle_t<TokenTable> self, std::size_t column) {
                const auto& table = nb::cast<const TokenTable&>(self);
                check_range(table, column, 0, 0);
                return array_over(table.columns[column].ids, self);
            },
            "column"_a, "The id of each token's string.")
        .def(
            "strings",
            [](const TokenTable& table, std::size_t column) {
                check_range(table, column, 0, 0);
                nb::list strings;
                const StringTable& types = table.columns[column].types;
                for (std::size_t i = 0; i < types.size(); ++i) strings.append(to_str(types[i]));
                return strings;
            },
            "column"_a, "The distinct strings of a column, by id.")
        .def(
            "cells",
            [](const TokenTable& table, std::size_t column, std::int64_t begin, std::int64_t end) {
                check_range(table, column, begin, end);
                nb::list cells;
                for (std::int64_t token = begin; token < end; ++token) cells.append(to_str(table.cell(column, token)));
                return cells;
            },
            "column"_a, "begin"_a, "end"_a)
        .def(
            "select",
            [](const TokenTable& table, const Input<std::int64_t>& sentences, const std::vector<std::size_t>& columns) {
                for (const std::int64_t s : view(sentences)) {
                    if (s < 0 || s >= table.size()) throw nb::index_error("no such sentence");
                }
                for (const std::size_t c : columns) check_range(table, c, 0, 0);
                const GilReleased unlocked;
                return select_sentences(table, view(sentences), columns);
            },
            "sentences"_a, "columns"_a, "A table of its own with some sentences and columns.");
}

// The sentences of `heads`, which `sentences` divides; checked, because Python may have made them.
std::vector<std::span<const std::int32_t>> trees_of(const Input<std::int32_t>& heads,
                                                    const Input<std::int64_t>& sentences) {
    std::vector<std::span<const std::int32_t>> trees;
    const std::span<const std::int64_t> bounds = view(sentences);
    if (bounds.empty() || bounds.front() != 0 || bounds.back() != static_cast<std::int64_t>(heads.size())) {
        throw InputError("the offsets of the sentences do not go from 0 to the number of heads");
    }
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
        if (bounds[i] > bounds[i + 1]) throw InputError("the offsets of the sentences do not rise");
        const auto n = at(bounds[i + 1] - bounds[i]);
        trees.push_back(view(heads).subspan(at(bounds[i]), n));
        for (const std::int32_t head : trees.back()) {
            if (head < -1 || head > static_cast<std::int32_t>(n)) {
                throw InputError("sentence " + std::to_string(i + 1) + ": a head is " + std::to_string(head) +
                                 ", but the sentence has " + std::to_string(n) + " words");
            }
        }
    }
    return trees;
}

using NewColumn = std::tuple<std::size_t, Input<std::int32_t>, std::vector<std::string>>;

void bind_conllu(nb::module_& m) {
    m.def(
        "parse_conllu",
        [](const nb::bytes& data, std::int64_t lines_before) {
            const std::string_view text = bytes_of(data);
            auto words = without_gil([&] { return parse_conllu(text, lines_before); });
            return std::tuple(words.table, to_numpy(std::move(words.heads)), to_numpy(std::move(words.lines)),
                              to_numpy(std::move(words.bytes)));
        },
        "data"_a, "lines_before"_a = 0, "The words of a CoNLL-U file: table, heads, lines, bytes of the sentences.");
    m.def(
        "rewrite_conllu",
        [](const nb::bytes& data, std::int64_t words, const std::vector<NewColumn>& columns) {
            std::vector<NewCells> changed;
            for (const auto& [column, ids, strings] : columns) {
                if (column >= conllu_columns) throw nb::index_error("no such column");
                if (static_cast<std::int64_t>(ids.size()) != words)
                    throw InputError("a cell for each word is expected");
                const auto count = static_cast<std::int32_t>(strings.size());
                for (const std::int32_t id : view(ids)) {
                    if (id < 0 || id >= count) throw nb::index_error("no such string");
                }
                changed.push_back({column, view(ids), strings});
            }
            const std::string written = rewrite_conllu(bytes_of(data), changed);
            return nb::bytes(written.data(), written.size());
        },
        "data"_a, "words"_a, "columns"_a, "The same file with other cells in some columns of its words.");
    m.def(
        "tree_faults",
        [](const Input<std::int32_t>& heads, const Input<std::int64_t>& sentences, bool single_root) {
            std::vector<std::uint8_t> faults;
            std::vector<std::int32_t> words;
            for (const auto tree : trees_of(heads, sentences)) {
                const FaultyWord found = find_fault(tree, single_root);
                faults.push_back(static_cast<std::uint8_t>(found.fault));
                words.push_back(found.word);
            }
            return std::tuple(to_numpy(std::move(faults)), to_numpy(std::move(words)));
        },
        "heads"_a, "sentences"_a, "single_root"_a,
        "For each sentence what is wrong with its tree (0: nothing), and where.");
    m.def(
        "crossing_arcs",
        [](const Input<std::int32_t>& heads, const Input<std::int64_t>& sentences) {
            std::vector<std::int64_t> counts;
            for (const auto tree : trees_of(heads, sentences)) counts.push_back(count_crossing(tree));
            return to_numpy(std::move(counts));
        },
        "heads"_a, "sentences"_a, "For each sentence how many arcs cross another one.");
}

void bind_lists(nb::module_& m) {
    nb::class_<Clusters>(m, "Clusters", "Brown clusters: a path of 0s and 1s for each word.")
        .def_static(
            "parse",
            [](const nb::bytes& data) {
                const std::string_view text = bytes_of(data);
                const GilReleased unlocked;
                return Clusters::parse(text);
            },
            "data"_a)
        .def_static(
            "from_arrays",
            [](const Input<std::uint64_t>& words, const Input<std::int32_t>& path_of,
               const Input<std::uint8_t>& path_bytes, const Input<std::int64_t>& path_offsets) {
                return Clusters(view(words), view(path_of), strings_from(path_bytes, path_offsets));
            },
            "words"_a, "path_of"_a, "path_bytes"_a, "path_offsets"_a)
        .def("arrays",
             [](const Clusters& c) {
                 auto [bytes, offsets] = strings_to_numpy(c.paths());
                 return std::tuple(to_numpy(std::vector(c.words())), to_numpy(std::vector(c.path_of())), bytes,
                                   offsets);
             })
        .def("__len__", [](const Clusters& c) { return c.path_of().size(); })
        .def(
            "path", [](const Clusters& c, const std::string& word) { return to_str(c.path(hash_bytes(word))); },
            "word"_a, "The word's path, \"\" if it has none.");

    nb::class_<Gazetteer>(m, "Gazetteer", "A list of phrases to find in sentences.")
        .def(nb::init<bool>(), "fold_case"_a = true)
        .def_static(
            "from_arrays",
            [](const Input<std::uint64_t>& prefixes, const Input<std::uint8_t>& is_phrase, bool fold_case) {
                return Gazetteer(view(prefixes), view(is_phrase), fold_case);
            },
            "prefixes"_a, "is_phrase"_a, "fold_case"_a = true)
        .def("arrays",
             [](const Gazetteer& g) {
                 return std::pair(to_numpy(std::vector(g.prefixes())), to_numpy(std::vector(g.is_phrase())));
             })
        .def(
            "add",
            [](Gazetteer& g, const std::vector<std::string>& words) {
                g.add(std::vector<std::string_view>(words.begin(), words.end()));
            },
            "words"_a);
}

void bind_features(nb::module_& m) {
    nb::class_<TemplateFeatures>(m, "TemplateFeatures", "The features that templates make of tokens.")
        .def(
            "__init__",
            [](TemplateFeatures* self, const std::vector<TemplateTuple>& templates, std::shared_ptr<Clusters> clusters,
               const std::vector<std::shared_ptr<Gazetteer>>& gazetteers, int hash_bits, const std::string& dialect,
               bool of_pairs) {
                new (self) TemplateFeatures(templates_from(templates), std::move(clusters),
                                            {gazetteers.begin(), gazetteers.end()}, hash_bits, boundaries_of(dialect),
                                            of_pairs);
            },
            "templates"_a, "clusters"_a.none(), "gazetteers"_a, "hash_bits"_a, "dialect"_a = "dualstruct",
            "of_pairs"_a = false)
        .def(
            "fit",
            [](TemplateFeatures& f, std::shared_ptr<TokenTable> table, std::int64_t min_count, int threads) {
                return rows_to_numpy(without_gil([&] { return f.fit(std::move(table), min_count, threads); }));
            },
            "table"_a, "min_count"_a, "threads"_a = 1)
        .def(
            "transform",
            [](const TemplateFeatures& f, const TokenTable& table, int threads) {
                return rows_to_numpy(without_gil([&] { return f.transform(table, threads); }));
            },
            "table"_a, "threads"_a = 1)
        .def_prop_ro("dimension", &TemplateFeatures::dimension, WithoutGil())
        .def(
            "find",
            [](const TemplateFeatures& f, std::size_t number, const std::vector<std::string>& values) {
                return f.find(number, values);
            },
            "template_number"_a, "values"_a, WithoutGil())
        .def(
            "names", [](const TemplateFeatures& f, const Input<std::int32_t>& ids) { return f.names(view(ids)); },
            "ids"_a, WithoutGil())
        .def("hashes", [](const TemplateFeatures& f) { return to_numpy(f.hashes()); })
        .def("all_names", [](const TemplateFeatures& f) { return strings_to_numpy(f.all_names()); })
        .def(
            "restore",
            [](TemplateFeatures& f, const Input<std::uint64_t>& hashes, const Input<std::uint8_t>& name_bytes,
               const Input<std::int64_t>& name_offsets) {
                f.restore(view(hashes), strings_from(name_bytes, name_offsets));
            },
            "hashes"_a, "name_bytes"_a, "name_offsets"_a)
        .def(
            "restore_fingerprints",
            [](TemplateFeatures& f, const Input<std::uint64_t>& fingerprints, int bits) {
                f.restore_fingerprints(view(fingerprints), bits);
            },
            "fingerprints"_a, "bits"_a)
        .def("select", [](TemplateFeatures& f, const Input<std::uint8_t>& keep) { f.select(view(keep)); }, "keep"_a);

    nb::class_<Items>(m, "Items", "The attributes of one sentence's tokens by name.")
        .def_static(
            "read", [](nb::handle sentence) { return read_items(sentence.ptr()); }, "sentence"_a)
        .def_static(
            "from_pairs",
            [](const std::vector<std::vector<std::pair<std::string, double>>>& tokens) {
                Items items;
                for (const auto& token : tokens) {
                    for (const auto& [name, value] : token) items.add(name, value);
                    items.end_token();
                }
                return items;
            },
            "tokens"_a)
        .def("__len__", &Items::tokens)
        .def("pairs", [](const Items& items) {
            nb::list tokens;
            for (std::size_t t = 0; t < items.tokens(); ++t) {
                nb::list token;
                items.walk(
                    t, [&](std::string_view name, double value) { token.append(nb::make_tuple(to_str(name), value)); });
                tokens.append(token);
            }
            return tokens;
        });
    nb::class_<AttributeFeatures>(m, "AttributeFeatures", "Features that tokens state themselves, as dicts or strings.")
        .def(nb::init<int>(), "hash_bits"_a)
        .def(
            "fit",
            [](AttributeFeatures& f, nb::handle sentences, std::int64_t min_count) {
                return attributes_to_numpy(f.fit(reading(sentences.ptr()), min_count));
            },
            "sentences"_a, "min_count"_a)
        .def(
            "extend",
            [](AttributeFeatures& f, const Items& items) { return attributes_to_numpy(f.extend(reading(items))); },
            "items"_a)
        .def(
            "extend",
            [](AttributeFeatures& f, nb::handle sentences) {
                return attributes_to_numpy(f.extend(reading(sentences.ptr())));
            },
            "sentences"_a)
        .def(
            "transform",
            [](const AttributeFeatures& f, const Items& items) {
                return attributes_to_numpy(f.transform(reading(items)));
            },
            "items"_a)
        .def(
            "transform",
            [](const AttributeFeatures& f, nb::handle sentences) {
                return attributes_to_numpy(f.transform(reading(sentences.ptr())));
            },
            "sentences"_a)
        .def_prop_ro("dimension", &AttributeFeatures::dimension)
        .def(
            "find", [](const AttributeFeatures& f, const std::string& name) { return f.find(name); }, "name"_a)
        .def("name", &AttributeFeatures::name, "id"_a)
        .def_prop_ro(
            "names",
            [](const AttributeFeatures& f) {
                nb::list names;
                for (std::size_t id = 0; id < f.all_names().size(); ++id) names.append(to_str(f.all_names()[id]));
                return names;
            },
            "Of all features by their ids; none of hashed ones.")
        .def("all_names", [](const AttributeFeatures& f) { return strings_to_numpy(f.all_names()); })
        .def(
            "restore",
            [](AttributeFeatures& f, const Input<std::uint8_t>& name_bytes, const Input<std::int64_t>& name_offsets) {
                f.restore(strings_from(name_bytes, name_offsets));
            },
            "name_bytes"_a, "name_offsets"_a)
        .def("hashes", [](const AttributeFeatures& f) { return to_numpy(f.hashes()); })
        .def(
            "restore_fingerprints",
            [](AttributeFeatures& f, const Input<std::uint64_t>& fingerprints, int bits) {
                f.restore_fingerprints(view(fingerprints), bits);
            },
            "fingerprints"_a, "bits"_a)
        .def(
            "select",
            [](AttributeFeatures& f, const Input<std::uint8_t>& keep) {
                f.select({keep.data(), keep.data() + keep.size()});
            },
            "keep"_a);
}

}  // namespace

void bind_text(nb::module_& m) {
    bind_tokens(m);
    bind_columns(m);
    bind_conllu(m);
    bind_lists(m);
    bind_features(m);
}

}  // namespace dualstruct
