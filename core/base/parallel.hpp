// Work on several threads: ranges of 0 … n−1, one per thread, and phases that all threads enter together.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "base/index.hpp"
#include "base/pool.hpp"

namespace dualstruct {

// Rethrows the first exception, by number of range or member.
inline void rethrow_first(const std::vector<std::exception_ptr>& failures) {
    for (const auto& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

// Splits 0 … n−1 into `threads` contiguous ranges and waits for all of them: work(begin, end, range). The caller does
// range 0, and others as everybody else does who has nothing to do: what the ranges are depends neither on timing
// nor on how many threads there are. The first exception of any range is thrown again here.
template <class Work>
void for_each_range(std::int64_t n, int threads, Work work) {
    const int ranges = static_cast<int>(std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(n, 1)));
    if (ranges == 1) {
        work(std::int64_t{0}, n, 0);
        return;
    }
    std::vector<std::exception_ptr> failures(at(ranges));
    std::atomic<int> next{1};
    const auto guarded = [&](int range) {
        try {
            work(n * range / ranges, n * (range + 1) / ranges, range);
        } catch (...) {
            failures[at(range)] = std::current_exception();
        }
    };
    const std::function<void(int)> help = [&](int) {
        for (int range = next++; range < ranges; range = next++) guarded(range);
    };
    {
        LentThreads others(std::min(ranges, most_threads()) - 1, help);
        guarded(0);
        help(0);
        others.recall();
    }
    rethrow_first(failures);
}

// Where `members` threads wait for each other, as often as they like. Those that come early look a while before they
// sleep: phases can be shorter than it takes to wake somebody.
class MeetingPoint {
public:
    explicit MeetingPoint(int members) : members_(members) {}
    void arrive_and_wait() {
        const std::uint32_t meeting = meeting_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
            arrived_.store(0, std::memory_order_relaxed);
            meeting_.store(meeting + 1, std::memory_order_release);
            meeting_.notify_all();
            return;
        }
        for (int look = 0; look < 20000; ++look) {
            if (meeting_.load(std::memory_order_acquire) != meeting) return;
        }
        meeting_.wait(meeting, std::memory_order_acquire);
    }

private:
    const int members_;
    std::atomic<int> arrived_{0};
    std::atomic<std::uint32_t> meeting_{0};
};

// work(phase, member, members) by every member of a team of up to `threads`; nobody enters a phase before
// all have left the one before. After an exception the phases that follow are empty, and it is thrown
// again here.
template <class Work>
void for_each_phase(std::int64_t phases, int threads, Work work) {
    const int members = std::clamp(threads, 1, most_threads());
    MeetingPoint phase_end(members);
    std::vector<std::exception_ptr> failures(at(members));
    std::atomic<bool> failed{false};
    const std::function<void(int)> take_part = [&](int member) {
        for (std::int64_t phase = 0; phase < phases; ++phase) {
            try {
                if (!failed) work(phase, member, members);
            } catch (...) {
                failures[at(member)] = std::current_exception();
                failed = true;
            }
            phase_end.arrive_and_wait();
        }
    };
    {
        const LentThreads others(members - 1, take_part);
        take_part(0);
    }
    rethrow_first(failures);
}

}  // namespace dualstruct
