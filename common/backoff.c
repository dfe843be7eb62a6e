#include "common/backoff.h"

#include <limits.h>

int64_t backoff_pause_us(const struct backoff_limits *limits, unsigned failures) {
    int64_t growth_percent = limits->growth_percent ? limits->growth_percent : 100;
    int64_t pause_us = limits->first_us, more_us = 1;
    const struct clock *clock = limits->clock ? limits->clock : &clock_system;
    uint64_t most_us, draw;

    if (failures == 0)
        return 0;
    while (--failures > 0 && pause_us < limits->most_us && more_us > 0) {
        more_us = limits->step_us > 0 ? limits->step_us : pause_us * growth_percent / 100;
        pause_us += more_us;
    }
    if (pause_us > limits->most_us)
        pause_us = limits->most_us;
    most_us = (uint64_t)pause_us * limits->jitter_percent / 100;
    if (most_us == 0)
        return pause_us;
    clock->random(clock->arg, &draw, sizeof(draw));
    return pause_us - (int64_t)(draw % most_us);
}

int64_t backoff_fail(struct backoff *backoff, const struct backoff_limits *limits, int64_t now_us) {
    int64_t pause_us;

    if (backoff->failures < UINT_MAX)
        backoff->failures++;
    pause_us = backoff_pause_us(limits, backoff->failures);
    backoff->due_us = now_us + pause_us;
    return pause_us;
}

void backoff_reset(struct backoff *backoff) {
    *backoff = (struct backoff){ .failures = 0 };
}

bool backoff_waits(const struct backoff *backoff, int64_t now_us) {
    return backoff->due_us > now_us;
}
