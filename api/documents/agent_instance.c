#include "api/documents/agent_instance.h"

#include "common/clock.h"
#include "common/scoria_headers.h"
#include "declared/replica_pool.h"
#include "http/exchange.h"

int agent_instance(const struct request *request, const char **ret, struct error *err) {
    const char *instance = http_header(request->http, INSTANCE_HEADER);

    if (instance && !uuid_is_canonical(instance))
        return error_set(err, ERROR_BAD_REQUEST, INSTANCE_HEADER ": %.64s is not a UUID.",
                         instance);
    *ret = instance;
    return 0;
}

int agent_instance_check(struct request *request, const char *node, struct error *err) {
    const char *instance;

    return agent_instance(request, &instance, err) < 0
               ? -1
               : replica_pool_check_instance(&request->work, node, instance, err);
}
