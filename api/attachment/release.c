#include "api/attachment/release.h"

#include "common/clock.h"
#include "common/log_limit.h"

bool release_confirm(const struct release *release, const struct request *request,
                     const struct confirmation *confirmation, bool late) {
    const struct attachment *attachment = confirmation->subject;
    static struct log_limit unknown = LOG_LIMIT;
    struct error why = { .kind = ERROR_NONE };
    unsigned others;
    int uses = -1;

    if (late)
        error_set(&why, ERROR_UNAVAILABLE, "too many pending queries to the compute service");
    else
        uses = release->server_uses(release->arg, request->http->arena, attachment,
                                    request->context.request_id, &why);
    if (uses == 0)
        log_warning(&request->context.log,
                    "stale attachment deleted: the server does not use the volume", "volume_id",
                    attachment->volume_id, "attachment_id", attachment->id, "instance_uuid",
                    attachment->instance_uuid, NULL);
    if (uses < 0 &&
        log_limit_allows(&unknown, attachment->volume_id, clock_monotonic_us(), &others))
        log_warning(&request->context.log, "use of a volume by its server is unknown", "volume_id",
                    attachment->volume_id, "instance_uuid", attachment->instance_uuid, "reason",
                    why.message, "others", LOG_INT(others), NULL);
    return uses == 0;
}
