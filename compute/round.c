#include "compute/round.h"

#include "common/clock.h"

#define PAUSE_DOUBLED 60  /* most growth of a pause, in first pauses */
#define PAUSE_REFUSED 300 /* pause after a refusal that only an operator can end */

int64_t round_pause_ms(struct round_pace *pace, enum round_end end, int64_t first_ms) {
    int64_t doubled = INT64_C(1) << (pace->tries < 16 ? pace->tries : 16);

    if (end == ROUND_WAITS)
        return first_ms;
    pace->tries++;
    if (end == ROUND_RETRIES_SLOWLY)
        return first_ms * PAUSE_REFUSED;
    return first_ms * (doubled < PAUSE_DOUBLED ? doubled : PAUSE_DOUBLED);
}

bool round_may_wait(struct round_pace *pace, unsigned what, int64_t most_ms) {
    int64_t now_us = clock_monotonic_us();

    if (pace->waits_since_us == 0 || pace->waits_for != what) {
        pace->waits_for = what;
        pace->waits_since_us = now_us;
    }
    return now_us - pace->waits_since_us < most_ms * 1000;
}
