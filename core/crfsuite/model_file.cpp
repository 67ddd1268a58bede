#include "crfsuite/model_file.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_set>

#include "base/errors.hpp"

namespace dualstruct::crfsuite {

namespace {

constexpr std::uint64_t header_size = 48, chunk_header = 12, feature_size = 20;
constexpr std::uint32_t state = 0, transition = 1, known_version = 100;

// The file, if its header is believed.
Bytes opened(std::string_view data, std::string name, std::int64_t max_labels) {
    Bytes bytes(data, std::move(name));
    if (!data.starts_with("lCRF")) throw InputError(bytes.name() + " is not a CRFsuite model");
    if (data.size() < header_size) bytes.damaged("it ends within its header");
    if (bytes.text(8, 4) != "FOMC" || bytes.word(12) != known_version) {
        throw InputError(bytes.name() + " is a CRFsuite model of an unknown kind or version");
    }
    if (bytes.word(4) != data.size()) {
        bytes.damaged("it should have " + std::to_string(bytes.word(4)) + " bytes and has " +
                      std::to_string(data.size()));
    }
    const std::uint32_t labels = bytes.word(20);
    if (labels > max_labels) {
        bytes.damaged(std::to_string(labels) + " labels; at most " + std::to_string(max_labels) + " are possible");
    }
    return bytes;
}

}  // namespace

ModelFile::ModelFile(std::string_view bytes, std::string name, std::int64_t max_labels)
    : bytes_(opened(bytes, std::move(name), max_labels)), features_begin_(header(7) + chunk_header),
      features_(chunk(header(7), "FEAT", "features")),
      labels_(bytes_, header(8), static_cast<std::uint32_t>(header(5)), "label"),
      attributes_(bytes_, header(9), static_cast<std::uint32_t>(header(6)), "attribute"),
      // Older versions of CRFsuite leave out the two places of the start and the end.
      label_references_(references(header(10), "LFRF", labels_.size(), 2, "references of labels")),
      attribute_references_(references(header(11), "AFRF", attributes_.size(), 0, "references of attributes")) {
    if (!bytes_.has(features_begin_, feature_size * features_)) bytes_.damaged("it ends within the features");
    std::unordered_set<std::string_view> names;
    for (std::uint32_t k = 0; k < labels_.size(); ++k) {
        if (!names.insert(labels_[k]).second) bytes_.damaged("two labels have the same name");
    }
    const std::size_t K = labels_.size();
    transitions_.assign(K * K, 0.0);
    std::vector<std::uint8_t> is_there(K);
    for (std::uint32_t from = 0; from < K; ++from) {
        std::ranges::fill(is_there, 0);
        for_each_feature(label_references_, from, transition, [&](const Feature& f, std::uint64_t) {
            if (is_there[f.target]++ != 0) bytes_.damaged("a transition is there twice");
            transitions_[from * K + f.target] = f.weight;
        });
    }
}

// How many entries the chunk has that begins here.
std::uint32_t ModelFile::chunk(std::uint64_t begin, std::string_view mark, const std::string& what) const {
    if (!bytes_.has(begin, chunk_header)) bytes_.damaged("it ends before the " + what);
    if (bytes_.text(begin, 4) != mark) bytes_.damaged("there are no " + what + " where they should be");
    return bytes_.word(begin + 8);
}

ModelFile::References ModelFile::references(std::uint64_t begin, std::string_view mark, std::uint32_t count,
                                            std::uint32_t spare, std::string what) const {
    const std::uint32_t found = chunk(begin, mark, what);
    if (found != count && found != count + std::uint64_t{spare}) {
        bytes_.damaged("the " + what + " are not " + std::to_string(count));
    }
    if (!bytes_.has(begin + chunk_header, 4 * std::uint64_t{count})) bytes_.damaged("it ends within the " + what);
    return {begin + chunk_header, count, std::move(what)};
}

ModelFile::Feature ModelFile::feature(std::uint64_t number) const {
    const std::uint64_t at = features_begin_ + feature_size * number;
    return {bytes_.word(at), bytes_.word(at + 4), bytes_.word(at + 8), bytes_.number(at + 12)};
}

// Calls visit(feature, its number) for the features of a source, all of them checked.
template <class Visit>
void ModelFile::for_each_feature(const References& references, std::uint32_t source, std::uint32_t kind,
                                 Visit visit) const {
    const std::uint64_t list = bytes_.word(references.places + 4 * std::uint64_t{source});
    if (!bytes_.has(list, 4)) bytes_.damaged("it ends within the " + references.what);
    const std::uint64_t length = bytes_.word(list);
    if (length > features_) bytes_.damaged("the " + references.what + " have too many features");
    if (!bytes_.has(list + 4, 4 * length)) bytes_.damaged("it ends within the " + references.what);
    for (std::uint64_t k = 0; k < length; ++k) {
        const std::uint32_t number = bytes_.word(list + 4 + 4 * k);
        if (number >= features_) bytes_.damaged("the " + references.what + " contradict the features");
        const Feature f = feature(number);
        if (f.kind != kind || f.source != source) bytes_.damaged("the " + references.what + " contradict the features");
        if (f.target >= labels_.size()) bytes_.damaged("a feature points to no label");
        if (!std::isfinite(f.weight)) bytes_.damaged("a weight is not a number");
        visit(f, number);
    }
}

std::vector<double> ModelFile::emissions(const PreciseRows& rows) const {
    check_rows(rows, attributes_.size());
    const std::size_t K = labels_.size(), T = rows.offsets.size() - 1;
    std::vector<double> result(T * K);
    for (std::size_t t = 0; t < T; ++t) {
        double* const row = result.data() + t * K;
        for (std::int64_t at = rows.offsets[t]; at < rows.offsets[t + 1]; ++at) {
            const double value = rows.values.empty() ? 1.0 : rows.values[at];
            for_each_feature(attribute_references_, static_cast<std::uint32_t>(rows.attributes[at]), state,
                             [&](const Feature& f, std::uint64_t) { row[f.target] += f.weight * value; });
        }
    }
    return result;
}

void ModelFile::check_references(const References& references, std::uint32_t kind,
                                 std::vector<std::uint8_t>& seen) const {
    for (std::uint32_t source = 0; source < references.count; ++source) {
        for_each_feature(references, source, kind, [&](const Feature&, std::uint64_t number) {
            if (seen[number]++ != 0) bytes_.damaged("the " + references.what + " contradict the features");
        });
    }
}

void ModelFile::check() const {
    labels_.check();
    attributes_.check();
    std::vector<std::uint8_t> seen(features_);
    check_references(label_references_, transition, seen);
    check_references(attribute_references_, state, seen);
    if (!std::ranges::all_of(seen, [](std::uint8_t s) { return s != 0; })) {
        bytes_.damaged("a feature is not among the references");
    }
}

Features ModelFile::of_kind(std::uint32_t kind) const {
    Features found;
    for (std::uint64_t number = 0; number < features_; ++number) {
        const Feature f = feature(number);
        if (f.kind != kind) continue;
        found.sources.push_back(static_cast<std::int32_t>(f.source));
        found.targets.push_back(static_cast<std::int32_t>(f.target));
        found.weights.push_back(f.weight);
    }
    return found;
}

Features ModelFile::state_features() const { return of_kind(state); }
Features ModelFile::transition_features() const { return of_kind(transition); }

}  // namespace dualstruct::crfsuite
