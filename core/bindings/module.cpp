// The Python module dualstruct._core: each part of the core binds itself.

#include "bindings/bindings.hpp"

NB_MODULE(_core, m) {
    dualstruct::bind_text(m);
    dualstruct::bind_structures(m);
    dualstruct::bind_chains(m);
    dualstruct::bind_precise_chains(m);
    dualstruct::bind_graphs(m);
    dualstruct::bind_tree_structure(m);
    dualstruct::bind_learning(m);
    dualstruct::bind_trees(m);
    dualstruct::bind_custom(m);
}
