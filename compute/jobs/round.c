#include "compute/jobs/round.h"

#include "common/backoff.h"
#include "common/clock.h"

#define PAUSE_DOUBLED 60  /* largest growth of a pause, in first pauses */
#define PAUSE_REFUSED 300 /* pause after a refusal that only an operator can resolve */

int64_t round_pause_ms(struct round_pace *pace, enum round_end end, int64_t first_ms) {
    const struct backoff_limits pauses = { .first_us = first_ms * 1000,
                                           .most_us = first_ms * 1000 * PAUSE_DOUBLED };

    if (end == ROUND_WAITS)
        return first_ms;
    pace->tries++;
    if (end == ROUND_RETRIES_SLOWLY)
        return first_ms * PAUSE_REFUSED;
    return backoff_pause_us(&pauses, pace->tries) / 1000;
}

bool round_may_wait(struct round_pace *pace, unsigned what, int64_t most_ms) {
    int64_t now_us = clock_monotonic_us();

    if (pace->waits_since_us == 0 || pace->waits_for != what) {
        pace->waits_for = what;
        pace->waits_since_us = now_us;
    }
    return now_us - pace->waits_since_us < most_ms * 1000;
}
