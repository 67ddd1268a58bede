// The Python module dualstruct._core: each part of the core binds itself.

#include "bindings/bindings.hpp"

NB_MODULE(_core, m) {
#ifndef __SANITIZE_ADDRESS__
    // Objects that Python keeps to the end (a cache, a test's module) are no fault of a user's program.
    nanobind::set_leak_warnings(false);
#endif
    dualstruct::bind_text(m);
    dualstruct::bind_structures(m);
    dualstruct::bind_chains(m);
    dualstruct::bind_precise_chains(m);
    dualstruct::bind_crfsuite(m);
    dualstruct::bind_graphs(m);
    dualstruct::bind_tree_structure(m);
    dualstruct::bind_learning(m);
    dualstruct::bind_trees(m);
    dualstruct::bind_custom(m);
}
