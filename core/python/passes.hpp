// What the bindings of passes share: loops over examples run without the GIL, and signals stop them.
#pragma once

#include <utility>
#include <vector>

#include "learning/passes.hpp"
#include "python/bindings.hpp"

namespace dualstruct {

template <class Pass>
PassReport run(Pass pass) {
    PassReport report;
    {
        GilReleased no_gil;
        report = pass(SignalCheck());
    }
    raise_if_signalled();
    return report;
}

template <class Measure>
Array<double> for_every_example(Measure measure) {
    std::vector<double> values;
    {
        GilReleased no_gil;
        values = measure(SignalCheck());
    }
    raise_if_signalled();
    return to_numpy(std::move(values));
}

}  // namespace dualstruct
