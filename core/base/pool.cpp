#include "base/pool.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "base/errors.hpp"
#include "base/index.hpp"

#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
#endif

namespace dualstruct {

namespace {

#ifdef _WIN32
struct SignalsBlocked {};
struct SignalsAllowed {};
#else
class SignalMask {
public:
    explicit SignalMask(const sigset_t& blocked) { pthread_sigmask(SIG_SETMASK, &blocked, &before_); }
    SignalMask(const SignalMask&) = delete;
    ~SignalMask() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

// A thread that sleeps hears no signals: they are to wake those that wait for them. One that works hears all, for
// what it starts (a user's decoder may run a program) inherits what is blocked.
struct SignalsBlocked : SignalMask {
    SignalsBlocked() : SignalMask(all()) {}
    static sigset_t all() {
        sigset_t set;
        sigfillset(&set);
        return set;
    }
};
struct SignalsAllowed : SignalMask {
    SignalsAllowed() : SignalMask(none()) {}
    static sigset_t none() {
        sigset_t set;
        sigemptyset(&set);
        return set;
    }
};
#endif

}  // namespace

// One thread that waits for work.
class PoolThread {
public:
    void offer(const std::function<void(int)>& work, int number) {
        work_ = &work;
        number_ = number;
        state_.store(offered, std::memory_order_release);
        state_.notify_all();
    }

    // Takes an offer back, unless work has begun.
    void recall() {
        std::uint32_t expected = offered;
        state_.compare_exchange_strong(expected, idle, std::memory_order_acq_rel);
    }

    void await() const {
        for (std::uint32_t now = state_.load(std::memory_order_acquire); now != idle;
             now = state_.load(std::memory_order_acquire)) {
            state_.wait(now, std::memory_order_acquire);
        }
    }

    [[noreturn]] void live() {
        for (;;) {
            state_.wait(idle, std::memory_order_acquire);
            std::uint32_t expected = offered;
            if (!state_.compare_exchange_strong(expected, working, std::memory_order_acq_rel)) continue;
            {
                [[maybe_unused]] const SignalsAllowed allowed;
                (*work_)(number_);
            }
            state_.store(idle, std::memory_order_release);
            state_.notify_all();
        }
    }

private:
    static constexpr std::uint32_t idle = 0, offered = 1, working = 2;
    std::atomic<std::uint32_t> state_{idle};
    const std::function<void(int)>* work_ = nullptr;
    int number_ = 0;
};

namespace {

class Pool {
public:
    // Never destroyed: its threads outlive main's static objects.
    static Pool& of_process() {
        static Pool& pool = *new Pool;
        return pool;
    }

    std::vector<PoolThread*> take(int count) {
        const std::lock_guard lock(mutex_);
        while (static_cast<int>(asleep_.size()) < count) start(count);
        std::vector<PoolThread*> taken(asleep_.end() - count, asleep_.end());
        asleep_.resize(asleep_.size() - taken.size());
        return taken;
    }

    void give_back(const std::vector<PoolThread*>& threads) {
        const std::lock_guard lock(mutex_);
        // The order of before, so that calls in a row find the same threads for the same ranges.
        asleep_.insert(asleep_.end(), threads.begin(), threads.end());
    }

    int size() {
        const std::lock_guard lock(mutex_);
        return started_;
    }

private:
    Pool() {
#ifndef _WIN32
        pthread_atfork([] { of_process().mutex_.lock(); }, [] { of_process().mutex_.unlock(); },
                       [] { of_process().forget(); });
#endif
    }

    void start(int wanted) {
        asleep_.reserve(at(started_) + 1);  // so that giving back never allocates
        auto made = std::make_unique<PoolThread>();
        try {
            [[maybe_unused]] const SignalsBlocked blocked;  // which the thread inherits
            std::thread([thread = made.get()] { thread->live(); }).detach();
        } catch (const std::system_error& problem) {
            throw ResourceError("the system starts no more threads (" + problem.code().message() + "); " +
                                std::to_string(wanted + 1) + " are expected here: ask for fewer");
        }
        asleep_.push_back(made.release());
        ++started_;
    }

    // In the child of a fork, where nobody but the caller exists. What the threads of the parent had is left alone.
    void forget() {
        asleep_.clear();
        started_ = 0;
        mutex_.unlock();
    }

    std::mutex mutex_;
    std::vector<PoolThread*> asleep_;
    int started_ = 0;
};

}  // namespace

int most_threads() {
    static const int most = std::max(16, 4 * static_cast<int>(std::thread::hardware_concurrency()));
    return most;
}

int pool_size() { return Pool::of_process().size(); }

LentThreads::LentThreads(int count, const std::function<void(int)>& work) : lent_(Pool::of_process().take(count)) {
    int number = 1;
    for (PoolThread* thread : lent_) thread->offer(work, number++);
}

LentThreads::~LentThreads() {
    for (const PoolThread* thread : lent_) thread->await();
    Pool::of_process().give_back(lent_);
}

void LentThreads::recall() {
    for (PoolThread* thread : lent_) thread->recall();
}

}  // namespace dualstruct
