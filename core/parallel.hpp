// Splits 0 … n−1 into contiguous ranges, one a thread, and waits for all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace dualstruct {

// work(begin, end, thread); the first exception of any range is thrown again here. Where the
// system gives no more threads, the caller does the work.
template <class Work>
void for_each_range(std::int64_t n, int threads, Work work) {
    threads = static_cast<int>(std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(n, 1)));
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(threads));
    auto guarded = [&](int thread) {
        try {
            work(n * thread / threads, n * (thread + 1) / threads, thread);
        } catch (...) {
            failures[static_cast<std::size_t>(thread)] = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    others.reserve(static_cast<std::size_t>(threads));
    int started = 1;
    try {
        for (; started < threads; ++started) others.emplace_back(guarded, started);
    } catch (const std::system_error&) {
    }
    guarded(0);
    for (int thread = started; thread < threads; ++thread) guarded(thread);
    for (auto& other : others) other.join();
    for (auto& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

}  // namespace dualstruct
