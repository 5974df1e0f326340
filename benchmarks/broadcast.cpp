// The yardstick: n processes that think for Exp(1) and then send a message to every other one, each with a delay of
// Exp(1); the receiver counts. One std::priority_queue of events, as one writes it by hand.
// Usage: broadcast PROCESSES BROADCASTS-PER-PROCESS; prints deliveries and CPU seconds.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <queue>
#include <random>
#include <vector>

struct Event {
    double time;
    std::int64_t number;  // of equal times, the one put in first comes first
    std::int32_t process;
    std::int32_t source;  // -1: the process has thought long enough
    bool operator<(const Event& other) const {
        return time > other.time || (time == other.time && number > other.number);
    }
};

int main(int argc, char** argv) {
    const int n = argc > 1 ? std::atoi(argv[1]) : 50;
    const int broadcasts = argc > 2 ? std::atoi(argv[2]) : 100;
    std::mt19937_64 random(1);
    std::exponential_distribution<double> exponential(1.0);
    std::vector<int> left(n, broadcasts);
    std::vector<std::int64_t> heard(n, 0);
    std::priority_queue<Event> queue;
    std::int64_t number = 0;
    const std::clock_t start = std::clock();
    for (int process = 0; process < n; ++process) queue.push({exponential(random), ++number, process, -1});
    while (!queue.empty()) {
        const Event event = queue.top();
        queue.pop();
        if (event.source >= 0) {
            ++heard[event.process];
            continue;
        }
        for (int to = 0; to < n; ++to)
            if (to != event.process) queue.push({event.time + exponential(random), ++number, to, event.process});
        if (--left[event.process] > 0) queue.push({event.time + exponential(random), ++number, event.process, -1});
    }
    const double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
    std::int64_t deliveries = 0;
    for (const std::int64_t count : heard) deliveries += count;
    std::printf("%lld %.6f\n", static_cast<long long>(deliveries), seconds);
    return 0;
}
