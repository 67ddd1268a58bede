// Feature templates, and the features they make of a table of tokens.
//
// A feature is a template together with the values of its terms, e.g. word[-1] & word[0]
// with "the", "cat". It is known by a 64-bit hash of both; ids are given in order of first
// occurrence, or are the top bits of the hash when `hash_bits` is set. Template files of CRF++
// and Wapiti come to the same: a template is text around terms.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/attributes.hpp"
#include "text/gazetteer.hpp"
#include "text/hash_index.hpp"
#include "text/string_table.hpp"
#include "text/token_table.hpp"
#include "text/turnstile.hpp"

namespace dualstruct {

struct Term {
    int column = 0;
    int offset = 0;
    bool absolute = false;  // offset 1 is the sentence's first token, -1 its last
    int gazetteer = -1;  // if not -1, the term is the token's mark in it
    std::vector<Function> functions;
};

struct Template {
    std::string identity;               // templates that share it share their features
    std::vector<std::string> literals;  // [terms + 1]: what stands around the values in names
    std::vector<Term> terms;            // none: the feature that every token has
};

// The values of terms outside the sentence, k = 1, 2 ... tokens away from it.
struct Boundaries {
    std::string before, after, close;  // "<s", "</s", ">"
    std::int64_t counted = 1000;       // farther away it is # instead of a number
    bool have_attributes = false;      // functions are applied to them as to words

    std::string before_start(std::int64_t k) const { return before + number(k) + close; }
    std::string behind_end(std::int64_t k) const { return after + number(k) + close; }

private:
    std::string number(std::int64_t k) const { return k > counted ? "#" : std::to_string(k); }
};

// The features of all tokens, row by row.
struct Rows {
    std::vector<std::int64_t> offsets;    // [tokens + 1]
    std::unique_ptr<std::int32_t[]> ids;  // [offsets.back()]
};

class TemplateFeatures {
public:
    TemplateFeatures(std::vector<Template> templates, std::shared_ptr<const Clusters> clusters,
                     std::vector<std::shared_ptr<const Gazetteer>> gazetteers, int hash_bits, Boundaries boundaries,
                     bool of_pairs);

    // Gives ids to the features of the table. New features that occur fewer than `min_count`
    // times in it get none. The ids do not depend on the number of threads.
    Rows fit(std::shared_ptr<const TokenTable> table, std::int64_t min_count, int threads);
    // Leaves out features without an id. Any number of threads may call it at once.
    Rows transform(const TokenTable& table) const;
    Rows transform(const TokenTable& table, int threads) const;

    std::int64_t dimension() const;
    // The id of a template's feature with these values, or -1.
    std::int32_t find(std::size_t template_number, std::span<const std::string> values) const;
    std::vector<std::string> names(std::span<const std::int32_t> ids) const;

    std::vector<std::uint64_t> hashes() const;  // [id], or fingerprints
    Strings all_names() const;                  // [id]
    // Takes hashes and names from a model file; the counterpart of the two above.
    void restore(std::span<const std::uint64_t> hashes, Strings names);
    // The same without names: features are known by the low bits of their hashes, and no others can be added.
    void restore_fingerprints(std::span<const std::uint64_t> fingerprints, int bits);
    bool has_names() const { return known_by_.whole(); }
    // The hash of a template's feature with these values.
    std::uint64_t hash_of(std::size_t template_number, std::span<const std::string> values) const;
    // The same by its name; 0 if it is no name of that template. A name that can be read in
    // several ways is read in one of them.
    std::uint64_t hash_of_name(std::size_t template_number, std::string_view name) const;
    // The template of each name whose hash is that of its name; `no_template` where there is none.
    std::vector<std::uint16_t> templates_of(const Strings& names, std::span<const std::uint64_t> hashes) const;
    static constexpr std::uint16_t no_template = 0xFFFF;

    // Drops ids and renumbers the others without changing their order.
    void select(std::span<const std::uint8_t> keep);

private:
    // What terms read: a column, or the marks a gazetteer puts on a column.
    struct Source {
        int column;
        int gazetteer;
        bool operator==(const Source&) const = default;
    };
    struct Stream {
        std::size_t source;
        Attribute attribute;
    };
    struct Reference {
        std::size_t stream;
        int offset;
        bool absolute;
    };
    struct Compiled {
        std::uint64_t identity;
        std::vector<Reference> terms;
    };
    // Where a feature was first seen: its name is read off there when somebody asks.
    struct Origin {
        std::uint64_t token : 48;  // counted over all tables
        std::uint64_t template_number : 16;
    };
    struct ExactIds;
    struct NamelessIds;
    struct NewIds;
    struct HashedIds;
    struct Occurrences;
    class Extraction;
    class Shares;
    class Namer;

    std::size_t stream_of(const Term& term);
    template <class Ids>
    Rows extract(const TokenTable& table, Ids&& ids) const;
    template <class Ids>
    Rows extract(const TokenTable& table, Ids ids, int threads) const;
    Rows extract_new(const TokenTable& table, std::uint64_t seen, int threads);
    void keep_only(const std::vector<std::uint8_t>& keep);
    void check_named() const;

    std::vector<Template> templates_;
    std::shared_ptr<const Clusters> clusters_;
    std::vector<std::shared_ptr<const Gazetteer>> gazetteers_;
    int hash_bits_;
    Boundaries boundaries_;
    bool of_pairs_;  // of a token and the one before it: a sentence's first token has none

    std::vector<Source> sources_;
    std::vector<Stream> streams_;
    std::vector<Compiled> compiled_;  // [template]
    int reach_ = 0;                   // largest distance of a term from its token

    mutable Turnstile lock_;  // guards what follows
    HashIndex index_;
    KnownBy known_by_;
    Strings stored_names_;         // of the first ids, when they came from a file
    std::vector<Origin> origins_;  // of the ids after those
    std::vector<std::shared_ptr<const TokenTable>> tables_;
    std::vector<std::int64_t> table_ends_;  // tokens up to the end of each table
};

}  // namespace dualstruct
