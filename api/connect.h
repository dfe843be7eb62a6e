/*
 * The end of a connect operation, as the request that waited for it sees it.
 */
#pragma once

#include "api/request.h"

/*
 * Reads the operation that the request waited for.  1: the backend has answered, *ret is its
 * answer; 0: the record is gone.  The backend's failure is ERROR_BACKEND; no answer yet is
 * ERROR_TRY_LATER.
 */
int connect_read_answer(struct request *request, const json_t **ret, struct error *err);
