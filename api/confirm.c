#include "api/confirm.h"

#include "common/assert.h"

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
    }
    return false;
}

void api_withdraw(void *arg, const struct request *request,
                  const struct confirmation *confirmation) {
    const struct confirm *confirm = arg;

    assert(confirmation->kind == CONFIRM_NEW_IMAGE && confirmation->answer);
    confirm->images.discard(confirm->images.arg, request, confirmation->answer);
}
