#include "operation/taker.h"

#include "common/thread.h"

void operation_taker_set(struct operation_taker *taker, operation_accept *accept, void *arg) {
    scoped_lock(&taker->lock);
    taker->accept = accept;
    taker->arg = arg;
}
