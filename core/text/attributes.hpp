// What templates can say about a word: its lower case, affixes, shape and so on. All are
// functions of the word alone, so they are computed once per distinct word.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/clusters.hpp"
#include "text/regex.hpp"

namespace dualstruct {

struct Function {
    enum Kind { lower, digits, prefix, suffix, shape, short_shape, kind, cluster, match, test };
    Kind what;
    int length = 0;    // of a prefix or suffix in code points; of a cluster path, 0 for all of it
    Regex regex = {};  // of match (what it finds, "" if nothing) and test ("true" or "false")
    bool operator==(const Function&) const = default;
};

void append_lower(std::string& out, std::string_view word);

// Functions applied one after the other, the innermost first. Without any, the word itself.
class Attribute {
public:
    Attribute(std::vector<Function> functions, std::shared_ptr<const Clusters> clusters)
        : functions_(std::move(functions)), clusters_(std::move(clusters)) {}

    // Writes the value to `value`; false if the word has none (too short for the affix,
    // in no cluster).
    bool compute(std::string_view word, std::string& value) const;

    const std::vector<Function>& functions() const { return functions_; }

private:
    std::vector<Function> functions_;
    std::shared_ptr<const Clusters> clusters_;
};

}  // namespace dualstruct
