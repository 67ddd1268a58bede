// Binds the tokenizer: texts become a table of tokens, and places in the texts.

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "python/bindings.hpp"
#include "text/character_table.hpp"
#include "text/tokenizer.hpp"
#include "text/unicode.hpp"

namespace dualstruct {

namespace {

using namespace nb::literals;

template <class Kind, std::size_t n>
Kind chosen(const std::string& name, const std::array<std::pair<std::string_view, Kind>, n>& known) {
    for (const auto& [text, kind] : known) {
        if (name == text) return kind;
    }
    throw InputError("a tokenizer has no rule \"" + name + "\"");
}

TokenizerSettings tokenizer_settings(const std::string& words, const std::string& sentences, bool split_contractions,
                                     bool split_hyphens, std::vector<std::string> abbreviations) {
    using Words = TokenizerSettings::Words;
    using Sentences = TokenizerSettings::Sentences;
    return {
        chosen(words,
               std::to_array<std::pair<std::string_view, Words>>({{"rules", Words::rules}, {"blanks", Words::blanks}})),
        chosen(sentences, std::to_array<std::pair<std::string_view, Sentences>>(
                              {{"rules", Sentences::rules}, {"lines", Sentences::lines}, {"whole", Sentences::whole}})),
        split_contractions, split_hyphens, std::move(abbreviations)};
}

// The texts in UTF-8, which Python keeps as long as the strings live.
std::vector<std::string_view> utf8_of(const std::vector<nb::str>& texts) {
    std::vector<std::string_view> found;
    for (const nb::str& text : texts) {
        Py_ssize_t size = 0;
        const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
        if (bytes == nullptr) {
            PyErr_Clear();
            throw InputError("text " + std::to_string(found.size() + 1) +
                             ": half of a surrogate pair is no character; decode it as UTF-16 or leave it out");
        }
        found.emplace_back(bytes, static_cast<std::size_t>(size));
    }
    return found;
}

// Calls a function with each text; what is wrong with one is said with its number.
template <class Function>
void for_each_text(const std::vector<std::string_view>& texts, Function add) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
        try {
            add(texts[i]);
        } catch (const InputError& problem) {
            throw InputError("text " + std::to_string(i + 1) + ": " + problem.what());
        }
    }
}

}  // namespace

void bind_tokenizer(nb::module_& m) {
    nb::class_<Tokenizer>(m, "Tokenizer", "Splits texts into tokens and sentences by rules.")
        .def(
            "__init__",
            [](Tokenizer* made, const std::string& words, const std::string& sentences, bool split_contractions,
               bool split_hyphens, std::vector<std::string> abbreviations) {
                new (made) Tokenizer(
                    tokenizer_settings(words, sentences, split_contractions, split_hyphens, std::move(abbreviations)));
            },
            "words"_a, "sentences"_a, "split_contractions"_a, "split_hyphens"_a, "abbreviations"_a)
        .def(
            "tokenize",
            [](const Tokenizer& tokenizer, const std::vector<nb::str>& texts) {
                const auto read = utf8_of(texts);
                TokenizedTexts found;
                {
                    const GilReleased unlocked;
                    for_each_text(read, [&](std::string_view text) { tokenizer.add(text, found); });
                    if (found.table->columns.empty()) found.table->columns.resize(1);
                }
                return nb::make_tuple(found.table, to_numpy(std::move(found.begins)), to_numpy(std::move(found.ends)),
                                      to_numpy(std::move(found.texts)));
            },
            "texts"_a, "All tokens; where each begins and ends in its text; the first sentence of each text.");
    m.def(
        "mark_ranges",
        [] {
            std::vector<std::pair<int, int>> found;
            for (char32_t c = 0; c <= 0x10FFFF; ++c) {
                if (!is_mark(c)) continue;
                const int code = static_cast<int>(c);
                if (found.empty() || found.back().second != code - 1) found.emplace_back(code, code);
                found.back().second = code;
            }
            return found;
        },
        "The first and the last code point of each run of combining marks.");
    m.def(
        "character_table",
        [](const std::vector<nb::str>& texts, std::int64_t window) {
            const auto read = utf8_of(texts);
            CharacterTable found;
            {
                const GilReleased unlocked;
                for_each_text(read, [&](std::string_view text) { found.add(text, window); });
            }
            return nb::make_tuple(found.table, to_numpy(std::move(found.places)), to_numpy(std::move(found.texts)));
        },
        "texts"_a, "window"_a,
        "Characters but for gaps, as tokens with columns; their places; the first of each text.");
}

}  // namespace dualstruct
