// The Python module dualstruct._core: each part of the core binds itself.

#include "python/bindings.hpp"

#include "base/errors.hpp"

namespace {

void set_error(const char* name, const std::exception& problem) {
    const auto kind = nanobind::module_::import_("dualstruct.errors").attr(name);
    PyErr_SetString(kind.ptr(), problem.what());
}

}  // namespace

NB_MODULE(_core, m) {
#ifndef __SANITIZE_ADDRESS__
    // Objects that Python keeps to the end (a cache, a test's module) are no fault of a user's program.
    nanobind::set_leak_warnings(false);
#endif
    // Bad input is one kind of error everywhere, whether Python or the core found it.
    nanobind::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const dualstruct::InputError& problem) {
            set_error("InputError", problem);
        } catch (const dualstruct::DivergedError& problem) {
            set_error("DivergedError", problem);
        } catch (const dualstruct::ResourceError& problem) {
            set_error("ResourceError", problem);
        }
    });
    dualstruct::bind_text(m);
    dualstruct::bind_tokenizer(m);
    dualstruct::bind_clusters(m);
    dualstruct::bind_derived_columns(m);
    dualstruct::bind_files(m);
    dualstruct::bind_structures(m);
    dualstruct::bind_chains(m);
    dualstruct::bind_precise_chains(m);
    dualstruct::bind_crfsuite(m);
    dualstruct::bind_graphs(m);
    dualstruct::bind_tree_structure(m);
    dualstruct::bind_passes(m);
    dualstruct::bind_duals(m);
    dualstruct::bind_planes(m);
    dualstruct::bind_online(m);
    dualstruct::bind_gradients(m);
    dualstruct::bind_packing(m);
    dualstruct::bind_trees(m);
    dualstruct::bind_custom(m);
}
