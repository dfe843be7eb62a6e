#include "api/attachment/connect.h"

#include "operation/operation.h"

int connect_read_answer(struct request *request, const json_t **ret, struct error *err) {
    struct operation operation;
    const char *failure;
    const json_t *answer, *conflict;
    int found = operation_get(&request->work, request->wait_operation, &operation, err);

    if (found <= 0)
        return found;
    if (operation.phase != PHASE_ANSWERED || !operation.arguments)
        return error_set(err, ERROR_TRY_LATER, "The backend has not answered in time.");
    answer = operation_arguments(request->work.arena, &operation);
    if (!answer)
        return error_set(err, ERROR_INTERNAL, "The result of operation %s is not JSON.",
                         operation.id);
    failure = json_string_value(json_object_get(answer, "error"));
    conflict = json_object_get(answer, "conflict"); /* true, or false: a refusal for clients */
    if (failure)
        return error_set(err,
                         !conflict                ? ERROR_BACKEND
                         : json_is_true(conflict) ? ERROR_CONFLICT
                                                  : ERROR_BAD_REQUEST,
                         "%s", failure);
    *ret = answer;
    return 1;
}
