#include "wasm/features.hpp"

#include <optional>
#include <utility>

#include "base/index.hpp"
#include "text/clusters.hpp"
#include "text/gazetteer.hpp"
#include "text/hash.hpp"

namespace dualstruct {

namespace {

// Which rows of the weights features have: with hash_bits, features are numbers, of which few have a row.
class KeptRows {
public:
    explicit KeptRows(Reader& in) : bits_(in.small()) {
        if (bits_ == 0) {
            hashes_ = in.copy<std::uint64_t>();
            return;
        }
        if (bits_ > 30) throw InputError("hash_bits has to be between 1 and 30");
        const auto numbers = in.array<std::uint32_t>();
        row_of_.assign(std::size_t{1} << bits_, HashIndex::absent);
        for (std::size_t row = 0; row < numbers.size(); ++row) {
            row_of_[numbers[row] & (row_of_.size() - 1)] = static_cast<std::int32_t>(row);
        }
    }
    int bits() const { return bits_; }
    const std::vector<std::uint64_t>& hashes() const { return hashes_; }
    std::int32_t row(std::int32_t feature) const { return row_of_[at(feature)]; }
    void renumber(Rows& rows) const {
        std::int64_t kept = 0, f = 0;
        for (std::size_t t = 1; t < rows.offsets.size(); ++t) {
            for (const std::int64_t end = rows.offsets[t]; f < end; ++f) {
                const std::int32_t found = row(rows.ids[at(f)]);
                if (found >= 0) rows.ids[at(kept++)] = found;
            }
            rows.offsets[t] = kept;
        }
    }

private:
    int bits_;
    std::vector<std::uint64_t> hashes_;  // [row], without hash_bits
    std::vector<std::int32_t> row_of_;   // [2^bits]
};

Strings no_names(std::size_t count) {
    Strings names;
    names.offsets.assign(count + 1, 0);
    return names;
}

std::vector<Function> read_functions(Reader& in) {
    std::vector<Function> functions;
    for (std::int64_t n = in.number(); n > 0; --n) {
        const auto kind = static_cast<Function::Kind>(in.small());
        const int length = in.small();
        functions.push_back({kind, length, Regex(in.text())});
    }
    return functions;
}

std::vector<Template> read_list(Reader& in) {
    std::vector<Template> templates;
    for (std::int64_t n = in.number(); n > 0; --n) {
        Template& made = templates.emplace_back(Template{std::string(in.text()), {}, {}});
        for (std::int64_t terms = in.number(); terms > 0; --terms) {
            Term& term = made.terms.emplace_back();
            term.column = in.small();
            term.offset = in.small();
            term.absolute = in.flag();
            term.gazetteer = in.small();
            term.functions = read_functions(in);
        }
        made.literals.resize(made.terms.size() + 1);
    }
    return templates;
}

Boundaries read_boundaries(Reader& in) {
    Boundaries found;
    found.before = in.text();
    found.after = in.text();
    found.close = in.text();
    found.counted = in.number();
    found.have_attributes = in.flag();
    return found;
}

// Templates of tokens, or of pairs of them.
class TemplateRows {
public:
    TemplateRows(Reader& in, const Boundaries& boundaries, std::shared_ptr<const Clusters> clusters,
                 std::vector<std::shared_ptr<const Gazetteer>> gazetteers, bool of_pairs)
        : templates_(read_list(in)), kept_(in),
          features_(templates_, std::move(clusters), std::move(gazetteers), kept_.bits(), boundaries, of_pairs) {
        if (kept_.bits() == 0) features_.restore(kept_.hashes(), no_names(kept_.hashes().size()));
    }

    SparseRows of(const TokenTable& table) const {
        SparseRows found{features_.transform(table), {}};
        if (kept_.bits() > 0) kept_.renumber(found.rows);
        return found;
    }

private:
    std::vector<Template> templates_;
    KeptRows kept_;
    TemplateFeatures features_;
};

// A column of what training says of the values of a term.
class LearnedColumn {
public:
    LearnedColumn(Reader& in, std::shared_ptr<const Clusters> clusters)
        : features_(read_list(in), std::move(clusters), {}, 0, read_boundaries(in), false) {
        const auto hashes = in.array<std::uint64_t>();
        features_.restore(hashes, no_names(hashes.size()));
        answers_ = in.copy<std::int32_t>();
        if (answers_.size() != hashes.size() + 1) throw InputError("learned: an answer for each value is expected");
        for (std::int64_t n = in.number(); n > 0; --n) strings_.intern(in.text());
    }

    TokenTable::Column of(const TokenTable& table) const {
        const Rows rows = features_.transform(table);
        TokenTable::Column found{strings_, {}};
        for (std::size_t t = 0; t + 1 < rows.offsets.size(); ++t) {
            const bool has = rows.offsets[t] < rows.offsets[t + 1];
            found.ids.push_back(has ? answers_[at(rows.ids[at(rows.offsets[t])])] : answers_.back());
        }
        return found;
    }

private:
    TemplateFeatures features_;
    std::vector<std::int32_t> answers_;  // [value], and for values that training did not have
    StringTable strings_;
};

class TemplateSentences final : public WasmFeatures {
public:
    explicit TemplateSentences(Reader& in) {
        const Boundaries boundaries = read_boundaries(in);
        std::shared_ptr<const Clusters> clusters;
        if (in.flag()) {
            const auto words = in.array<std::uint64_t>();
            const auto path_of = in.array<std::int32_t>();
            const std::string_view bytes = in.text();
            clusters = std::make_shared<Clusters>(words, path_of, Strings{std::string(bytes), in.copy<std::int64_t>()});
        }
        std::vector<std::shared_ptr<const Gazetteer>> gazetteers;
        for (std::int64_t n = in.number(); n > 0; --n) {
            const auto prefixes = in.array<std::uint64_t>();
            const auto is_phrase = in.array<std::uint8_t>();
            gazetteers.push_back(std::make_shared<Gazetteer>(prefixes, is_phrase, in.flag()));
        }
        columns_ = at(in.number());
        for (std::int64_t n = in.number(); n > 0; --n) {
            learned_.push_back(std::make_unique<LearnedColumn>(in, clusters));
        }
        emission_.emplace(in, boundaries, clusters, gazetteers, false);
        if (in.flag()) pairs_.emplace(in, boundaries, nullptr, std::vector<std::shared_ptr<const Gazetteer>>(), true);
    }

    Sentences read(Input& in, std::size_t columns) const override {
        TokenTable table = table_of(in, columns);
        if (!learned_.empty()) {
            std::vector<TokenTable::Column> learned;
            for (const auto& each : learned_) learned.push_back(each->of(table));
            table = std::move(*with_columns(table, columns_, std::move(learned)));
        }
        Sentences found;
        found.rows = emission_->of(table);
        if (pairs_) found.pairs = pairs_->of(table);
        found.bounds = std::move(table.sentences);
        return found;
    }

private:
    std::size_t columns_ = 0;  // that templates look at, before those that are learned
    std::vector<std::unique_ptr<LearnedColumn>> learned_;
    std::optional<TemplateRows> emission_, pairs_;
};

class AttributeSentences final : public WasmFeatures {
public:
    explicit AttributeSentences(Reader& in) : kept_(in) {
        for (const std::uint64_t hash : kept_.hashes()) names_.insert(hash);
    }

    Sentences read(Input& in, std::size_t) const override {
        Sentences found;
        for (const std::uint32_t n : in.sentences()) found.bounds.push_back(found.bounds.back() + n);
        const auto counts = in.array<std::uint32_t>(at(found.bounds.back()));
        std::size_t total = 0;
        for (const std::uint32_t n : counts) total += n;
        const float* value = in.array<float>(total).data();
        found.rows.rows.ids.reset(new std::int32_t[total]);
        std::int64_t kept = 0;
        for (const std::uint32_t n : counts) {
            for (std::uint32_t i = 0; i < n; ++i, ++value) {
                const std::uint64_t hash = hash_bytes(in.cell());
                const std::int32_t row = kept_.bits() == 0
                                             ? names_.find(hash)
                                             : kept_.row(static_cast<std::int32_t>(hash >> (64 - kept_.bits())));
                if (row < 0) continue;
                found.rows.rows.ids[at(kept++)] = row;
                found.rows.values.push_back(*value);
            }
            found.rows.rows.offsets.push_back(kept);
        }
        in.finish();
        return found;
    }

private:
    KeptRows kept_;
    HashIndex names_;
};

}  // namespace

std::unique_ptr<WasmFeatures> read_templates(Reader& in) { return std::make_unique<TemplateSentences>(in); }
std::unique_ptr<WasmFeatures> read_attributes(Reader& in) { return std::make_unique<AttributeSentences>(in); }

}  // namespace dualstruct
