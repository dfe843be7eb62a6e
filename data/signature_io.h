/*
 * A filter that verifies the signature of all bytes while they are read once, in order.  It reports
 * no zeros, so that a reader reads everything; it is not writable.
 */
#pragma once

#include "data/signature.h"
#include "data/volume_io.h"

/*
 * Owns both.  The read of the last bytes fails with ERROR_BACKEND, after refused(arg),
 * unless the signature is theirs, and any read in another order with ERROR_BAD_REQUEST.
 */
struct volume_io *signature_io_open(struct volume_io *next, struct signature *signature,
                                    void (*refused)(void *arg), void *arg);
