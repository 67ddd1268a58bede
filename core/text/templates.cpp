#include "text/templates.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/index.hpp"
#include "text/extraction.hpp"

namespace dualstruct {

TemplateFeatures::TemplateFeatures(std::vector<Template> templates, std::shared_ptr<const Clusters> clusters,
                                   std::vector<std::shared_ptr<const Gazetteer>> gazetteers, int hash_bits,
                                   Boundaries boundaries, bool of_pairs)
    : templates_(std::move(templates)), clusters_(std::move(clusters)), gazetteers_(std::move(gazetteers)),
      hash_bits_(hash_bits), boundaries_(std::move(boundaries)), of_pairs_(of_pairs) {
    if (templates_.empty() || templates_.size() > 0xFFFF)
        throw InputError("between 1 and 65535 templates are expected");
    if (hash_bits < 0 || hash_bits > 30) throw InputError("hash_bits has to be between 1 and 30");
    for (const Template& t : templates_) {
        Compiled& compiled = compiled_.emplace_back();
        compiled.identity = hash_bytes(t.identity);
        if (t.literals.size() != t.terms.size() + 1) throw InputError("a template needs text around its terms");
        for (const Term& term : t.terms) {
            if (term.column < 0 || std::abs(term.offset) > 1000) throw InputError("a term is out of range");
            if (term.gazetteer >= static_cast<int>(gazetteers_.size())) throw InputError("a gazetteer is missing");
            compiled.terms.push_back({stream_of(term), term.offset, term.absolute});
            reach_ = std::max({reach_, std::abs(term.offset), term.absolute ? 1 : 0});
        }
    }
}

std::size_t TemplateFeatures::stream_of(const Term& term) {
    const Source wanted{term.column, std::max(term.gazetteer, -1)};
    const auto found = std::find(sources_.begin(), sources_.end(), wanted);
    const auto source = at(found - sources_.begin());
    if (source == sources_.size()) sources_.push_back(wanted);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        if (streams_[i].source == source && streams_[i].attribute.functions() == term.functions) return i;
    }
    streams_.push_back({source, Attribute(term.functions, clusters_)});
    return streams_.size() - 1;
}

Rows TemplateFeatures::transform(const TokenTable& table) const {
    const auto reading = lock_.read();
    if (hash_bits_ > 0) return extract(table, HashedIds{64 - hash_bits_});
    return has_names() ? extract(table, ExactIds{index_}) : extract(table, NamelessIds{index_, known_by_});
}

std::int64_t TemplateFeatures::dimension() const {
    const auto reading = lock_.read();
    return hash_bits_ > 0 ? std::int64_t{1} << hash_bits_ : static_cast<std::int64_t>(index_.size());
}

std::int32_t TemplateFeatures::find(std::size_t template_number, std::span<const std::string> values) const {
    const auto reading = lock_.read();
    const std::uint64_t hash = hash_of(template_number, values);
    return hash_bits_ > 0 ? HashedIds{64 - hash_bits_}(hash, 0, 0) : index_.find(known_by_(hash));
}

std::uint64_t TemplateFeatures::hash_of(std::size_t template_number, std::span<const std::string> values) const {
    std::uint64_t hash = compiled_.at(template_number).identity;
    for (const std::string& value : values) hash = combine(hash, hash_bytes(value));
    return hash;
}

std::vector<std::uint64_t> TemplateFeatures::hashes() const {
    const auto reading = lock_.read();
    return known_by_.fingerprints(index_.hashes());
}

void TemplateFeatures::restore(std::span<const std::uint64_t> hashes, Strings names) {
    const auto writing = lock_.write();
    if (hash_bits_ > 0) throw InputError("hashed features have no stored ids");
    if (hashes.size() != names.size()) throw InputError("features: as many names as hashes are expected");
    HashIndex index;
    index.reserve(hashes.size());
    for (const std::uint64_t hash : hashes) index.insert(hash);
    if (index.size() != hashes.size()) throw InputError("features: a hash is there twice");
    index_ = std::move(index);
    known_by_ = KnownBy();
    stored_names_ = std::move(names);
    origins_.clear();
    tables_.clear();
    table_ends_.clear();
}

void TemplateFeatures::restore_fingerprints(std::span<const std::uint64_t> fingerprints, int bits) {
    const KnownBy known_by(bits);
    Strings none;
    none.offsets.assign(fingerprints.size() + 1, 0);
    restore(known_by.hashes(fingerprints), std::move(none));
    const auto writing = lock_.write();
    known_by_ = known_by;
}

void TemplateFeatures::check_named() const {
    if (!has_names()) refuse_nameless();
}

void TemplateFeatures::select(std::span<const std::uint8_t> keep) {
    const auto writing = lock_.write();
    if (hash_bits_ > 0) throw InputError("hashed features cannot be dropped: their ids are fixed");
    if (keep.size() != index_.size()) {
        throw InputError("select: " + std::to_string(keep.size()) + " flags for " + std::to_string(index_.size()) +
                         " features");
    }
    keep_only({keep.begin(), keep.end()});
}

void TemplateFeatures::keep_only(const std::vector<std::uint8_t>& keep) {
    HashIndex index;
    Strings names;
    std::vector<Origin> origins;
    const std::size_t stored = stored_names_.size();
    for (std::size_t id = 0; id < keep.size(); ++id) {
        if (keep[id] == 0) continue;
        index.insert(index_.hashes()[id]);
        if (id < stored) {
            names.push_back(stored_names_[id]);
        } else {
            origins.push_back(origins_[id - stored]);
        }
    }
    index_ = std::move(index);
    stored_names_ = std::move(names);
    origins_ = std::move(origins);
}

}  // namespace dualstruct
