/*
 * Failures for lack of space, by their text: programs report ENOSPC and EDQUOT as text alone.
 */
#pragma once

#include "common/error.h"

/* Has it the text of one of these errors, or of a full pool? */
bool error_is_no_space(const struct error *err);
