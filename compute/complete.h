/*
 * The report that an extend has ended on the hypervisor: os-extend_volume_completion.
 */
#pragma once

#include "client/volumes.h"

enum complete_outcome {
    /* the API does not let us (401, 403, 406): repeat slowly; err says why */
    COMPLETE_REFUSED = -2,
    COMPLETE_FAILED = -1,  /* no answer, or one that settles nothing: repeat; err says why */
    COMPLETE_TAKEN = 0,    /* 202 */
    COMPLETE_UNWANTED = 1, /* 400 or 404: nobody waits for it any more, or for another extend's */
};

/* `extend` is what the API has called the extend that ended; NULL: nothing. */
enum complete_outcome complete_extend(const struct volume_api *api, struct arena *arena,
                                      const char *volume_id, const char *request_id,
                                      const char *extend, bool failed, struct error *err);

/* Is it a fault of configuration, which only an operator can end? Then a repetition may be slow. */
bool complete_is_refusal(enum error_kind kind);
