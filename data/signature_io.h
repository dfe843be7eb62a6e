/*
 * A filter that verifies the signature of all bytes while they are read once, in order.  It reports
 * no zeros, so that a reader reads everything; it is not writable.
 */
#pragma once

#include "data/signature.h"
#include "data/volume_io.h"

/*
 * Owns both.  checked(arg) is called when the last bytes are read, which fails with ERROR_BACKEND
 * unless the signature is theirs.  Any read in another order fails with ERROR_BAD_REQUEST.
 */
struct volume_io *signature_io_open(struct volume_io *next, struct signature *signature,
                                    void (*checked)(void *arg, bool valid), void *arg);
