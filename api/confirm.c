#include "api/confirm.h"

#include "common/assert.h"
#include "common/clock.h"
#include "common/log_limit.h"

/* The subject is an attachment; true: its server does not use it. */
static bool release_confirm(const struct release *release, const struct request *request,
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

bool api_confirm(void *arg, const struct request *request, struct confirmation *confirmation,
                 bool late, struct error *refusal) {
    const struct confirm *confirm = arg;

    switch (confirmation->kind) {
    case CONFIRM_RELEASE:
        return confirm->release.server_uses &&
               release_confirm(&confirm->release, request, confirmation, late);
    case CONFIRM_IMAGE:
    case CONFIRM_IMAGE_ID:
    case CONFIRM_NEW_IMAGE:
        return confirm->images.find &&
               image_confirm(&confirm->images, request, confirmation, late, refusal);
    case CONFIRM_CERTIFICATE:
        return confirm->images.find_certificate &&
               image_confirm_certificate(&confirm->images, request, confirmation, late);
    }
    return false;
}

void api_withdraw(void *arg, const struct request *request,
                  const struct confirmation *confirmation) {
    const struct confirm *confirm = arg;

    assert(confirmation->kind == CONFIRM_NEW_IMAGE && confirmation->answer);
    confirm->images.discard(confirm->images.arg, request, confirmation->answer);
}
