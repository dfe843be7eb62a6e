/*
 * How a request to give back space is shown in documents, and why it has failed: the service and
 * the nodes write these words, and drivers read them.
 */
#pragma once

#define RECLAIM_PHASE_PENDING "Pending"
#define RECLAIM_PHASE_DONE    "Done"
#define RECLAIM_PHASE_FAILED  "Failed"  /* of a config: by all that could be reached */
#define RECLAIM_PHASE_STOPPED "Stopped" /* of a config: its volume was published meanwhile */

#define RECLAIM_REASON_UNSUPPORTED "unsupported" /* by the file system */
#define RECLAIM_REASON_FAILED      "failed"
#define RECLAIM_REASON_AWAY        "away" /* of a config: no replica could be reached */
