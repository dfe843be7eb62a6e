#include "api/attachment/connect.h"

#include "operation/operation.h"

/* Whether it is a refusal for clients, and which one. */
static enum error_kind kind_of(const json_t *conflict) {
    if (!conflict)
        return ERROR_BACKEND;
    return json_is_true(conflict) ? ERROR_CONFLICT : ERROR_BAD_REQUEST;
}

int connect_read_answer(struct request *request, const json_t **ret, struct error *err) {
    struct operation operation;
    const char *failure;
    const json_t *answer;
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
    if (failure)
        return error_set(err, kind_of(json_object_get(answer, "conflict")), "%s", failure);
    *ret = answer;
    return 1;
}
