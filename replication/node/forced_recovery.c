#include "replication/node/forced_recovery.h"

/* clang-format off */

static const char *const names[] = {
    [FORCED_UNKNOWN] = "Unknown",
    [FORCED_ABLE] = "Able",
    [FORCED_REFUSED] = "Refused",
    [FORCED_DONE] = "Done",
};

static const char *const events[] = {
    [FORCED_REQUESTED] = "another request",
    [FORCED_REPLICA_FIT] = "no quorum, replica complete",
    [FORCED_REPLICA_FLAW] = "no quorum, replica incomplete",
    [FORCED_HAS_QUORUM] = "there is a quorum",
    [FORCED_SERVED] = "served as confirmed",
    [FORCED_CLOSED] = "target closed",
    [FORCED_CLOSED_REQUESTED] = "target closed, request open",
};

static const char *const actions[] = { [FORCED_WAIT] = "-", [FORCED_REPORT] = "report" };

static const struct state_row rows[] = {
    { FORCED_UNKNOWN, FORCED_REQUESTED, FORCED_UNKNOWN, FORCED_WAIT,
      "The request is evaluated; the volume is not exported." },
    { FORCED_UNKNOWN, FORCED_REPLICA_FIT, FORCED_ABLE, FORCED_REPORT,
      "The volume can be recovered from this replica; the request waits for its confirmation." },
    { FORCED_UNKNOWN, FORCED_REPLICA_FLAW, FORCED_REFUSED, FORCED_REPORT,
      "The replica cannot be used." },
    { FORCED_UNKNOWN, FORCED_HAS_QUORUM, FORCED_REFUSED, FORCED_REPORT,
      "The volume has a quorum and needs no recovery." },
    { FORCED_UNKNOWN, FORCED_SERVED, FORCED_DONE, FORCED_REPORT,
      "The volume is served from this replica; the others are rebuilt." },
    { FORCED_UNKNOWN, FORCED_CLOSED, FORCED_UNKNOWN, FORCED_WAIT, "There is no request." },
    { FORCED_UNKNOWN, FORCED_CLOSED_REQUESTED, FORCED_UNKNOWN, FORCED_WAIT,
      "The request is evaluated; the volume is not exported." },

    { FORCED_ABLE, FORCED_REQUESTED, FORCED_UNKNOWN, FORCED_WAIT,
      "The request is evaluated; the volume is not exported." },
    { FORCED_ABLE, FORCED_CLOSED, FORCED_UNKNOWN, FORCED_WAIT,
      "The request was confirmed or withdrawn." },
    { FORCED_ABLE, FORCED_CLOSED_REQUESTED, FORCED_UNKNOWN, FORCED_WAIT,
      "The request is evaluated again." },

    { FORCED_REFUSED, FORCED_REQUESTED, FORCED_UNKNOWN, FORCED_WAIT,
      "The request is evaluated; the volume is not exported." },
    { FORCED_REFUSED, FORCED_CLOSED, FORCED_UNKNOWN, FORCED_WAIT, "The request was withdrawn." },
    { FORCED_REFUSED, FORCED_CLOSED_REQUESTED, FORCED_REFUSED, FORCED_REPORT,
      "The request stays refused: it does not apply to a later loss." },

    { FORCED_DONE, FORCED_REQUESTED, FORCED_UNKNOWN, FORCED_WAIT,
      "The request is evaluated; the volume is not exported." },
    { FORCED_DONE, FORCED_CLOSED, FORCED_UNKNOWN, FORCED_WAIT, "The volume is not served any more." },
    { FORCED_DONE, FORCED_CLOSED_REQUESTED, FORCED_UNKNOWN, FORCED_WAIT,
      "The request is evaluated again." },
};
static atomic_uint reached[LENGTH(rows)];

const struct state_table forced_states = STATE_TABLE("forced recovery, as its node finds it",
    FORCED_UNKNOWN, names, events, actions, rows, reached);
