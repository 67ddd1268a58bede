// Names of template features, put together only when somebody asks for them.

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/index.hpp"
#include "text/extraction.hpp"
#include "text/templates.hpp"

namespace dualstruct {

class TemplateFeatures::Namer {
public:
    explicit Namer(const TemplateFeatures& features) : features_(features) {}

    std::string name(std::int32_t id) {
        const auto place = at(id);
        const std::size_t stored = features_.stored_names_.size();
        if (place < stored) return std::string(features_.stored_names_[place]);
        const Origin& origin = features_.origins_[place - stored];
        const auto token = static_cast<std::int64_t>(origin.token);
        const auto& ends = features_.table_ends_;
        const auto table = at(std::upper_bound(ends.begin(), ends.end(), token) - ends.begin());
        return name(table, token - (table == 0 ? 0 : ends[table - 1]), origin.template_number);
    }

    std::string name(std::size_t table_number, std::int64_t token, std::size_t template_number) {
        const TokenTable& table = *features_.tables_[table_number];
        const auto& sentences = table.sentences;
        const auto next = std::upper_bound(sentences.begin(), sentences.end(), token);
        const std::int64_t begin = *(next - 1), end = *next;

        const Template& feature = features_.templates_[template_number];
        std::string name = feature.literals.front(), value;
        for (std::size_t i = 0; i < feature.terms.size(); ++i) {
            const Term& term = feature.terms[i];
            const std::int64_t place = begin + position_of(term.offset, term.absolute, token - begin, end - begin);
            const Stream& stream = features_.streams_[features_.compiled_[template_number].terms[i].stream];
            if (place < begin || place >= end) {
                const Boundaries& boundaries = features_.boundaries_;
                value = place < begin ? boundaries.before_start(begin - place) : boundaries.behind_end(place - end + 1);
                if (boundaries.have_attributes) stream.attribute.compute(std::string(value), value);
            } else if (term.gazetteer >= 0) {
                value.assign(1, mark_letter(marks(table_number, term)[at(place)]));
            } else {
                stream.attribute.compute(table.cell(at(term.column), place), value);
            }
            name.append(value).append(feature.literals[i + 1]);
        }
        return name;
    }

private:
    const std::vector<std::int32_t>& marks(std::size_t table_number, const Term& term) {
        std::vector<std::int32_t>& marks = marks_[{table_number, term.column, term.gazetteer}];
        if (marks.empty()) {
            const TokenTable& table = *features_.tables_[table_number];
            marks = features_.gazetteers_[at(term.gazetteer)]->marks(table.columns[at(term.column)], table.sentences);
        }
        return marks;
    }

    const TemplateFeatures& features_;
    std::map<std::tuple<std::size_t, int, int>, std::vector<std::int32_t>> marks_;
};

// Collects which features of the tables share each of the hashed ids that are asked for.
struct TemplateFeatures::Occurrences {
    static constexpr std::size_t most = 4;  // names given for one id

    int shift;
    std::unordered_map<std::int32_t, std::vector<std::string>> names;  // [wanted id]
    HashIndex seen;
    Namer namer;
    std::size_t table = 0;

    void prefetch(std::uint64_t) const {}
    std::int32_t operator()(std::uint64_t hash, std::size_t token, std::size_t number) {
        const auto wanted = names.find(static_cast<std::int32_t>(hash >> shift));
        if (wanted != names.end() && wanted->second.size() <= most && seen.find(hash) == HashIndex::absent) {
            seen.insert(hash);
            wanted->second.push_back(namer.name(table, static_cast<std::int64_t>(token), number));
        }
        return HashIndex::absent;
    }
};

std::vector<std::string> TemplateFeatures::names(std::span<const std::int32_t> ids) const {
    const auto reading = lock_.read();
    check_named();
    const std::int64_t dimension =
        hash_bits_ > 0 ? std::int64_t{1} << hash_bits_ : static_cast<std::int64_t>(index_.size());
    for (const std::int32_t id : ids) {
        if (id < 0 || id >= dimension) throw InputError("there is no feature " + std::to_string(id));
    }
    std::vector<std::string> result;
    result.reserve(ids.size());
    if (hash_bits_ == 0) {
        Namer namer(*this);
        for (const std::int32_t id : ids) result.push_back(namer.name(id));
        return result;
    }

    Occurrences found{64 - hash_bits_, {}, {}, Namer(*this)};
    for (const std::int32_t id : ids) found.names[id];
    for (; found.table < tables_.size(); ++found.table) extract(*tables_[found.table], found);
    for (const std::int32_t id : ids) {
        const std::vector<std::string>& names = found.names[id];
        std::string& joined = result.emplace_back(names.empty() ? number_name(id) : names.front());
        for (std::size_t i = 1; i < names.size(); ++i) joined += i < Occurrences::most ? " | " + names[i] : " | ...";
    }
    return result;
}

Strings TemplateFeatures::all_names() const {
    const auto reading = lock_.read();
    check_named();
    Strings names;
    if (hash_bits_ > 0) return names;
    Namer namer(*this);
    for (std::size_t id = 0; id < index_.size(); ++id) names.push_back(namer.name(static_cast<std::int32_t>(id)));
    return names;
}

std::uint64_t TemplateFeatures::hash_of_name(std::size_t template_number, std::string_view name) const {
    if (template_number >= templates_.size()) throw InputError("features: there is no such template");
    const std::vector<std::string>& literals = templates_[template_number].literals;
    std::uint64_t hash = compiled_[template_number].identity;
    if (!name.starts_with(literals.front())) return 0;
    name.remove_prefix(literals.front().size());
    for (std::size_t i = 1; i < literals.size(); ++i) {
        const std::string_view behind = literals[i];
        const bool last = i + 1 == literals.size();
        if (last && !name.ends_with(behind)) return 0;
        const std::size_t length = last ? name.size() - behind.size() : name.find(behind);
        if (length == std::string_view::npos) return 0;
        hash = combine(hash, hash_bytes(name.substr(0, length)));
        name.remove_prefix(length + behind.size());
    }
    return name.empty() ? hash : 0;
}

std::vector<std::uint16_t> TemplateFeatures::templates_of(const Strings& names,
                                                          std::span<const std::uint64_t> hashes) const {
    std::vector<std::uint16_t> found(names.size(), no_template);
    std::size_t likely = 0;  // names of a template often follow each other
    for (std::size_t id = 0; id < names.size(); ++id) {
        for (std::size_t tried = 0; tried < templates_.size(); ++tried) {
            const std::size_t number = (likely + tried) % templates_.size();
            if (hash_of_name(number, names[id]) != hashes[id]) continue;
            likely = number;
            found[id] = static_cast<std::uint16_t>(number);
            break;
        }
    }
    return found;
}

}  // namespace dualstruct
