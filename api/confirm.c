#include "api/confirm.h"

bool api_confirm(void *arg, const struct request *request, struct confirmation *confirmation,
                 bool late, struct error *refusal) {
    const struct confirm *confirm = arg;

    (void)refusal;
    switch (confirmation->kind) {
    case CONFIRM_RELEASE:
        return confirm->release.server_uses &&
               release_confirm(&confirm->release, request, confirmation, late);
    }
    return false;
}
