#include "api/confirm.h"

bool api_confirm(void *arg, const struct request *request, struct confirmation *confirmation,
                 bool late, struct error *refusal) {
    const struct confirm *confirm = arg;

    switch (confirmation->kind) {
    case CONFIRM_RELEASE:
        return confirm->release.server_uses &&
               release_confirm(&confirm->release, request, confirmation, late);
    case CONFIRM_IMAGE:
        return confirm->images.find &&
               image_confirm(&confirm->images, request, confirmation, late, refusal);
    case CONFIRM_KINDS:
        break;
    }
    return false;
}
