// CRFsuite's model files, read where they lie: opening one costs as much as it has labels and transitions,
// a lookup what it touches. src/dualstruct/files/crfsuite.py describes the format and writes it.
//
// Every place and count is checked against the size of the file before it is believed, when the file is
// opened or when it is first needed; `check` does it for all of the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crfsuite/name_table.hpp"
#include "crfsuite/precise_chain.hpp"

namespace dualstruct::crfsuite {

// Weights of one kind, in the order of the file.
struct Features {
    std::vector<std::int32_t> sources, targets;
    std::vector<double> weights;
};

class ModelFile {
public:
    // The bytes have to outlive this; `name` is what messages call the file.
    ModelFile(std::string_view bytes, std::string name, std::int64_t max_labels);
    ModelFile(const ModelFile&) = delete;  // its parts point to each other
    ModelFile& operator=(const ModelFile&) = delete;

    const NameTable& labels() const { return labels_; }
    const NameTable& attributes() const { return attributes_; }
    std::span<const double> transitions() const { return transitions_; }       // [labels, labels], from and to
    std::vector<double> emissions(const PreciseRows& rows) const;  // [tokens, labels]

    // Throws InputError unless everything in the file agrees with everything else.
    void check() const;
    Features state_features() const;  // of a file that was checked
    Features transition_features() const;

private:
    struct Feature {
        std::uint32_t kind, source, target;
        double weight;
    };
    // Where the list of features of each source begins.
    struct References {
        std::uint64_t places;
        std::uint32_t count;
        std::string what;
    };

    std::uint64_t header(std::size_t word) const { return bytes_.word(4 * word); }
    std::uint32_t chunk(std::uint64_t begin, std::string_view mark, const std::string& what) const;
    References references(std::uint64_t begin, std::string_view mark, std::uint32_t count, std::uint32_t spare,
                          std::string what) const;
    Feature feature(std::uint64_t number) const;
    template <class Visit>
    void for_each_feature(const References& references, std::uint32_t source, std::uint32_t kind, Visit visit) const;
    void check_references(const References& references, std::uint32_t kind, std::vector<std::uint8_t>& seen) const;
    Features of_kind(std::uint32_t kind) const;

    Bytes bytes_;
    std::uint64_t features_begin_;
    std::uint32_t features_;
    NameTable labels_, attributes_;
    References label_references_, attribute_references_;
    std::vector<double> transitions_;
};

}  // namespace dualstruct::crfsuite
