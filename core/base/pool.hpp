// The threads of this process, started once and lent to one call after the other.
//
// They are never joined: they sleep while nobody needs them and end with the process. A child of fork has none and
// starts its own.
#pragma once

#include <functional>
#include <vector>

namespace dualstruct {

// More threads than this are never used at once for one call: 4 a core, and at least 16.
int most_threads();

class PoolThread;

// Some of the process's threads, for as long as this lives. All of them are there, or a ResourceError says why not.
class LentThreads {
public:
    // Threads 1 … count call work(thread), which must not throw and must outlive this.
    LentThreads(int count, const std::function<void(int)>& work);
    LentThreads(const LentThreads&) = delete;
    // Waits until all are done.
    ~LentThreads();

    // There is nothing left to do: those that have not begun stay asleep.
    void recall();

private:
    std::vector<PoolThread*> lent_;
};

// How many threads of the pool exist, at work or asleep.
int pool_size();

}  // namespace dualstruct
