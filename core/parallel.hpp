// Work on several threads: ranges of 0 … n−1, one a thread, and phases that all threads enter together.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace dualstruct {

// Splits 0 … n−1 into contiguous ranges and waits for all of them: work(begin, end, thread). The first exception of
// any range is thrown again here. Where the system gives no more threads, the caller does the work.
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
// again here. Where the system gives no more threads, the team is smaller.
template <class Work>
void for_each_phase(std::int64_t phases, int threads, Work work) {
    std::atomic<int> members{0};  // not known before all are there
    std::optional<MeetingPoint> phase_end;
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(threads));
    std::atomic<bool> failed{false};
    auto take_part = [&](int member) {
        members.wait(0);
        for (std::int64_t phase = 0; phase < phases; ++phase) {
            try {
                if (!failed) work(phase, member, members.load());
            } catch (...) {
                failures[static_cast<std::size_t>(member)] = std::current_exception();
                failed = true;
            }
            phase_end->arrive_and_wait();
        }
    };
    std::vector<std::thread> others;
    others.reserve(static_cast<std::size_t>(threads));
    try {
        for (int member = 1; member < threads; ++member) others.emplace_back(take_part, member);
    } catch (const std::system_error&) {
    }
    const int started = static_cast<int>(others.size()) + 1;
    phase_end.emplace(started);
    members = started;
    members.notify_all();
    take_part(0);
    for (auto& other : others) other.join();
    for (auto& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

}  // namespace dualstruct
