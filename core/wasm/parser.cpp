#include "wasm/parser.hpp"

#include <string>
#include <utility>

#include "base/index.hpp"
#include "text/hash.hpp"

namespace dualstruct {

namespace {

// Weights that are not 0, by place.
FloatBuffer read_places(Reader& in, std::int64_t size) {
    FloatBuffer w = allocate_floats(at(size));
    const auto places = in.array<std::uint32_t>();
    const auto values = in.array<float>();
    if (places.size() != values.size()) throw InputError("the weights of the exported model are damaged");
    for (std::size_t k = 0; k < places.size(); ++k) {
        if (places[k] >= size) throw InputError("the weights of the exported model are damaged");
        w[places[k]] = values[k];
    }
    return w;
}

std::shared_ptr<TokenTable> no_sentences(std::size_t columns) {
    auto table = std::make_shared<TokenTable>();
    table->columns.resize(columns);
    return table;
}

}  // namespace

WasmParser::WasmParser(Reader& in) : columns_(at(in.number())) {
    for (int& place : places_) place = in.small();
    if (in.flag()) {
        const auto words = in.array<std::uint64_t>();
        const auto path_of = in.array<std::int32_t>();
        const std::string_view bytes = in.text();
        clusters_.emplace(words, path_of, Strings{std::string(bytes), in.copy<std::int64_t>()});
    }
    for (std::int64_t n = in.number(); n > 0; --n) between_.push_back(hash_bytes(in.text()));
    labels_ = in.small();
    line_bits_ = in.small();
    label_bits_ = in.small();
    options_.projective = in.flag();
    options_.single_root = in.flag();
    if (labels_ < 1 || labels_ > Tree::max_labels || line_bits_ < 4 || line_bits_ > 28 || label_bits_ < 4 ||
        label_bits_ > 28) {
        throw InputError("this is no exported model, or it is damaged");
    }
    const auto empty = tree(no_sentences(columns_ + (clusters_ ? 1 : 0)));
    if (in.flag()) {
        second_.emplace();
        second_->options.grandparents = in.flag();
        second_->bits = in.small();
        second_->pruning.most_heads = in.small();
        second_->pruning.threshold = in.array<float>()[0];
        second_->pruner = read_places(in, empty->dimension());
    }
    w_ = read_places(in, second_ ? pruned(empty)->dimension() : empty->dimension());
}

std::shared_ptr<const Tree> WasmParser::tree(std::shared_ptr<const TokenTable> table) const {
    const TreeColumns columns{places_[0], places_[1], places_[2], places_[3], places_[4], places_[5]};
    return std::make_shared<Tree>(ArcFeatures(std::move(table), columns, between_, labels_, line_bits_, label_bits_),
                                  std::vector<std::int32_t>(), std::vector<std::int32_t>(), options_);
}

std::unique_ptr<SecondOrderTree> WasmParser::pruned(std::shared_ptr<const Tree> tree) const {
    trees::PruningReport report;
    KeptArcs kept = prune(*tree, second_->pruner.get(), second_->pruning, 1, false, report, [] { return false; });
    return std::make_unique<SecondOrderTree>(std::move(tree), std::move(kept), second_->bits, second_->options);
}

const std::vector<std::int32_t>& WasmParser::parse(Input& in) {
    for (const std::uint32_t n : in.sentences()) {
        if (n > Tree::max_words) {
            throw InputError("a sentence has " + std::to_string(n) + " words; trees take at most " +
                             std::to_string(Tree::max_words) + ", because memory grows with the square");
        }
    }
    auto table = std::make_shared<TokenTable>(table_of(in, columns_));
    if (clusters_) {
        TokenTable::Column paths;
        const TokenTable::Column& forms = table->columns[at(places_[0])];
        for (const std::int32_t id : forms.ids) {
            const std::string_view path = clusters_->path(forms.types.hash(at(id)));
            paths.ids.push_back(paths.types.intern(path.empty() ? "_" : path));
        }
        table->columns.push_back(std::move(paths));
    }
    std::shared_ptr<const Structure> structure = tree(table);
    if (second_) structure = pruned(std::static_pointer_cast<const Tree>(structure));
    const auto scratch = structure->make_scratch();
    found_.clear();
    for (std::int64_t i = 0; i < structure->size(); ++i) {
        structure->decode(w_.get(), i, 0, *scratch);
        found_.insert(found_.end(), scratch->output.begin(), scratch->output.end());
    }
    return found_;
}

}  // namespace dualstruct
