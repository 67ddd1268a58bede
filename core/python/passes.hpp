// What the bindings of passes share: loops over examples run without the GIL, and signals stop them.
#pragma once

#include "learning/passes.hpp"
#include "python/bindings.hpp"

namespace dualstruct {

// What the pass returns: a report, a loss, a number for every example.
template <class Pass>
auto run(Pass pass) {
    auto result = without_gil([&] { return pass(SignalCheck()); });
    raise_if_signalled();
    return result;
}

template <class Measure>
Array<double> for_every_example(Measure measure) {
    return to_numpy(run(measure));
}

}  // namespace dualstruct
