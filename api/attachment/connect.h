/*
 * The end of a connect operation, for the request that waited for it.
 */
#pragma once

#include "rest/request.h"

/*
 * Reads the awaited operation.  1: the backend has responded, *ret is its result; 0: the record is
 * gone.  A failure of the backend is ERROR_BACKEND; no response yet is ERROR_TRY_LATER.
 */
int connect_read_answer(struct request *request, const json_t **ret, struct error *err);
